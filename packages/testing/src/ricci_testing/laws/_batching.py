"""The laws of batching: ``vmap`` of a primitive, or of its derivatives, equals a loop."""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
import numpy.typing as npt

from ricci_autodiff import jvp, vjp
from ricci_batching import batch_rules, vmap
from ricci_ir import Array, ArrayLike, Primitive, get_aval
from ricci_testing._check_grads import directions, is_inexact
from ricci_testing.examples._example import Example

from ._derivatives import cotangents_of, has_transpose, without_derivatives
from ._types import (
    assert_results_close,
    function_of_operands,
    in_example_precision,
    unsupported_reason,
)

_BATCH = 2
_NO_OPERANDS = "the primitive has no operands"


def _batches(example: Example, count: int = _BATCH) -> list[list[np.ndarray]]:
    """A batch of similar arrays for each operand; copies for a fixed operand."""
    return [
        [x] * count if i in example.fixed else _varied(x, count) for i, x in enumerate(example.args)
    ]


def _varied(x: npt.ArrayLike, count: int) -> list[np.ndarray]:
    """Arrays similar to an operand and within its range of values: rolled, or a scaled scalar."""
    x = np.asarray(x)
    versions = []
    for k in range(count):
        turned = np.roll(x.reshape(-1), k).reshape(x.shape)
        if x.size == 1 and k and is_inexact(x):
            turned = (turned * np.asarray(1 - 0.125 * k).astype(x.dtype)).astype(x.dtype)
        versions.append(turned)
    return versions


def _unsupported(primitive: Primitive, example: Example) -> str | None:
    fun = lambda *xs: example.bind(primitive, *xs)
    return unsupported_reason(
        batch_rules[primitive], lambda: vmap(fun)(*batched_operands(example)), "the batching"
    )


@in_example_precision
def check_batching(primitive: Primitive, example: Example) -> str | None:
    """``vmap`` equals the loop, for subsets of the operands and every axis.

    Args:
      primitive: the primitive.
      example: operands and parameters of it.

    Returns:
      ``None``, or the reason why the law was not checked on the example.

    Raises:
      AssertionError: if it does not.

    Example:
      >>> import numpy as np
      >>> from ricci import lax
      >>> from ricci_testing import Example, check_batching
      >>> check_batching(lax.sin_p, Example((np.float32([0.5, 2.0]),)))
    """
    if not example.args:
        return _NO_OPERANDS
    if reason := _unsupported(primitive, example):
        return reason
    fun = lambda *xs: example.bind(primitive, *xs)
    batches = _batches(example)
    ranks = [x.ndim for x in example.args]
    for mapped in _subsets(len(ranks)):
        rows = [
            [b[k] if i in mapped else x for i, (b, x) in enumerate(_zip(batches, example.args))]
            for k in range(_BATCH)
        ]
        looped = [list(map(np.asarray, fun(*row))) for row in rows]
        for axes in _axes(mapped, ranks):
            stacked = [
                x if axis is None else np.stack(b, axis)
                for x, b, axis in zip(example.args, batches, axes, strict=True)
            ]
            results = vmap(fun, in_axes=tuple(axes))(*stacked)
            _assert_stacked(results, looped, f"vmap with in_axes={tuple(axes)}")
    return None


