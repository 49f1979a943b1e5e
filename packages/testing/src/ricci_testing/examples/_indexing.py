"""Examples of dynamic slices, gather and scatter."""

from collections.abc import Sequence

import numpy as np

import ricci_lax as lax
from ricci_ir import Array, ArrayLike

from ._example import C64, F32, I32, U8, Call, array_of

_VECTOR = array_of(5)
_MATRIX = array_of(2, 3)
_PAIRS = array_of(2, 2, seed=1)


def _sliced(x: ArrayLike, starts: Sequence[int], sizes: Sequence[int]) -> Array:
    return lax.dynamic_slice(x, starts, sizes, allow_negative_indices=False)


def _updated(x: ArrayLike, update: ArrayLike, starts: Sequence[int]) -> Array:
    return lax.dynamic_update_slice(x, update, starts, allow_negative_indices=False)


def _dynamic_slices() -> dict[str, list[Call]]:
    # Positions outside of the array are clamped.
    return {
        "dynamic_slice": [
            (
                lambda x, i, j: _sliced(x, (i, j), (1, 2)),
                (_MATRIX, np.asarray(I32(1)), np.asarray(I32(1))),
            ),
            (lambda x, i: _sliced(x, (i,), (3,)), (_VECTOR, np.asarray(I32(9)))),
            (lambda x, i: _sliced(x, (i,), (3,)), (array_of(5, dtype=C64), np.asarray(I32(-3)))),
            (lambda x, i: _sliced(x, (i,), (2,)), (array_of(5, dtype=I32), np.asarray(U8(2)))),
            (lambda x, i: _sliced(x, (i,), (0,)), (_VECTOR, np.asarray(I32(3)))),
            (lambda x, i: _sliced(x, (i,), (0,)), (array_of(0), np.asarray(I32(1)))),
            (lambda x: _sliced(x, (), ()), (np.asarray(F32(0.7)),)),
        ],
        "dynamic_update_slice": [
            (
                lambda x, u, i, j: _updated(x, u, (i, j)),
                (_MATRIX, array_of(1, 2, seed=1), np.asarray(I32(1)), np.asarray(I32(1))),
            ),
            (
                lambda x, u, i: _updated(x, u, (i,)),
                (_VECTOR, array_of(3, seed=1), np.asarray(I32(4))),
            ),
            (
                lambda x, u, i: _updated(x, u, (i,)),
                (array_of(5, dtype=I32), array_of(2, dtype=I32), np.asarray(I32(-2))),
            ),
            (lambda x, u, i: _updated(x, u, (i,)), (_VECTOR, array_of(0), np.asarray(I32(2)))),
            (lambda x, u: _updated(x, u, ()), (np.asarray(F32(0.7)), np.asarray(F32(-1.5)))),
        ],
    }


def _gather_calls() -> list[Call]:
    numbers = lax.GatherDimensionNumbers
    rows = np.array([[2], [0], [7], [-1]], I32)
    modes = (lax.GatherScatterMode.CLIP, lax.GatherScatterMode.FILL_OR_DROP)
    calls: list[Call] = []
    for mode in modes:
        take = lambda x, i, mode=mode: lax.gather(
            x, i, numbers((1,), (0,), (0,)), (1, 4), mode=mode
        )
        calls.append((take, (array_of(3, 4, dtype=I32), rows)))
        windows = lambda x, i, mode=mode: lax.gather(
            x, i, numbers((0, 2), (), (1, 0)), (2, 2), mode=mode, fill_value=0
        )
        calls.append((windows, (array_of(3, 4), np.array([[1, 0], [3, 1], [0, 2]], I32))))
    calls.append(
        (
            lambda x, i: lax.gather(x, i, numbers((), (0,), (0,)), (1,), mode="promise_in_bounds"),
            (_VECTOR, np.array([[[1], [3]]], I32)),
        )
    )
    together = numbers((1,), (), (1,), (0,), (0,))
    calls.append(
        (
            lambda x, i: lax.gather(x, i, together, (1, 2), mode="clip"),
            (array_of(3, 4), np.array([[0], [2], [1]], I32)),
        )
    )
    calls.append(
        (
            lambda x, i: lax.gather(
                x, i, numbers((1,), (0,), (0,)), (1, 4), mode="fill", fill_value=5
            ),
            (array_of(3, 4), rows),
        )
    )
    calls.append(
        (
            lambda x, i: lax.gather(x, i, numbers((1,), (0,), (0,)), (1, 4), mode="clip"),
            (array_of(3, 4, dtype=C64), rows),
        )
    )
    # Empty windows, no windows, and an empty operand.
    spans = numbers((1,), (), (0,))
    for mode in modes:
        part = lambda x, i, n, mode=mode: lax.gather(x, i, spans, (n,), mode=mode, fill_value=-1)
        calls += [
            (lambda x, i, part=part: part(x, i, 0), (_VECTOR, np.array([[5], [-1], [8]], I32))),
            (lambda x, i, part=part: part(x, i, 2), (_VECTOR, np.zeros((0, 1), I32))),
            (lambda x, i, part=part: part(x, i, 2), (array_of(0), np.zeros((0, 1), I32))),
        ]
    scalar = lambda x, i: lax.gather(x, i, numbers((), (), ()), (), mode="clip")
    calls.append((scalar, (np.asarray(F32(0.7)), np.zeros((2, 0), I32))))
    return calls


