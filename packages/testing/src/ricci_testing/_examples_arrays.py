"""Examples of primitives on whole arrays: shapes, indexing, reductions, windows, products."""

from collections.abc import Callable
from typing import Any

import numpy as np

import ricci_lax as lax
from ricci_ir import bfloat16, primitives

from ._example import Example, captured

F32, C64, I32, U8, I8, U32 = np.float32, np.complex64, np.int32, np.uint8, np.int8, np.uint32


def _values(*shape: int, dtype: Any = F32, seed: int = 0) -> np.ndarray:
    """Values without ties, between -2 and 2; small integers; or Booleans."""
    random = np.random.default_rng(seed)
    count = int(np.prod(shape))
    kind = np.dtype(dtype).kind
    if kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if kind in "iu":
        return random.integers(0 if kind == "u" else -9, 10, shape).astype(dtype)
    values = random.permutation(np.linspace(-2, 2, count + 3)[1:-1])[:count].reshape(shape)
    if kind == "c":
        values = values + 1j * _values(*shape, dtype=np.float64, seed=seed + 1)
    return np.asarray(values).astype(dtype)


X = _values(2, 3)
CUBE = _values(2, 3, 4)
VECTOR = _values(5)
SCALAR = np.asarray(F32(0.7))

Call = tuple[Callable[..., Any], tuple[Any, ...]]


def _typed(fun: Callable[..., Any], *shape: int, dtypes: tuple = (F32, C64, I32, bool, bfloat16)):
    return [(fun, (_values(*shape, dtype=t),)) for t in dtypes]


