"""Calls on larger and larger arrays: scaling the operands of other tables, counting operations.

The calls are one of each public function: those of `order_cases`, which are of the NumPy API and of
further functions, those of `lax_cases`, and those of `library_cases`. Their operands are repeated
along an axis; a shape that a sampler takes grows, too.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import lax_cases
import numpy as np
from library_cases import LINES, operands, used_operands
from numpy_cases import TOPICS
from numpy_cases.case import Call
from order_cases import calls as small_calls

ELEMENTWISE = frozenset(
    call.function
    for topic in (TOPICS["elementwise"], lax_cases.TOPICS["elementwise"])
    for call in topic
)
ELEMENTWISE_MODULES = ("jsp.special.", "jsp.stats.", "jax.nn.")
SAMPLE = re.compile(r"(random\..*)\(3,\)")  # the shape of a sample of three


def axes(call: Call) -> tuple[str, ...]:
    """Return the axes along which a call's operands grow: one for elementwise functions."""
    one = call.function in ELEMENTWISE or call.source.startswith(ELEMENTWISE_MODULES)
    vectors = all(value.ndim < 2 for value in call.inputs.values())
    return ("first",) if one or vectors else ("first", "last", "both")


def all_calls() -> list[Call]:
    """Return one call of each public function, on small operands or on none."""
    everything = [*small_calls(), *_lax_calls(), *_library_calls()]
    return list({call.source: call for call in everything}.values())


def calls() -> list[Call]:
    """Return the calls that have arrays, or sample some, each to be scaled."""
    return [call for call in all_calls() if call.inputs or SAMPLE.search(call.source)]


def _lax_calls() -> Iterator[Call]:
    """The first call of each function of lax with arrays of 32 bits, which have a length."""
    for name, cases in lax_cases.by_function().items():
        for case in cases:
            sizes = [value.size for value in case.inputs.values() if isinstance(value, np.ndarray)]
            if not case.x64 and any(size > 1 for size in sizes):
                arrays = {k: v for k, v in case.inputs.items() if isinstance(v, np.ndarray)}
                scalars = {k: v for k, v in case.inputs.items() if k not in arrays}
                source = case.source
                for key, value in scalars.items():
                    source = re.sub(rf"\b{key}\b", repr(value), source)
                yield Call(name, source, arrays)
                break


def _library_calls() -> Iterator[Call]:
    """One call of each line of ``library_cases``; the key is made in the call."""
    arrays = operands()
    for line in LINES:
        function = line.partition("(")[0]
        inputs = {name: arrays[name] for name in used_operands(line, "FHIMSLA")}
        yield Call(function, re.sub(r"\bK\b", "jax.random.key(0)", line), inputs)


def scaled(call: Call, size: int, axis: str) -> Call | None:
    """Repeat a call's operands along an axis, until the largest has about ``size`` elements.

    Args:
      call: a call with operands, or with the shape of a sample.
      size: the number of elements.
      axis: one of those of ``axes``; "both" is for matrices, both of whose sizes grow.

    Returns:
      The call, or None where no operand has enough axes.
    """
    if not call.inputs:
        return replace(call, source=SAMPLE.sub(rf"\1({size},)", call.source))
    largest = max(call.inputs.values(), key=lambda x: x.size)
    rank = 1 if axis == "first" else 2
    if largest.ndim < rank or not largest.size:
        return None
    times = -(-size // largest.size)
    times = round(times**0.5) if axis == "both" else times
    where = {"first": (0,), "last": (-1,), "both": (-2, -1)}[axis]
    return replace(call, inputs={k: _repeat(x, times, where) for k, x in call.inputs.items()})


def _repeat(x: np.ndarray, times: int, axes: tuple[int, ...]) -> np.ndarray:
    if x.ndim < max(-min(axes), 1):
        return x
    counts = [1] * x.ndim
    for axis in axes:
        counts[axis] = times
    repeated = np.tile(x, counts)
    if not np.issubdtype(x.dtype, np.floating):
        return repeated
    # Equal values would be sorted, counted and found faster than others.
    noise = np.random.default_rng(0).uniform(1, 1.001, repeated.shape)
    return (repeated * noise).astype(x.dtype)


@dataclass(frozen=True, slots=True)
class Work:
    """Operations of a jaxpr: the elements of its largest array, and its sequential steps."""

    largest: int
    steps: int


def work(jaxpr: Any) -> Work:
    """Count the operations of a jaxpr; steps of loops without a static length are not counted."""
    largest, steps = 0, 0
    for eqn in jaxpr.eqns:
        sizes = [prod(getattr(var.aval, "shape", ())) for var in eqn.outvars]
        inner = [work(body) for value in eqn.params.values() for body in _bodies(value)]
        largest = max([largest, *sizes, *(each.largest for each in inner)])
        length = eqn.params.get("length", 0) if eqn.primitive.name == "scan" else 0
        inside = max((each.steps for each in inner), default=0)
        steps += length * max(inside, 1) if length else inside
    return Work(largest, steps)


def _bodies(value: Any) -> list[Any]:
    values = value if isinstance(value, list | tuple) else [value]
    jaxprs = [getattr(each, "jaxpr", each) for each in values]
    return [jaxpr for jaxpr in jaxprs if hasattr(jaxpr, "eqns")]
