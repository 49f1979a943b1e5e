"""Examples of windowed reductions, convolutions, reductions by jaxprs, and sorting."""

import numpy as np

import ricci_lax as lax
from ricci_ir import bfloat16, primitives

from ._example import C64, F32, I8, I32, U8, Call, Example, array_of, captured, lowest


def _windows() -> dict[str, list[Call]]:
    image = array_of(4, 5)
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
        (
            lambda x: reduce(x, F32(0), lax.add, (2, 2), (2, 1), ((1, 2), (0, 1)), **dilated),
            (image,),
        ),
        (lambda x: reduce(x, I32(0), lax.add, (3,), (2,), "SAME"), (array_of(6, dtype=I32),)),
    ]
    table["reduce_window_max"] += [
        (
            lambda x: reduce(x, I32(np.iinfo(I32).min), lax.max, (3,), (2,), "SAME"),
            (array_of(6, dtype=I32),),
        )
    ]
    return table


def _convolutions() -> dict[str, list[Call]]:
    conv = lambda **options: lambda x, k: lax.conv_general_dilated(x, k, **options)
    x, kernel = array_of(2, 4, 5, 4), array_of(4, 4, 2, 3, seed=1)
    plain = {"window_strides": (1, 1), "padding": "VALID"}
    nhwc = {"dimension_numbers": ("NHWC", "HWIO", "NHWC")}
    calls: list[Call] = [
        (conv(**plain), (x, kernel)),
        (conv(window_strides=(2, 1), padding=((1, 2), (0, 1))), (x, kernel)),
        (
            conv(
                window_strides=(1, 1),
                padding=((0, 1), (0, 0)),
                lhs_dilation=(2, 1),
                rhs_dilation=(1, 2),
            ),
            (array_of(1, 2, 3, 5), array_of(3, 2, 2, 2, seed=1)),
        ),
        (conv(**plain, feature_group_count=2), (x, array_of(4, 2, 2, 2, seed=1))),
        (conv(**plain, batch_group_count=2), (x, array_of(4, 4, 2, 2, seed=1))),
        (conv(**plain, **nhwc), (array_of(2, 4, 4, 3), array_of(2, 2, 3, 2, seed=1))),
        (
            conv(window_strides=(1,), padding=((-1, 2),)),
            (array_of(1, 2, 5), array_of(2, 2, 2, seed=1)),
        ),
        # A window without elements.
        (conv(**plain), (x, array_of(4, 4, 2, 0))),
        (conv(window_strides=(), padding=()), (array_of(2, 3), array_of(4, 3, seed=1))),
        (conv(**plain), (array_of(1, 1, 3, 3, dtype=C64), array_of(1, 1, 2, 2, dtype=C64))),
        (
            conv(**plain),
            (array_of(1, 1, 3, 3, dtype=bfloat16), array_of(1, 1, 2, 2, dtype=bfloat16)),
        ),
    ]
    return {"conv_general_dilated": calls}


def _sorting() -> dict[str, list[Call]]:
    odd = np.array([1.5, np.nan, -0.0, 0.0, -np.inf, np.inf, -2.0], F32)
    return {
        "sort": [
            (lambda x: lax.sort(x, 1), (array_of(3, 4),)),
            (lambda x: lax.sort(x, 0), (array_of(5, dtype=I32),)),
            (
                lambda x, y: lax.sort((x, y), num_keys=1),
                (array_of(6, dtype=I8), array_of(6, seed=1)),
            ),
            (
                lambda x, y: lax.sort((x, y), num_keys=2),
                (array_of(6, dtype=U8) // 4, array_of(6, seed=1)),
            ),
            (lambda x, y: lax.sort((x, y), 0), (odd, np.arange(7, dtype=I32))),
            (lambda x: lax.sort(x), (array_of(4, dtype=C64),)),
            (lambda x: lax.sort(x), (array_of(4, dtype=bfloat16),)),
        ],
        "top_k": [
            (lambda x: lax.top_k(x, 2), (array_of(3, 5),)),
            (lambda x: lax.top_k(x, 3, axis=0), (array_of(5, 2),)),
            (lambda x: lax.top_k(x, 3), (np.array([2, 7, 7, 1, 7], I32),)),
        ],
    }


def window_calls() -> dict[str, list[Call]]:
    """Calls that apply each of these primitives."""
    return {**_windows(), **_convolutions(), **_sorting()}


def fold_examples() -> dict[str, list[Example]]:
    """Reductions by jaxprs; each initial value must be the identity of its reduction."""
    one = lambda x: np.ones((), x.dtype)[()]
    low = lambda x: lowest(x.dtype)
    product = lambda a, b: lax.add(lax.mul(a, b), lax.sub(a, a))
    pairs = lambda a, b: (lax.mul(a[0], b[0]), lax.add(a[1], b[1]))
    ints = array_of(2, 3, dtype=I32)
    reduce = [
        captured(
            "reduce", lambda x: lax.reduce(x, one(x), product, (1,)), array_of(2, 3), fixed=(1,)
        ),
        captured(
            "reduce",
            lambda x: lax.reduce(x, low(x), lambda a, b: lax.max(b, a), (0, 1)),
            ints,
            fixed=(1,),
        ),
        captured(
            "reduce",
            lambda x, y: lax.reduce((x, y), (one(x), I32(0)), pairs, (0,)),
            array_of(2, 3),
            ints,
            fixed=(2, 3),
        ),
    ]
    scalar = lambda x: lax.reduce(x, one(x), product, ())
    reduce.append(captured("reduce", scalar, array_of(), fixed=(1,)))
    windows = [
        lambda x, padding=padding: lax.reduce_window(x, one(x), product, (2, 2), (1, 2), padding)
        for padding in ("VALID", "SAME", ((1, 0), (-1, 2)))
    ]
    return {
        "reduce": reduce,
        "reduce_window": [
            captured("reduce_window", fun, array_of(4, 5), fixed=(1,)) for fun in windows
        ],
    }


def window_selection_examples() -> dict[str, list[Example]]:
    """Examples of the primitives that select in windows, and scatter to the selected positions."""
    x = array_of(4, 5)
    one = {"window_dimensions": (2, 2), "window_strides": (1, 2), "padding": ((0, 0), (0, 1))}
    plain = {"base_dilation": (1, 1), "window_dilation": (1, 1)}
    table: dict[str, list[Example]] = {"select_and_scatter_add": [], "select_and_gather_add": []}
    for select in ("ge", "le"):
        params = {"select_prim": primitives[select], **one}
        table["select_and_scatter_add"].append(Example((array_of(3, 3, seed=1), x), params))
        # An array without rows has no windows.
        rows = {**params, "window_dimensions": (1, 2)}
        table["select_and_scatter_add"].append(Example((array_of(0, 3), array_of(0, 5)), rows))
        table["select_and_gather_add"].append(
            Example((array_of(4, 5, seed=1), x), {**params, **plain})
        )
    return table