def _scatter_calls(name: str) -> list[Call]:
    fun = getattr(lax, name.replace("-", "_"))
    numbers = lax.ScatterDimensionNumbers
    by_row = numbers((1,), (0,), (0,))
    rows = np.array([[2], [0], [7]], I32)
    again = np.array([[1], [1], [0]], I32)
    x, updates = array_of(3, 4), array_of(3, 4, seed=1)
    calls: list[Call] = [
        (lambda x, u: fun(x, rows, u, by_row), (x, updates)),
        (lambda x, u: fun(x, rows, u, by_row, mode="clip", unique_indices=False), (x, updates)),
        (
            lambda x, u: fun(x, np.array([[2], [0], [1]], I32), u, by_row, unique_indices=True),
            (x, updates),
        ),
        (
            lambda x, u: fun(x, rows, u, by_row),
            (array_of(3, 4, dtype=I32), array_of(3, 4, dtype=I32, seed=1)),
        ),
        (
            lambda x, u: fun(
                x, np.array([[0], [2], [1]], I32), u, numbers((1,), (), (1,), (0,), (0,))
            ),
            (x, array_of(3, 2, seed=1)),
        ),
        (
            lambda x, u: fun(x, np.array([1], I32), u, numbers((), (0,), (0,))),
            (_VECTOR, np.asarray(F32(0.7))),
        ),
    ]
    # Positions promised to be in bounds; windows partly out of bounds; empty ones; no windows.
    spans = numbers((1,), (), (0,))
    promised = np.array([[0], [3]], I32)
    edges = np.array([[4], [-1]], I32)
    calls += [
        (lambda x, u: fun(x, promised, u, spans, mode="promise_in_bounds"), (_VECTOR, _PAIRS)),
        (lambda x, u: fun(x, edges, u, spans, mode="clip"), (_VECTOR, _PAIRS)),
        (lambda x, u: fun(x, edges, u, spans, mode="drop"), (_VECTOR, _PAIRS)),
        (lambda x, u: fun(x, edges, u, spans), (_VECTOR, array_of(2, 0))),
        (lambda x, u: fun(x, np.zeros((0, 1), I32), u, spans), (_VECTOR, array_of(0, 2))),
        (
            lambda x, u: fun(x, np.zeros(0, I32), u, numbers((), (), ())),
            (np.asarray(F32(0.7)), np.asarray(F32(-1.5))),
        ),
    ]
    if name in ("scatter-add", "scatter-sub"):  # several updates of a scalar
        scalar = lambda x, u: fun(x, np.zeros((2, 0), I32), u, numbers((), (), ()))
        calls.append((scalar, (np.asarray(F32(0.7)), _PAIRS[0])))
    if name in ("scatter-add", "scatter-sub", "scatter-min", "scatter-max"):
        calls.append((lambda x, u: fun(x, again, u, by_row), (x, updates)))
    return calls


def indexing_calls() -> dict[str, list[Call]]:
    """Calls that apply each of these primitives."""
    kinds = ("scatter", *(f"scatter-{what}" for what in ("add", "mul", "min", "max", "sub")))
    scatters = {name: _scatter_calls(name) for name in kinds}
    return {**_dynamic_slices(), "gather": _gather_calls(), **scatters}