_STRUCTURE: dict[str, list[Call]] = {
    "broadcast_in_dim": [
        *_typed(lambda x: lax.broadcast_in_dim(x, (2, 4, 3), (0, 2)), 2, 3),
        (lambda x: lax.broadcast_in_dim(x, (2, 3), ()), (SCALAR,)),
        (lambda x: lax.broadcast_in_dim(x, (2, 3, 4), (1, 2)), (_values(1, 4),)),
    ],
    "reshape": [
        *_typed(lambda x: lax.reshape(x, (3, 2)), 2, 3),
        (lambda x: lax.reshape(x, (4, 6), (2, 0, 1)), (CUBE,)),
        (lambda x: lax.reshape(x, (1, 1)), (SCALAR,)),
    ],
    "squeeze": _typed(lambda x: lax.squeeze(x, (0, 2)), 1, 3, 1),
    "transpose": [
        *_typed(lambda x: lax.transpose(x, (1, 0)), 2, 3),
        (lambda x: lax.transpose(x, (2, 0, 1)), (CUBE,)),
    ],
    "concatenate": [
        (lambda x, y: lax.concatenate([x, y], 1), (X, _values(2, 2, seed=1))),
        (lambda x, y, z: lax.concatenate([x, y, z], 0), (X, X * 2, _values(0, 3))),
        (lambda x, y: lax.concatenate([x, y], 0), (_values(2, dtype=I32), _values(3, dtype=I32))),
        (lambda x, y: lax.concatenate([x, y], 0), (_values(2, dtype=C64), _values(3, dtype=C64))),
    ],
    "split": [
        (lambda x: lax.split(x, (1, 0, 2), 1), (X,)),
        (lambda x: lax.split(x, (2, 3)), (_values(5, dtype=I32),)),
    ],
    "stack": [
        (lambda x, y: lax.stack([x, y], 1), (X, _values(2, 3, seed=1))),
        (lambda x, y: lax.stack([x, y]), (SCALAR, SCALAR + 1)),
        (lambda x, y: lax.stack([x, y], -1), (_values(3, dtype=I32), _values(3, dtype=I32))),
    ],
    "unstack": [
        (lambda x: lax.unstack(x, 1), (X,)),
        (lambda x: lax.unstack(x), (_values(3, dtype=I32),)),
    ],
    "tile": [
        *_typed(lambda x: lax.tile(x, (2, 3)), 2, 3, dtypes=(F32, I32)),
        (lambda x: lax.tile(x, (0, 1, 2)), (CUBE,)),
    ],
    "rev": _typed(lambda x: lax.rev(x, (0, 2)), 2, 3, 4, dtypes=(F32, C64, bool)),
    "iota": [
        (lambda: lax.broadcasted_iota(I32, (2, 3), 1), ()),
        (lambda: lax.broadcasted_iota(F32, (4,), 0), ()),
        (lambda: lax.broadcasted_iota(U8, (3, 0), 0), ()),
    ],
    "pad": [
        (lambda x, p: lax.pad(x, p, ((1, 2, 0), (0, 1, 2))), (X, SCALAR)),
        (lambda x, p: lax.pad(x, p, ((-1, 2, 1),)), (VECTOR, SCALAR)),
        (lambda x, p: lax.pad(x, p, ((0, -3, 0),)), (VECTOR, SCALAR)),
        (lambda x, p: lax.pad(x, p, ((2, 1, 1),)), (_values(3, dtype=I32), np.asarray(I32(7)))),
        (lambda x, p: lax.pad(x, p, ((1, 0, 0),)), (_values(2, dtype=C64), np.asarray(C64(1j)))),
    ],
    "slice": [
        *_typed(lambda x: lax.slice(x, (0, 1), (2, 3)), 2, 3),
        (lambda x: lax.slice(x, (0, 1, 0), (2, 3, 4), (1, 1, 3)), (CUBE,)),
        (lambda x: lax.slice(x, (1,), (5,), (2,)), (VECTOR,)),
    ],
    "dynamic_slice": [
        (lambda x, i, j: lax.dynamic_slice(x, (i, j), (1, 2), allow_negative_indices=False), (X, np.asarray(I32(1)), np.asarray(I32(1)))),
        (lambda x, i: lax.dynamic_slice(x, (i,), (3,), allow_negative_indices=False), (VECTOR, np.asarray(I32(9)))),
        (lambda x, i: lax.dynamic_slice(x, (i,), (3,), allow_negative_indices=False), (_values(5, dtype=C64), np.asarray(I32(-3)))),
        (lambda x, i: lax.dynamic_slice(x, (i,), (2,), allow_negative_indices=False), (_values(5, dtype=I32), np.asarray(U8(2)))),
    ],
    "dynamic_update_slice": [
        (lambda x, u, i, j: lax.dynamic_update_slice(x, u, (i, j), allow_negative_indices=False), (X, _values(1, 2, seed=1), np.asarray(I32(1)), np.asarray(I32(1)))),
        (lambda x, u, i: lax.dynamic_update_slice(x, u, (i,), allow_negative_indices=False), (VECTOR, _values(3, seed=1), np.asarray(I32(4)))),
        (lambda x, u, i: lax.dynamic_update_slice(x, u, (i,), allow_negative_indices=False), (_values(5, dtype=I32), _values(2, dtype=I32), np.asarray(I32(-2)))),
    ],
}  # fmt: skip

_REDUCED = {"reduce_sum": (F32, C64, I32, bfloat16), "reduce_prod": (F32, C64, I32),
            "reduce_max": (F32, I32, bool, bfloat16, U8), "reduce_min": (F32, I32, bool, bfloat16),
            "reduce_and": (bool, I32), "reduce_or": (bool, I32), "reduce_xor": (bool, I32)}  # fmt: skip


