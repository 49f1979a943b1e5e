"""Examples of primitives that reshape, join, reduce and multiply arrays."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import ricci_lax as lax
from ricci_ir import bfloat16, primitives
from ricci_lax import rolling
from ricci_lax.authoring import host_check_p

from ._example import C64, F32, I8, I32, U8, U32, Call, Example, array_of, captured, in_dtypes
from ._indexing import indexing_calls
from ._windows import fold_examples, window_calls, window_selection_examples

X = array_of(2, 3)
CUBE = array_of(2, 3, 4)
VECTOR = array_of(5)
SCALAR = np.asarray(F32(0.7))
NO_ERRORS = np.zeros((1, 3), I32)


_STRUCTURE: dict[str, list[Call]] = {
    "broadcast_in_dim": [
        *in_dtypes(lambda x: lax.broadcast_in_dim(x, (2, 4, 3), (0, 2)), 2, 3),
        (lambda x: lax.broadcast_in_dim(x, (2, 3), ()), (SCALAR,)),
        (lambda x: lax.broadcast_in_dim(x, (2, 3, 4), (1, 2)), (array_of(1, 4),)),
        (lambda x: lax.broadcast_in_dim(x, (2, 0, 3), (1, 2)), (array_of(0, 3),)),
        (lambda x: lax.broadcast_in_dim(x, (0, 3), (0, 1)), (array_of(1, 3),)),
    ],
    "reshape": [
        *in_dtypes(lambda x: lax.reshape(x, (3, 2)), 2, 3),
        (lambda x: lax.reshape(x, (4, 6), (2, 0, 1)), (CUBE,)),
        (lambda x: lax.reshape(x, (1, 1)), (SCALAR,)),
        (lambda x: lax.reshape(x, ()), (array_of(1, 1),)),
        (lambda x: lax.reshape(x, (3, 0)), (array_of(0, 2),)),
    ],
    "squeeze": [
        *in_dtypes(lambda x: lax.squeeze(x, (0, 2)), 1, 3, 1),
        (lambda x: lax.squeeze_p.bind(x, dimensions=()), (SCALAR,)),
    ],
    "transpose": [
        *in_dtypes(lambda x: lax.transpose(x, (1, 0)), 2, 3),
        (lambda x: lax.transpose(x, (2, 0, 1)), (CUBE,)),
        (lambda x: lax.transpose_p.bind(x, permutation=()), (SCALAR,)),
    ],
    "concatenate": [
        (lambda x, y: lax.concatenate([x, y], 1), (X, array_of(2, 2, seed=1))),
        (lambda x, y, z: lax.concatenate([x, y, z], 0), (X, X * 2, array_of(0, 3))),
        (lambda x, y: lax.concatenate([x, y], 0), (array_of(2, dtype=I32), array_of(3, dtype=I32))),
        (lambda x, y: lax.concatenate([x, y], 0), (array_of(2, dtype=C64), array_of(3, dtype=C64))),
    ],
    "split": [
        (lambda x: lax.split(x, (1, 0, 2), 1), (X,)),
        (lambda x: lax.split(x, (2, 3)), (array_of(5, dtype=I32),)),
    ],
    "stack": [
        (lambda x, y: lax.stack([x, y], 1), (X, array_of(2, 3, seed=1))),
        (lambda x, y: lax.stack([x, y]), (SCALAR, SCALAR + 1)),
        (lambda x, y: lax.stack([x, y], -1), (array_of(3, dtype=I32), array_of(3, dtype=I32))),
    ],
    "rows": [
        (lambda x: rolling.rows_p.bind(x), (X,)),
        (lambda x: rolling.rows_p.bind(x), (array_of(9, 2, dtype=I32),)),
        (lambda x: rolling.rows_p.bind(x), (array_of(17),)),
    ],
    "host_check": [
        (lambda errors, x: host_check_p.bind(errors, x, failure=ValueError), (NO_ERRORS, X)),
        (
            lambda errors, *xs: host_check_p.bind(errors, *xs, failure=ValueError),
            (np.stack([NO_ERRORS] * 2), array_of(0, 3, dtype=I32), array_of(2, dtype=C64)),
        ),
    ],
    "unstack": [
        (lambda x: lax.unstack(x, 1), (X,)),
        (lambda x: lax.unstack(x), (array_of(3, dtype=I32),)),
    ],
    "tile": [
        *in_dtypes(lambda x: lax.tile(x, (2, 3)), 2, 3, dtypes=(F32, I32)),
        (lambda x: lax.tile(x, (0, 1, 2)), (CUBE,)),
        (lambda x: lax.tile_p.bind(x, reps=()), (SCALAR,)),
    ],
    "rev": [
        *in_dtypes(lambda x: lax.rev(x, (0, 2)), 2, 3, 4, dtypes=(F32, C64, bool)),
        (lambda x: lax.rev_p.bind(x, dimensions=()), (SCALAR,)),
    ],
    "iota": [
        (lambda: lax.broadcasted_iota(I32, (2, 3), 1), ()),
        (lambda: lax.broadcasted_iota(F32, (4,), 0), ()),
        (lambda: lax.broadcasted_iota(U8, (3, 0), 0), ()),
    ],
    "pad": [
        (lambda x, p: lax.pad(x, p, ((1, 2, 0), (0, 1, 2))), (X, SCALAR)),
        (lambda x, p: lax.pad(x, p, ((-1, 2, 1),)), (VECTOR, SCALAR)),
        (lambda x, p: lax.pad(x, p, ((0, -3, 0),)), (VECTOR, SCALAR)),
        # All elements cropped; part of the interior padding cropped; an empty operand.
        (lambda x, p: lax.pad(x, p, ((-2, -3, 0),)), (VECTOR, SCALAR)),
        (lambda x, p: lax.pad(x, p, ((-1, -2, 2), (1, -1, 1))), (X, SCALAR)),
        (lambda x, p: lax.pad(x, p, ((1, 2, 3),)), (array_of(0), SCALAR)),
        (lambda x, p: lax.pad(x, p, ()), (SCALAR, SCALAR + 1)),
        (lambda x, p: lax.pad(x, p, ((2, 1, 1),)), (array_of(3, dtype=I32), np.asarray(I32(7)))),
        (lambda x, p: lax.pad(x, p, ((1, 0, 0),)), (array_of(2, dtype=C64), np.asarray(C64(1j)))),
    ],
    "slice": [
        *in_dtypes(lambda x: lax.slice(x, (0, 1), (2, 3)), 2, 3),
        (lambda x: lax.slice(x, (0, 1, 0), (2, 3, 4), (1, 1, 3)), (CUBE,)),
        (lambda x: lax.slice(x, (1,), (5,), (2,)), (VECTOR,)),
        (lambda x: lax.slice(x, (2,), (2,)), (VECTOR,)),
        (lambda x: lax.slice(x, (0, 0), (0, 3), (2, 2)), (array_of(0, 4),)),
        (lambda x: lax.slice(x, (), ()), (SCALAR,)),
    ],
}

_REDUCED = {
    "reduce_sum": (F32, C64, I32, bfloat16),
    "reduce_prod": (F32, C64, I32),
    "reduce_max": (F32, I32, bool, bfloat16, U8),
    "reduce_min": (F32, bool, bfloat16, I32),
    "reduce_and": (bool, I32),
    "reduce_or": (bool, I32),
    "reduce_xor": (bool, I32),
}


def _reductions() -> dict[str, list[Call]]:
    table: dict[str, list[Call]] = {}
    for name, dtypes in _REDUCED.items():
        fun = getattr(lax, name)
        table[name] = [
            *in_dtypes(lambda x, fun=fun: fun(x, (1,)), 2, 3, dtypes=dtypes),
            *in_dtypes(lambda x, fun=fun: fun(x, (0, 2)), 2, 3, 4, dtypes=dtypes[:1]),
            *in_dtypes(lambda x, fun=fun: fun(x, (0,)), 0, 3, dtypes=dtypes[-1:]),
            *in_dtypes(lambda x, fun=fun: fun(x, ()), dtypes=dtypes[:1]),
        ]
    for name in ("argmax", "argmin"):
        fun = getattr(lax, name)
        # Of equal elements the first counts; a NaN is both the maximum and the minimum.
        ties = np.array([[1, 3, 3], [np.nan, 2, 5], [4, np.nan, np.nan]], F32)
        table[name] = [
            (lambda x, fun=fun: fun(x, 1, np.int32), (array_of(3, 4),)),
            (lambda x, fun=fun: fun(x, 1, np.int32), (ties,)),
            (lambda x, fun=fun: fun(x, 0, np.uint8), (array_of(3, 4, dtype=I32),)),
            (lambda x, fun=fun: fun(x, 0, np.int32), (array_of(4, dtype=bool),)),
        ]
    for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
        fun = getattr(lax, name)
        table[name] = [
            (lambda x, fun=fun: fun(x, 1), (array_of(2, 5),)),
            (lambda x, fun=fun: fun(x, 0, reverse=True), (array_of(4, 2),)),
            (lambda x, fun=fun: fun(x, 0), (array_of(3, dtype=bfloat16),)),
        ]
        if name != "cumlogsumexp":
            table[name].append((lambda x, fun=fun: fun(x, 0), (array_of(5, dtype=I32),)))
    return table


def _products() -> dict[str, list[Call]]:
    matmul = (((1,), (0,)), ((), ()))
    batched = (((2,), (1,)), ((0,), (0,)))
    dot = lambda numbers, **options: lambda x, y: lax.dot_general(x, y, numbers, **options)
    ints = array_of(2, 3, dtype=I8), array_of(3, 2, dtype=I8, seed=1)
    return {
        "dot_general": [
            (dot(matmul), (X, array_of(3, 4, seed=1))),
            (dot(batched), (CUBE, array_of(2, 4, 2, seed=1))),
            (dot((((0, 2), (1, 0)), ((1,), (2,)))), (CUBE, array_of(4, 2, 3, seed=1))),
            (dot((((), ()), ((), ()))), (X, VECTOR)),
            (dot(matmul), (array_of(2, 3, dtype=C64), array_of(3, 2, dtype=C64))),
            (dot(matmul), ints),
            (dot(matmul, preferred_element_type=I32), ints),
            (dot(matmul), (array_of(2, 3, dtype=bfloat16), array_of(3, 2, dtype=bfloat16))),
            (
                dot(matmul, preferred_element_type=F32),
                (array_of(2, 3, dtype=bfloat16), array_of(3, 2, dtype=bfloat16)),
            ),
        ],
        "threefry2x32": [
            (lax.threefry2x32_p.bind, tuple(array_of(3, dtype=U32, seed=s) for s in range(4))),
            (
                lax.threefry2x32_p.bind,
                (
                    np.asarray(U32(7)),
                    np.asarray(U32(2**31)),
                    *(array_of(2, 3, dtype=U32, seed=s) for s in range(2)),
                ),
            ),
        ],
        "threefry2x32_xor": [
            (lax.threefry2x32_xor_p.bind, tuple(array_of(3, dtype=U32, seed=s) for s in range(4))),
            (
                lax.threefry2x32_xor_p.bind,
                (
                    np.asarray(U32(7)),
                    np.asarray(U32(2**31)),
                    *(array_of(2, 3, dtype=U32, seed=s) for s in range(2)),
                ),
            ),
        ],
    }


def _example_of(name: str, fun: Callable[..., Any], args: tuple[Any, ...]) -> Example:
    example = captured(name, fun, *args)
    # Products over windows that may overlap have no derivative, nor do NaNs.
    repeated = name == "scatter-mul" and not example.params["unique_indices"]
    undefined = any(np.any(np.isnan(x)) for x in args if x.dtype.kind == "f")
    # Nothing is read from an empty array, but its transpose would write to it.
    empty = name == "gather" and not args[0].size
    return replace(example, smooth=not (repeated or undefined or empty))


def array_examples() -> dict[str, list[Example]]:
    """The examples of all defined primitives on whole arrays."""
    calls: dict[str, list[Call]] = {**_STRUCTURE, **_reductions(), **_products()}
    calls |= {**indexing_calls(), **window_calls()}
    table = {
        name: [_example_of(name, fun, args) for fun, args in rows]
        for name, rows in calls.items()
        if name in primitives
    }
    return {**table, **fold_examples(), **window_selection_examples()}
