"""Calls on larger and larger arrays: scaling the operands of other tables, counting operations.

The calls are those of `order_cases`: one of each function of the NumPy API, and further ones of
`lax`, `nn`, `random` and `scipy`. Their operands are repeated along an axis.
"""

from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy_cases import TOPICS
from numpy_cases.case import Call
from order_cases import calls as small_calls

ELEMENTWISE = frozenset(call.function for call in TOPICS["elementwise"])


def axes(call: Call) -> tuple[str, ...]:
    """Return the axes along which a call's operands grow: one for elementwise functions."""
    return ("first",) if call.function in ELEMENTWISE else ("first", "last", "both")


def calls() -> list[Call]:
    """Return the calls that have arrays, each to be scaled."""
    return [call for call in small_calls() if call.inputs]


def scaled(call: Call, size: int, axis: str) -> Call | None:
    """Repeat a call's operands along an axis, until the largest has about ``size`` elements.

    Args:
      call: a call with operands.
      size: the number of elements.
      axis: one of those of ``axes``; "both" is for matrices, both of whose sizes grow.

    Returns:
      The call, or None where no operand has enough axes.
    """
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