def _reductions() -> dict[str, list[Call]]:
    table: dict[str, list[Call]] = {}
    for name, dtypes in _REDUCED.items():
        fun = getattr(lax, name)
        table[name] = [
            *_typed(lambda x, fun=fun: fun(x, (1,)), 2, 3, dtypes=dtypes),
            *_typed(lambda x, fun=fun: fun(x, (0, 2)), 2, 3, 4, dtypes=dtypes[:1]),
            *_typed(lambda x, fun=fun: fun(x, (0,)), 0, 3, dtypes=dtypes[-1:]),
        ]
    for name in ("argmax", "argmin"):
        fun = getattr(lax, name)
        # Of equal elements, the first; a NaN wins.
        ties = np.array([[1, 3, 3], [np.nan, 2, 5], [4, np.nan, np.nan]], F32)
        table[name] = [
            (lambda x, fun=fun: fun(x, 1, np.int32), (_values(3, 4),)),
            (lambda x, fun=fun: fun(x, 1, np.int32), (ties,)),
            (lambda x, fun=fun: fun(x, 0, np.uint8), (_values(3, 4, dtype=I32),)),
            (lambda x, fun=fun: fun(x, 0, np.int32), (_values(4, dtype=bool),)),
        ]
    for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
        fun = getattr(lax, name)
        table[name] = [
            (lambda x, fun=fun: fun(x, 1), (_values(2, 5),)),
            (lambda x, fun=fun: fun(x, 0, reverse=True), (_values(4, 2),)),
            (lambda x, fun=fun: fun(x, 0), (_values(3, dtype=bfloat16),)),
        ]
        if name != "cumlogsumexp":
            table[name].append((lambda x, fun=fun: fun(x, 0), (_values(5, dtype=I32),)))
    first_and_product = lambda a, b: lax.add(lax.mul(a, b), lax.sub(a, a))
    table["reduce"] = [
        (lambda x: lax.reduce(x, F32(1), first_and_product, (1,)), (X,)),
        (lambda x: lax.reduce(x, I32(3), lambda a, b: lax.max(a, lax.add(b, b)), (0, 1)), (_values(2, 3, dtype=I32),)),
        (lambda x, y: lax.reduce((x, y), (F32(1), I32(0)), lambda a, b: (lax.mul(a[0], b[0]), lax.add(a[1], b[1])), (0,)), (X, _values(2, 3, dtype=I32))),
    ]  # fmt: skip
    return table


def _products() -> dict[str, list[Call]]:
    matmul = (((1,), (0,)), ((), ()))
    batched = (((2,), (1,)), ((0,), (0,)))
    dot = lambda numbers, **options: lambda x, y: lax.dot_general(x, y, numbers, **options)
    ints = _values(2, 3, dtype=I8), _values(3, 2, dtype=I8, seed=1)
    return {
        "dot_general": [
            (dot(matmul), (X, _values(3, 4, seed=1))),
            (dot(batched), (CUBE, _values(2, 4, 2, seed=1))),
            (dot((((0, 2), (1, 0)), ((1,), (2,)))), (CUBE, _values(4, 2, 3, seed=1))),
            (dot((((), ()), ((), ()))), (X, VECTOR)),
            (dot(matmul), (_values(2, 3, dtype=C64), _values(3, 2, dtype=C64))),
            (dot(matmul), ints),
            (dot(matmul, preferred_element_type=I32), ints),
            (dot(matmul), (_values(2, 3, dtype=bfloat16), _values(3, 2, dtype=bfloat16))),
            (dot(matmul, preferred_element_type=F32), (_values(2, 3, dtype=bfloat16), _values(3, 2, dtype=bfloat16))),
        ],
        "threefry2x32": [
            (lax.threefry2x32_p.bind, tuple(_values(3, dtype=U32, seed=s) for s in range(4))),
            (lax.threefry2x32_p.bind, (np.asarray(U32(7)), np.asarray(U32(2**31)), *(_values(2, 3, dtype=U32, seed=s) for s in range(2)))),
        ],
    }  # fmt: skip


def _windows() -> dict[str, list[Call]]:
    image = _values(4, 5)
    dilated = {"base_dilation": (2, 1), "window_dilation": (1, 2)}
    reduce = lax.reduce_window
    table: dict[str, list[Call]] = {}
    for name, init, combine in (
        ("reduce_window_sum", 0.0, lax.add),
        ("reduce_window_max", -np.inf, lax.max),
        ("reduce_window_min", np.inf, lax.min),
    ):
        table[name] = [
            (lambda x, i=init, c=combine: reduce(x, F32(i), c, (2, 2), (1, 1), "VALID"), (image,)),
            (lambda x, i=init, c=combine: reduce(x, F32(i), c, (2, 3), (2, 1), "SAME"), (image,)),
        ]
    table["reduce_window_sum"] += [
        (lambda x: reduce(x, F32(0), lax.add, (2, 2), (2, 1), ((1, 2), (0, 1)), **dilated), (image,)),
        (lambda x: reduce(x, I32(0), lax.add, (3,), (2,), "SAME"), (_values(6, dtype=I32),)),
    ]
    table["reduce_window_max"] += [
        (lambda x: reduce(x, I32(np.iinfo(I32).min), lax.max, (3,), (2,), "SAME"), (_values(6, dtype=I32),)),
    ]
    combine = lambda a, b: lax.add(lax.mul(a, F32(0.5)), b)
    table["reduce_window"] = [
        (lambda x: reduce(x, F32(1), lax.mul, (2, 2), (1, 2), "VALID"), (image,)),
    ]
    del combine
    return table  # fmt: skip


