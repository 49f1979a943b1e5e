"""Examples of ``ragged_dot_general``, ``scaled_dot``, approximate top-k, and composites."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from ml_dtypes import float8_e4m3fn, float8_e8m0fnu

import ricci_ir as ir
import ricci_lax as lax
from ricci_lax.authoring import resample

from ._example import C64, F32, I8, I32, U32, Example, array_of, captured

type Pads = Sequence[int] | Sequence[Sequence[int]]


def _ragged(
    numbers: tuple, ragged: int, groups: tuple, *shapes: ir.Shape, sizes: Pads, **options: Any
):
    ragged_numbers = lax.RaggedDotDimensionNumbers(numbers, (ragged,), groups)
    dtype = options.pop("dtype", F32)
    x, y = (array_of(*shape, dtype=dtype, seed=i) for i, shape in enumerate(shapes))
    fun = lambda x, y, sizes: lax.ragged_dot_general(x, y, sizes, ragged_numbers, **options)
    return captured("ragged_dot_general", fun, x, y, np.asarray(sizes, I32))


def _ragged_examples() -> list[Example]:
    plain = (((1,), (1,)), ((), ()))
    rows = ((5, 3), (2, 3, 4))
    batched = (((2,), (2,)), ((0,), (0,)))
    twisted = (((0, 3), (4, 1)), ((1,), (2,)))
    return [
        _ragged(plain, 0, (0,), *rows, sizes=[2, 3]),
        # Rows in no group, group sizes that add up to more than the rows, and empty groups.
        _ragged(plain, 0, (0,), *rows, sizes=[1, 2]),
        _ragged(plain, 0, (0,), *rows, sizes=[4, 4]),
        _ragged(plain, 0, (0,), (5, 3), (3, 3, 4), sizes=[0, 5, 0]),
        _ragged(plain, 0, (0,), (0, 3), (2, 3, 4), sizes=[0, 0]),
        _ragged(plain, 0, (0,), (5, 3), (0, 3, 4), sizes=[]),
        *(
            _ragged(plain, 0, (0,), *rows, sizes=[2, 2], dtype=t)
            for t in (C64, I8, I32, ir.bfloat16, np.float16, np.float64, bool)
        ),
        _ragged(plain, 0, (0,), *rows, sizes=[2, 2], dtype=ir.bfloat16, preferred_element_type=F32),
        _ragged(plain, 0, (0,), *rows, sizes=[2, 2], precision="highest"),
        # Group sizes for each example of a batch, and group sizes shared by all examples.
        _ragged(batched, 1, (1,), (2, 5, 3), (2, 2, 3, 4), sizes=[[1, 2], [3, 2]]),
        _ragged(batched, 1, (1,), (2, 5, 3), (2, 2, 3, 4), sizes=[1, 3]),
        _ragged((((2,), (2,)), ((), ())), 1, (0,), (2, 3, 4), (2, 5, 4), sizes=[[1, 1], [0, 3]]),
        _ragged(twisted, 2, (0,), (3, 2, 4, 5), (2, 5, 2, 6, 3), sizes=[[1, 3], [2, 1]]),
        # A contracting dimension is ragged.
        _ragged((((0,), (0,)), ((), ())), 0, (), (5, 3), (5, 4), sizes=[2, 2]),
        _ragged((((0,), (0,)), ((), ())), 0, (), (5, 3), (5, 4), sizes=[]),
        _ragged((((1,), (1,)), ((0,), (0,))), 1, (), (2, 5, 3), (2, 5, 4), sizes=[[1, 2], [3, 2]]),
        _ragged((((1, 0), (1, 0)), ((), ())), 0, (), (4, 3), (4, 3, 2), sizes=[[1, 2]] * 3),
        _ragged((((0, 1), (2, 0)), ((), ())), 1, (), (2, 3), (3, 4, 2), sizes=[[1, 2], [0, 2]]),
        # A batch dimension is ragged.
        _ragged((((2,), (1,)), ((0,), (0,))), 0, (), (5, 2, 3), (5, 3, 4), sizes=[2, 2]),
    ]


def _scaled_examples() -> list[Example]:
    numbers = (((1,), (0,)), ((), ()))
    batched = (((2,), (1,)), ((0,), (0,)))

    def example(dims: tuple, *args: np.ndarray, dtype: npt.DTypeLike = ir.bfloat16) -> Example:
        params = {"dimension_numbers": dims, "preferred_element_type": np.dtype(dtype)}
        return Example(args, params, smooth=False)

    narrow = lambda *shape, seed=0: array_of(*shape, seed=seed).astype(float8_e4m3fn)
    plain = lambda *shape: narrow(*shape).astype(F32)
    scale = lambda *shape: (2.0 ** array_of(*shape, dtype=I32).clip(-3, 3)).astype(F32)
    scales = lambda *shape: scale(*shape).astype(float8_e8m0fnu)
    return [
        example(numbers, narrow(2, 8), narrow(8, 3), scales(2, 2), scales(4, 3)),
        example(numbers, narrow(2, 8), narrow(8, 3), scales(2, 1), scales(1, 3), dtype=F32),
        example(batched, narrow(2, 3, 4), narrow(2, 4, 2), scales(2, 3, 2), scales(2, 1, 2)),
        # Values that are exact in bfloat16, since compilers may leave out roundings to it.
        example(numbers, plain(2, 4), plain(4, 3), scale(2, 2), scale(1, 3), dtype=F32),
        example(
            (((1, 0), (0, 1)), ((), ())), narrow(4, 8), narrow(8, 4), scales(2, 2), scales(1, 1)
        ),
    ]


def _search_examples() -> list[Example]:
    examples = []
    for fun in (lax.approx_max_k, lax.approx_min_k):
        for args, options in (
            (array_of(3, 7), {"k": 2}),
            (array_of(7, 2), {"k": 3, "reduction_dimension": 0}),
            (array_of(9, dtype=ir.bfloat16), {"k": 9}),
            (array_of(2, 300), {"k": 2, "aggregate_to_topk": False}),
            (array_of(6), {"k": 1, "recall_target": 0.5, "reduction_input_size_override": 9}),
        ):
            call = lambda x, f=fun, o=options: f(x, **o)
            examples.append(captured("approx_top_k", call, args))
    return examples


def _composite_examples() -> list[Example]:
    scaled = lax.composite(lambda x, y, *, by: lax.add(lax.mul(x, y), y), "example.scaled", 2)
    pair = lax.composite(lambda x: (lax.neg(x), x), "example.pair")
    return [
        captured("composite", lambda x, y: scaled(x, y, by=(1, "a")), array_of(3), array_of(3)),
        captured("composite", pair, array_of(2, dtype=I32)),
    ]


def _windows() -> list[Example]:
    def fun(x: ir.Array, source: ir.Array, init: ir.Array, rows: int = 2) -> ir.Array:
        scalar = np.zeros((), x.dtype)
        jaxpr = lambda f: ir.trace_to_jaxpr(lambda a, b: [f(a, b)], [ir.get_aval(scalar)] * 2)
        return lax.select_and_scatter_p.bind(
            x,
            source,
            init,
            select_jaxpr=jaxpr(lax.ge),
            select_consts=(),
            scatter_jaxpr=jaxpr(lax.add),
            scatter_consts=(),
            window_dimensions=(rows, 2),
            window_strides=(1, 2),
            padding=((0, 0), (0, 1)),
        )

    # Padding holds the initial value, which must never be selected.
    return [
        captured(
            "select_and_scatter", fun, array_of(4, 4), array_of(3, 2, seed=1), np.asarray(F32(-9))
        ),
        captured(
            "select_and_scatter",
            lambda *args: fun(*args, rows=1),
            array_of(0, 4),
            array_of(0, 2),
            np.asarray(F32(-9)),
        ),
    ]


def _resampling_examples() -> list[Example]:
    shapes = (((4,), (4, 6), 0), ((2, 5, 3), (5, 2), 1), ((3, 4), (4, 4), 1))
    return [
        captured(
            "resample",
            lambda x, weights, axis=axis: resample(x, weights, axis, 2),
            array_of(*shape, dtype=dtype),
            array_of(*matrix, dtype=dtype, seed=1),
        )
        for shape, matrix, axis in shapes
        for dtype in (F32, np.float16, C64)
    ]


def contraction_examples() -> dict[str, list[Example]]:
    """The examples of ragged, scaled and windowed contractions, and of a few other primitives."""
    x = array_of(2, 3)
    table = {
        "ragged_dot_general": _ragged_examples(),
        "scaled_dot": _scaled_examples(),
        "resample": _resampling_examples(),
        "approx_top_k": _search_examples(),
        "composite": _composite_examples(),
        "select_and_scatter": _windows(),
        "stage": [Example((array_of(2, 3, dtype=t),)) for t in (F32, C64, I32, U32, bool)],
        "empty": [
            Example((), {"shape": shape, "dtype": np.dtype(t), "out_sharding": None})
            for shape, t in (((2, 3), F32), ((), C64), ((0, 2), bool), ((2,), ir.bfloat16))
        ],
        "dce_sink": [Example((x,), {"prevent_mlir_dce": False})],
    }
    return {name: examples for name, examples in table.items() if name in ir.primitives}
