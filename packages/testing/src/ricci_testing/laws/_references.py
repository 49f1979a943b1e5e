"""The laws of references: random programs have the same effect on references and NumPy arrays.

NumPy's arrays are mutable, so that they are the reference for reads and writes. Random
programs of reads, writes, loops and branches are run on both.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_autodiff import jvp
from ricci_batching import vmap
from ricci_lax.refs import new_ref

from ._types import assert_results_close

_SHAPE = (4, 3)
_COUNT = 2  # references of a program


class Step(NamedTuple):
    """A statement of a random program.

    Attributes:
      kind: ``set``, ``add``, ``swap``, ``loop`` or ``branch``.
      target, source: the indices of the written and of the read reference.
      at, of: the indices to write and to read; the string ``"i"`` is the loop counter.
      body: the statements of a loop, or of the first branch.
      other: the statements of the second branch.
    """

    kind: str
    target: int = 0
    source: int = 0
    at: Any = ...
    of: Any = ...
    body: "tuple[Step, ...]" = ()
    other: "tuple[Step, ...]" = ()


def random_program(seed: int, length: int = 6) -> tuple[Step, ...]:
    """A random program over references to arrays of one shape."""
    source = random.Random(seed)
    return tuple(_step(source, depth=2, counter=False) for _ in range(length))


def _step(source: random.Random, depth: int, counter: bool) -> Step:
    kinds = ["set", "add", "swap", "set", "add"]
    kinds += ["loop", "branch"] if depth else []
    kind = source.choice(kinds)
    target, of = source.randrange(_COUNT), source.randrange(_COUNT)
    if kind in ("loop", "branch"):
        make = lambda inner: tuple(
            _step(source, depth - 1, inner) for _ in range(source.randint(1, 3))
        )
        if kind == "loop":
            return Step(kind, body=make(True))
        return Step(
            kind, target, at=_element(source, counter), body=make(counter), other=make(counter)
        )
    forms = source.choice([_element, _row, _column, _block, lambda source, counter: ...])
    return Step(kind, target, of, forms(source, counter), forms(source, counter))


def _position(source: random.Random, size: int, counter: bool) -> Any:
    return "i" if counter and source.random() < 0.5 else source.randrange(-size, size)


def _element(source: random.Random, counter: bool) -> Any:
    return _position(source, 3, counter), _position(source, 3, counter)


def _row(source: random.Random, counter: bool) -> Any:
    return _position(source, 4, counter)


def _column(source: random.Random, counter: bool) -> Any:
    return slice(None), _position(source, 3, counter)


def _block(source: random.Random, counter: bool) -> Any:
    start = source.randrange(3)
    return slice(start, start + 2), slice(0, 2)


def _substitute(index: Any, i: Any) -> Any:
    """Substitute the loop counter into an index."""
    if type(index) is tuple:
        return tuple(_substitute(part, i) for part in index)
    return i if isinstance(index, str) else index


def run_on_arrays(steps: Sequence[Step], arrays: Any, i: Any = None) -> None:
    """Run a program on NumPy arrays, in place."""
    for step in steps:
        at, of = _substitute(step.at, i), _substitute(step.of, i)
        if step.kind == "loop":
            for k in range(3):
                run_on_arrays(step.body, arrays, k)
        elif step.kind == "branch":
            chosen = step.body if arrays[step.target][at] > 0 else step.other
            run_on_arrays(chosen, arrays, i)
        else:
            target, value = arrays[step.target], np.sin(arrays[step.source][of]) + 0.25
            if step.kind == "add":
                target[at] = target[at] + value
                continue
            old = np.array(target[at])
            target[at] = value
            if step.kind == "swap":
                target[at] = target[at] * 0.5 + old


def run_on_references(steps: Sequence[Step], refs: Sequence[Any], i: Any = None) -> None:
    """Run a program on references."""
    for step in steps:
        at, of = _substitute(step.at, i), _substitute(step.of, i)
        if step.kind == "loop":
            run = lambda k, _, body=step.body: run_on_references(body, refs, k)
            lax.fori_loop(0, 3, run, None)
        elif step.kind == "branch":
            branches = [
                lambda steps=steps: run_on_references(steps, refs, i)
                for steps in (step.body, step.other)
            ]
            element = refs[step.target][at]
            lax.cond(lax.gt(element, _like(element, 0)), *branches)
        else:
            target = refs[step.target]
            value = lax.sin(refs[step.source][of])
            value = lax.add(value, _like(value, 0.25))
            if step.kind == "add":
                target.addupdate(value, at)
                continue
            old = target[at]
            target[at] = value
            if step.kind == "swap":
                again = target[at]
                target[at] = lax.add(lax.mul(again, _like(again, 0.5)), old)


def _like(x: Any, value: float) -> np.ndarray:
    aval: Any = ir.get_aval(x)
    return np.full(aval.shape, value, aval.dtype)


def _function(steps: Sequence[Step]) -> Callable[..., list[Any]]:
    """A program as a function of arrays, which creates the references."""

    def run(*arrays: Any) -> list[Any]:
        refs = [new_ref(x) for x in arrays]
        run_on_references(steps, refs)
        return [ref[...] for ref in refs]

    return run


def _traced(steps: Sequence[Step], dtype: Any) -> tuple[ir.Jaxpr, list[Any]]:
    """Trace a program to a jaxpr of constants and references without results; and the constants."""
    aval = ir.AbstractRef(ir.ShapedArray(_SHAPE, dtype))

    def run(*refs: Any) -> list[Any]:
        run_on_references(steps, refs)
        return []

    program = ir.trace_to_jaxpr(run, [aval] * _COUNT)
    return ir.convert_constvars(program), program.consts


def check_references(seed: int) -> None:
    """Check that a random program has the same effect on references and NumPy arrays.

    It is run eagerly, traced and evaluated, as a staged call, discharged, without dead
    code, and mapped over a batch; its derivative is compared with finite differences.

    Args:
      seed: chooses the program and the values.

    Raises:
      AssertionError: if it does not; the message names the transformation and the program.
    """
    steps = random_program(seed)
    values = np.random.default_rng(seed).normal(size=(3, _COUNT, *_SHAPE)).astype(np.float32)
    expected = values.copy()
    for example in expected:
        run_on_arrays(steps, example)

    def check(mode: str, actual: Any, target_values: Any = expected[0]) -> None:
        for i, (x, y) in enumerate(zip(actual, target_values, strict=True)):
            what = f"program {seed}, {mode}, reference {i}: {steps}"
            assert_results_close(np.asarray(x), np.asarray(y), what, 1e2)

    jaxpr, consts = _traced(steps, np.dtype(np.float32))
    live = ir.live_program(jaxpr).jaxpr
    modes: dict[str, Callable[..., object]] = {
        "eager": lambda *refs: run_on_references(steps, refs),
        "traced": lambda *refs: ir.eval_jaxpr(jaxpr, consts, *refs),
        "staged call": lambda *refs: ir.staged_call.bind(jaxpr, "law", (*consts, *refs)),
        "without dead code": lambda *refs: ir.eval_jaxpr(live, consts, *refs),
    }
    for mode, run in modes.items():
        refs = [new_ref(x) for x in values[0]]
        run(*refs)
        check(mode, [ref[...] for ref in refs])
    pure = ir.discharged(jaxpr)
    discharged_values = list(values[0])
    new = ir.eval_jaxpr(pure.jaxpr, consts, *values[0])
    for i, value in zip(pure.written, new, strict=True):
        discharged_values[i - len(consts)] = value
    check("discharged", discharged_values)
    check("created inside", _function(steps)(*values[0]))
    check("mapped", vmap(_function(steps))(*values.swapaxes(0, 1)), expected.swapaxes(0, 1))
    refs = [new_ref(x) for x in values.swapaxes(0, 1)]
    vmap(lambda *refs: run_on_references(steps, refs))(*refs)
    check("mapped references", [ref[...] for ref in refs], expected.swapaxes(0, 1))
    _check_derivative(steps, values[0].astype(np.float64), seed)


def _check_derivative(steps: Sequence[Step], values: np.ndarray, seed: int) -> None:
    """Compare the jvp with finite differences of the program on NumPy arrays."""
    direction = np.random.default_rng(seed + 1).normal(size=values.shape)
    step = 1e-6
    ends = [values + step * direction, values - step * direction]
    for end in ends:
        run_on_arrays(steps, end)
    # The tangent along a random direction is the difference quotient of the centre, with an error
    # of second order in the step.
    differences = (ends[0] - ends[1]) / (2 * step)
    with ir.enable_x64(True):
        _, tangents = jvp(_function(steps), tuple(values), tuple(direction))
    for i, (x, y) in enumerate(zip(tangents, differences, strict=True)):
        np.testing.assert_allclose(
            np.asarray(x), y, rtol=1e-5, atol=1e-6, err_msg=f"program {seed}, tangent {i}: {steps}"
        )
