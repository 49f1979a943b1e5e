"""Kernels of one operation each, which are compiled for NVIDIA GPUs."""

from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

import ricci
from ricci import lax
from ricci import numpy as jnp
from ricci.experimental import pallas as pl
from ricci.experimental.pallas import triton as plgpu

BLOCK = (16, 32)
FLOATS = ("float32", "float64", "float16", "bfloat16")
FLOAT8 = ("float8_e4m3fn",)
INTS = ("int32", "int64", "int8", "uint32")

type Operation = Callable[..., Any]


def as_dtype(name: str) -> Any:
    """The dtype of a name."""
    return np.dtype(getattr(ml_dtypes, name, name))


def first(x: Any) -> Any:
    """The first element as a position, which is not static."""
    return x[0, 0].astype(np.int32)


# By name: the operation, the dtypes of its operands, and how many of them it has.
_unary_floats = (
    "neg sign square exp exp2 log log1p expm1 sqrt rsqrt cbrt sin cos tan sinh cosh tanh asin "
    "acos atan asinh acosh atanh floor ceil round logistic is_finite erf erfc erf_inv lgamma "
    "digamma reciprocal bessel_i0e bessel_i1e"
).split()
_reductions = "sum prod max min argmax argmin any all mean".split()
_running = "cumsum cumprod cummax cummin cumlogsumexp".split()

OPERATIONS: dict[str, tuple[Operation, tuple[str, ...], int]] = {
    **{name: (getattr(lax, name), FLOATS, 1) for name in _unary_floats},
    "unary, 8 bits": (lambda x: -abs(x) + lax.square(jnp.clip(x, 1, 2)), FLOAT8, 1),
    **{
        name: (getattr(lax, name), FLOATS + INTS + FLOAT8, 2)
        for name in "add sub mul div rem max min".split()
    },
    **{
        name: (getattr(lax, name), FLOATS + INTS + FLOAT8, 2)
        for name in "eq ne lt le gt ge".split()
    },
    **{name: (getattr(lax, name), FLOATS, 2) for name in "pow atan2 nextafter".split()},
    "abs": (lax.abs, FLOATS + ("int32", "int64", "int8"), 1),
    "sign of integers": (lax.sign, INTS, 1),
    "floor_divide": (jnp.floor_divide, FLOATS + INTS, 2),
    "integer_pow": (lambda x: lax.integer_pow(x, 3), FLOATS + INTS, 1),
    "integer_pow, negative": (lambda x: lax.integer_pow(x, -2), FLOATS, 1),
    "clamp": (lambda x: jnp.clip(x, 1, 3), FLOATS + INTS, 1),
    "select": (lambda x, y: jnp.where(x < y, x, y), FLOATS + INTS, 2),
    "isnan": (jnp.isnan, FLOATS, 1),
    "and or xor not": (lambda x, y: ~(x & y) | (x ^ y), (*INTS, "bool"), 2),
    "shifts": (lambda x, y: (x << y) + lax.shift_right_arithmetic(x, y), INTS, 2),
    "shift_right_logical": (lax.shift_right_logical, INTS, 2),
    "population_count": (lax.population_count, INTS, 1),
    "clz": (lax.clz, INTS, 1),
    "mulhi": (lax.mulhi, ("int32", "uint32", "int8"), 2),
    "reduce_precision": (lambda x: lax.reduce_precision(x, 8, 7), ("float32",), 1),
    "stop_gradient": (lax.stop_gradient, FLOATS, 1),
    **{name: (partial(getattr(jnp, name), axis=1), FLOATS, 1) for name in _reductions},
    **{
        f"{name}, axis 0": (partial(getattr(jnp, name), axis=0), ("float32", "int32"), 1)
        for name in _reductions
    },
    **{f"{name}, all": (getattr(jnp, name), ("float32", "int32"), 1) for name in "sum max".split()},
    **{name: (partial(getattr(lax, name), axis=1), FLOATS, 1) for name in _running},
    "cumsum, reversed": (partial(lax.cumsum, axis=0, reverse=True), ("float32", "int32"), 1),
    "reduce_xor": (lambda x: lax.reduce_xor(x, (1,)), INTS, 1),
    "transpose": (jnp.transpose, FLOATS + INTS, 1),
    "reshape": (lambda x: x.reshape(8, -1), FLOATS + INTS, 1),
    "ravel": (jnp.ravel, ("float32",), 1),
    "three dimensions": (lambda x: x.reshape(4, 4, 32).transpose(2, 0, 1), ("float32",), 1),
    "broadcast": (lambda x: jnp.broadcast_to(x[:1] * 0 + x[:, :1], x.shape), ("float32",), 1),
    "iota": (lambda x: x + lax.broadcasted_iota(x.dtype, x.shape, 1), FLOATS + INTS, 1),
    "slice": (lambda x: x[4:8, ::2], FLOATS + INTS, 1),
    "dynamic_slice": (
        lambda x: lax.dynamic_slice(x, (first(x), np.int32(3)), (8, 16)),
        ("float32", "int32"),
        1,
    ),
    "dynamic_update_slice": (
        lambda x: lax.dynamic_update_slice(x, x[:4, :8], (first(x), np.int32(3))),
        ("float32", "int32"),
        1,
    ),
    "concatenate": (lambda x, y: jnp.concatenate([x, y], 1), ("float32", "int32"), 2),
    "stack": (lambda x, y: jnp.stack([x, y]), ("float32",), 2),
    "split": (lambda x: sum(jnp.split(x, 2, 0)), ("float32",), 1),
    "rev": (lambda x: x[:, ::-1], ("float32", "bfloat16", "int32"), 1),
    "roll": (lambda x: jnp.roll(x, 3, 1), ("float32", "int32"), 1),
    "pad": (lambda x: jnp.pad(x, ((8, 8), (0, 0)), constant_values=1), ("float32",), 1),
    "tile": (lambda x: jnp.tile(x, (2, 1)), ("float32",), 1),
    "repeat": (lambda x: jnp.repeat(x, 2, 0), ("float32",), 1),
    "take_along_axis": (
        lambda x: jnp.take_along_axis(x, x.astype(np.int32) & 7, 1),
        ("float32",),
        1,
    ),
    "take": (
        lambda x: (
            jnp.take(x, x[0].astype(np.int32) & 15, 0).sum() + x[:, x[:4, 0].astype(np.int32)]
        ),
        ("float32", "int32"),
        1,
    ),
    "sort": (lambda x: jnp.sort(x, 1), ("float32", "int32"), 1),
    "argsort": (lambda x: jnp.argsort(x, 1), ("float32",), 1),
    "top_k": (lambda x: lax.top_k(x, 4)[0], ("float32",), 1),
    "bitcast": (lambda x: lax.bitcast_convert_type(x, np.int32), ("float32", "uint32"), 1),
    "softmax": (lambda x: jnp.exp(x - x.max(1, keepdims=True)), FLOATS, 1),
    "logaddexp": (jnp.logaddexp, ("float32", "bfloat16"), 2),
    "sinc": (jnp.sinc, ("float32",), 1),
    "gelu": (lambda x: x * 0.5 * (1 + jnp.tanh(0.8 * (x + 0.04 * x**3))), FLOATS, 1),
    "var": (lambda x: x.var(1), ("float32", "bfloat16"), 1),
    "linspace": (lambda x: x + jnp.linspace(0, 1, 32, dtype=np.float32), ("float32",), 1),
    "tril": (jnp.tril, ("float32", "int32"), 1),
    "remainder": (jnp.remainder, FLOATS + INTS, 2),
    "approx_tanh": (plgpu.approx_tanh, ("float32", "float16", "bfloat16"), 1),
    "multiple_of": (
        lambda x: x + plgpu.max_contiguous(pl.multiple_of(first(x), 8), 8).astype(x.dtype),
        ("float32",),
        1,
    ),
    "cholesky": (lambda x: jnp.linalg.cholesky(x[:16, :16]), ("float32",), 1),
    "conv": (lambda x: jnp.convolve(x[0], x[1, :4], "same"), ("float32",), 1),
    "fft": (jnp.fft.fft, ("float32",), 1),
}