def _window_selections() -> dict[str, list[Example]]:
    x = _values(4, 5)
    one = {"window_dimensions": (2, 2), "window_strides": (1, 2), "padding": ((0, 0), (0, 1))}
    plain = {"base_dilation": (1, 1), "window_dilation": (1, 1)}
    table: dict[str, list[Example]] = {"select_and_scatter_add": [], "select_and_gather_add": []}
    for select in ("ge", "le"):
        params = {"select_prim": primitives[select], **one}
        table["select_and_scatter_add"].append(Example((_values(3, 3, seed=1), x), params))
        table["select_and_gather_add"].append(
            Example((_values(4, 5, seed=1), x), {**params, **plain})
        )
    return table


def _convolutions() -> dict[str, list[Call]]:
    conv = lambda **options: lambda x, k: lax.conv_general_dilated(x, k, **options)
    x, kernel = _values(2, 4, 5, 4), _values(4, 4, 2, 3, seed=1)
    plain = {"window_strides": (1, 1), "padding": "VALID"}
    nhwc = {"dimension_numbers": ("NHWC", "HWIO", "NHWC")}
    calls: list[Call] = [
        (conv(**plain), (x, kernel)),
        (conv(window_strides=(2, 1), padding=((1, 2), (0, 1))), (x, kernel)),
        (conv(window_strides=(1, 1), padding=((0, 1), (0, 0)), lhs_dilation=(2, 1), rhs_dilation=(1, 2)), (_values(1, 2, 3, 5), _values(3, 2, 2, 2, seed=1))),
        (conv(**plain, feature_group_count=2), (x, _values(4, 2, 2, 2, seed=1))),
        (conv(**plain, batch_group_count=2), (x, _values(4, 4, 2, 2, seed=1))),
        (conv(**plain, **nhwc), (_values(2, 4, 4, 3), _values(2, 2, 3, 2, seed=1))),
        (conv(window_strides=(1,), padding=((-1, 2),)), (_values(1, 2, 5), _values(2, 2, 2, seed=1))),
        (conv(window_strides=(), padding=()), (_values(2, 3), _values(4, 3, seed=1))),
        (conv(**plain), (_values(1, 1, 3, 3, dtype=C64), _values(1, 1, 2, 2, dtype=C64))),
        (conv(**plain), (_values(1, 1, 3, 3, dtype=bfloat16), _values(1, 1, 2, 2, dtype=bfloat16))),
    ]
    return {"conv_general_dilated": calls}