def _zip(xs: Sequence[Any], ys: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    return zip(xs, ys, strict=True)


def _assert_stacked(results: Sequence[Any], looped: Sequence[Sequence[Any]], what: str) -> None:
    for i, result in enumerate(results):
        expected = np.stack([row[i] for row in looped])
        assert_results_close(np.asarray(result), expected, f"{what}, result {i}")


def _subsets(count: int) -> list[tuple[int, ...]]:
    """The sets of operands to map: all sets for up to 3 operands, else a selection."""
    positions = range(count)
    if count <= 3:
        return [s for n in range(count, 0, -1) for s in combinations(positions, n)]
    alone = positions if count <= 5 else (0, count - 1)
    return [tuple(positions), (0, 1), (count - 2, count - 1), *((i,) for i in alone)]


def _axes(mapped: Sequence[int], ranks: Sequence[int]) -> Iterator[tuple[int | None, ...]]:
    """The ``in_axes`` to try: each axis for all mapped operands, the last one, and mixed ones."""
    choices: dict[tuple[int | None, ...], None] = {}

    def add(axis_of: Callable[[int, int], int]) -> None:
        axes: list[int | None] = [None] * len(ranks)
        for k, i in enumerate(mapped):
            axes[i] = axis_of(k, ranks[i])
        choices.setdefault(tuple(axes))

    # An axis past an operand's rank counts as its last one. With k % 2, neighbours in the list are
    # mapped over opposite ends.
    for axis in range(max(ranks[i] for i in mapped) + 1):
        add(lambda k, rank, axis=axis: min(axis, rank))
    add(lambda k, rank: -1)
    if len(mapped) > 1:
        add(lambda k, rank: 0 if k % 2 else rank)
        add(lambda k, rank: rank if k % 2 else 0)
    return iter(choices)


@in_example_precision
def check_nested_batching(primitive: Primitive, example: Example) -> str | None:
    """``vmap`` of ``vmap`` equals a loop in a loop, where the two map different operands.

    Args:
      primitive: the primitive.
      example: operands and parameters of it.

    Returns:
      ``None``, or the reason why the law was not checked on the example.

    Raises:
      AssertionError: if it does not.

    Example:
      >>> import numpy as np
      >>> from ricci import lax
      >>> from ricci_testing import Example, check_nested_batching
      >>> check_nested_batching(lax.sin_p, Example((np.float32([0.5, 2.0]),)))
    """
    if not example.args:
        return _NO_OPERANDS
    if reason := _unsupported(primitive, example):
        return reason
    fun = lambda *xs: example.bind(primitive, *xs)
    inner_size, outer_size = 2, 3
    grids = [
        np.stack([np.stack(b[k : k + inner_size]) for k in range(outer_size)])
        for b in _batches(example, inner_size + outer_size - 1)
    ]
    everything = tuple(range(len(grids)))
    first, last = (0,), (len(grids) - 1,)
    for inner, outer in dict.fromkeys(
        [(everything, everything), (everything, first), (first, everything), (first, last),
         (last, first)]
    ):  # fmt: skip
        operands = [
            g[tuple(slice(None) if i in by else 0 for by in (outer, inner))]
            for i, g in enumerate(grids)
        ]
        # The inner batch is the last dimension, the outer one the first.
        moved = [
            np.moveaxis(x, int(i in outer), -1) if i in inner else x for i, x in enumerate(operands)
        ]
        axes_of = lambda by, axis: tuple(axis if i in by else None for i in everything)
        results = vmap(vmap(fun, axes_of(inner, -1)), axes_of(outer, 0))(*moved)
        cells = product(range(outer_size), range(inner_size))
        looped = [
            list(
                map(
                    np.asarray,
                    fun(*(g[k if i in outer else 0, j if i in inner else 0] for i, g in
                          enumerate(grids))),
                )
            )
            for k, j in cells
        ]  # fmt: skip
        flat = [np.asarray(r) for r in results]
        flat = [r.reshape(outer_size * inner_size, *r.shape[2:]) for r in flat]
        what = f"vmap of operands {outer} of vmap of operands {inner}"
        _assert_stacked(flat, looped, what)
    return None


@in_example_precision
def check_batched_derivatives(primitive: Primitive, example: Example) -> str | None:
    """``vmap`` of the jvp and of the vjp equals the loop over primals, tangents, or both.

    Args:
      primitive: the primitive.
      example: operands and parameters of it.

    Returns:
      ``None``, or the reason why the law was not checked on the example.

    Raises:
      AssertionError: if one does not.

    Example:
      >>> import numpy as np
      >>> from ricci import lax
      >>> from ricci_testing import Example, check_batched_derivatives
      >>> check_batched_derivatives(lax.sin_p, Example((np.float32([0.5, 2.0]),)))
    """
    if reason := without_derivatives(primitive, example):
        return reason
    if reason := _unsupported(primitive, example):
        return reason
    places = example.differentiable()
    batches = _batches(example)
    rows = [[batches[i][k] for i in places] for k in range(_BATCH)]
    fun, primals = function_of_operands(primitive, example, places)
    count = len(places)

    def push(*xs: ArrayLike) -> list[Array]:
        values, pushed = jvp(fun, xs[:count], xs[count:])
        return [t for v, t in zip(values, pushed, strict=True) if is_inexact(v)]

    def pull(*xs: ArrayLike) -> list[Array]:
        results, back = vjp(fun, *xs[:count])
        return list(back(cotangents_of(results, xs[count:])))

    if "fwd" in example.modes:
        tangents = [directions(primals, 10 + k) for k in range(_BATCH)]
        _check_batched(push, rows, tangents, "the jvp")
    if "rev" in example.modes and has_transpose(primitive):
        results = [r for r in fun(*primals) if is_inexact(r)]
        cotangents = [directions(results, 20 + k) for k in range(_BATCH)]
        _check_batched(pull, rows, cotangents, "the vjp")
    return None


def _check_batched(
    fun: Callable[..., list[Array]],
    primals: Sequence[Sequence[Any]],
    directions: Sequence[Sequence[Any]],
    what: str,
) -> None:
    """Compare ``vmap`` of a function of primals and directions with the loop over examples."""
    counts = len(primals[0]), len(directions[0])
    for by_primals, by_directions, last in ((1, 1, 0), (1, 1, 1), (1, 0, 0), (0, 1, 1)):
        rows = [
            [*primals[k if by_primals else 0], *directions[k if by_directions else 0]]
            for k in range(_BATCH)
        ]
        mapped = [bool(by_primals)] * counts[0] + [bool(by_directions)] * counts[1]
        if not any(mapped):
            continue
        axis = -1 if last else 0
        stacked = [
            np.stack([row[i] for row in rows], axis) if m else rows[0][i]
            for i, m in enumerate(mapped)
        ]
        axes = tuple(axis if m else None for m in mapped)
        results = vmap(fun, in_axes=axes)(*stacked)
        looped = [list(map(np.asarray, fun(*row))) for row in rows]
        _assert_stacked(results, looped, f"vmap of {what} with in_axes={axes}")


def batched_operands(example: Example) -> list[np.ndarray]:
    """The operands with a leading batch dimension."""
    return [np.stack(b) for b in _batches(example)]


def batched_avals(example: Example) -> list[Any]:
    """The types of the operands with a leading batch dimension."""
    avals: list[Any] = list(map(get_aval, example.args))
    return [a.resized((_BATCH, *a.shape)) for a in avals]