CONVERSIONS = (*FLOATS, *INTS, "bool", "float8_e4m3fn", "float8_e5m2")
for _target in CONVERSIONS:
    OPERATIONS[f"convert to {_target}"] = (
        lambda x, _target=_target: x.astype(as_dtype(_target)),
        CONVERSIONS,
        1,
    )


def operation_call(name: str, dtype: str) -> tuple[Operation, list[Any]]:
    """A call of a kernel of one operation on blocks, and the types of its operands."""
    operation, _, count = OPERATIONS[name]
    operands = [ricci.ShapeDtypeStruct((64, *BLOCK[1:]), as_dtype(dtype))] * count
    blocks = [ricci.ShapeDtypeStruct(BLOCK, as_dtype(dtype))] * count

    def kernel(*refs: Any) -> None:
        refs[-1][...] = operation(*[ref[...] for ref in refs[:-1]])

    out = ricci.eval_shape(operation, *blocks)
    rows = pl.BlockSpec(BLOCK, lambda i: (i, 0))
    zeros = (0,) * len(out.shape)
    call = pl.pallas_call(
        kernel,
        ricci.ShapeDtypeStruct((4, *out.shape), out.dtype),
        grid=4,
        in_specs=[rows] * count,
        out_specs=pl.BlockSpec((None, *out.shape), lambda i: (i, *zeros)),
        name=name,
    )
    return call, operands