def _sorting() -> dict[str, list[Call]]:
    odd = np.array([1.5, np.nan, -0.0, 0.0, -np.inf, np.inf, -2.0], F32)
    return {
        "sort": [
            (lambda x: lax.sort(x, 1), (_values(3, 4),)),
            (lambda x: lax.sort(x, 0), (_values(5, dtype=I32),)),
            (lambda x, y: lax.sort((x, y), num_keys=1), (_values(6, dtype=I8), _values(6, seed=1))),
            (lambda x, y: lax.sort((x, y), num_keys=2), (_values(6, dtype=U8) // 4, _values(6, seed=1))),
            (lambda x, y: lax.sort((x, y), 0), (odd, np.arange(7, dtype=I32))),
            (lambda x: lax.sort(x), (_values(4, dtype=C64),)),
            (lambda x: lax.sort(x), (_values(4, dtype=bfloat16),)),
        ],
        "top_k": [
            (lambda x: lax.top_k(x, 2), (_values(3, 5),)),
            (lambda x: lax.top_k(x, 3, axis=0), (_values(5, 2),)),
            (lambda x: lax.top_k(x, 3), (np.array([2, 7, 7, 1, 7], I32),)),
        ],
    }  # fmt: skip


def _gather_calls() -> list[Call]:
    numbers = lax.GatherDimensionNumbers
    rows = np.array([[2], [0], [7], [-1]], I32)
    modes = (lax.GatherScatterMode.CLIP, lax.GatherScatterMode.FILL_OR_DROP)
    calls: list[Call] = []
    for mode in modes:
        take = lambda x, i, mode=mode: lax.gather(
            x, i, numbers((1,), (0,), (0,)), (1, 4), mode=mode
        )
        calls += [(take, (_values(3, 4), rows)), (take, (_values(3, 4, dtype=I32), rows))]
        windows = lambda x, i, mode=mode: lax.gather(
            x, i, numbers((0, 2), (), (1, 0)), (2, 2), mode=mode
        )
        calls.append((windows, (_values(3, 4), np.array([[1, 0], [3, 1], [0, 2]], I32))))
    calls.append((lambda x, i: lax.gather(x, i, numbers((), (0,), (0,)), (1,), mode="promise_in_bounds"), (VECTOR, np.array([[[1], [3]]], I32))))
    together = numbers((1,), (), (1,), (0,), (0,))
    calls.append((lambda x, i: lax.gather(x, i, together, (1, 2), mode="clip"), (_values(3, 4), np.array([[0], [2], [1]], I32))))
    calls.append((lambda x, i: lax.gather(x, i, numbers((1,), (0,), (0,)), (1, 4), mode="fill", fill_value=5), (_values(3, 4), rows)))
    calls.append((lambda x, i: lax.gather(x, i, numbers((1,), (0,), (0,)), (1, 4), mode="clip"), (_values(3, 4, dtype=C64), rows)))
    return calls  # fmt: skip


def _scatter_calls(name: str) -> list[Call]:
    fun = getattr(lax, name.replace("-", "_"))
    numbers = lax.ScatterDimensionNumbers
    by_row = numbers((1,), (0,), (0,))
    rows = np.array([[2], [0], [7]], I32)
    again = np.array([[1], [1], [0]], I32)
    x, updates = _values(3, 4), _values(3, 4, seed=1)
    calls: list[Call] = [
        (lambda x, u: fun(x, rows, u, by_row), (x, updates)),
        (lambda x, u: fun(x, rows, u, by_row, mode="clip", unique_indices=False), (x, updates)),
        (lambda x, u: fun(x, np.array([[2], [0], [1]], I32), u, by_row, unique_indices=True), (x, updates)),
        (lambda x, u: fun(x, rows, u, by_row), (_values(3, 4, dtype=I32), _values(3, 4, dtype=I32, seed=1))),
        (lambda x, u: fun(x, np.array([[0], [2], [1]], I32), u, numbers((1,), (), (1,), (0,), (0,))), (x, _values(3, 2, seed=1))),
        (lambda x, u: fun(x, np.array([1], I32), u, numbers((), (0,), (0,))), (VECTOR, SCALAR)),
    ]
    if name in ("scatter-add", "scatter-sub", "scatter-min", "scatter-max"):
        calls.append((lambda x, u: fun(x, again, u, by_row), (x, updates)))
    return calls  # fmt: skip


def _without_indices_captured(name: str, calls: list[Call]) -> list[Example]:
    return [captured(name, fun, *args) for fun, args in calls]


def array_examples() -> dict[str, list[Example]]:
    """The examples of all primitives on whole arrays that are defined."""
    calls: dict[str, list[Call]] = {**_STRUCTURE, **_reductions(), **_products(), **_windows()}
    calls |= {**_convolutions(), **_sorting(), "gather": _gather_calls()}
    for name in ("scatter", "scatter-add", "scatter-mul", "scatter-min", "scatter-max", "scatter-sub"):
        calls[name] = _scatter_calls(name)
    table = {
        name: [captured(name, fun, *args) for fun, args in found]
        for name, found in calls.items()
        if name in primitives
    }
    return table | _window_selections()
