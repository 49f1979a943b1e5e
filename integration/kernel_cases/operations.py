"""Operations in kernels for TPUs: functions of blocks, in the groups of the docs' table."""

import numpy as np

import ricci
import ricci.numpy as jnp
from ricci import lax
from ricci.experimental import pallas as pl
from ricci.experimental.pallas import tpu as pltpu

F32, I32, BF16 = jnp.float32, jnp.int32, jnp.bfloat16


def _ints(function):
    return lambda x: function(x.astype(I32)).astype(F32)


def _integers(x):
    return x.astype(I32)


def _printed(x):
    pl.debug_print("{} of {}", x[0, 0], 8)
    return x


def _positions(axis=1):
    return lax.broadcasted_iota(I32, (8, 128), axis)


ELEMENTWISE = {
    "abs": jnp.abs,
    "acos": jnp.arccos,
    "acosh": lambda x: jnp.arccosh(x + 1),
    "add": lambda x: x + x,
    "asin": jnp.arcsin,
    "asinh": jnp.arcsinh,
    "atan": jnp.arctan,
    "atan2": lambda x: lax.atan2(x, x + 1),
    "atanh": jnp.arctanh,
    "bitcast": lambda x: lax.bitcast_convert_type(lax.bitcast_convert_type(x, I32) + 1, F32),
    "bitwise": _ints(lambda i: (i & 3) | (i ^ 5) | ~i),
    "cbrt": jnp.cbrt,
    "ceil": jnp.ceil,
    "clamp": lambda x: lax.clamp(0.0, x, 1.0),
    "clip": lambda x: jnp.clip(x, 0, 1),
    "clz": _ints(lax.clz),
    "comparisons": lambda x: ((x < 1) & (x >= 0) | (x != x) | ~(x == 2)).astype(F32),
    "copysign": lambda x: jnp.copysign(x, -x),
    "cos": jnp.cos,
    "cosh": jnp.cosh,
    "digamma": lax.digamma,
    "div": lambda x: x / (x + 1),
    "erf": lax.erf,
    "erf_inv": lax.erf_inv,
    "erfc": lax.erfc,
    "exp": jnp.exp,
    "exp2": jnp.exp2,
    "expm1": jnp.expm1,
    "floor": jnp.floor,
    "floor_divide of integers": _ints(lambda i: i // 3),
    "gelu": ricci.nn.gelu,
    "integer_pow": lambda x: x**3 + x**-2,
    "is_finite": lambda x: jnp.isfinite(x).astype(F32),
    "isnan": lambda x: jnp.isnan(x).astype(F32),
    "lgamma": lax.lgamma,
    "log": jnp.log,
    "log1p": jnp.log1p,
    "log2": jnp.log2,
    "logistic": ricci.nn.sigmoid,
    "max, min": lambda x: jnp.maximum(x, 0) + jnp.minimum(x, 1),
    "max, min of integers": _ints(lambda i: jnp.maximum(i, 0) + jnp.minimum(i, 1)),
    "mul": lambda x: x * 3,
    "neg": lambda x: -x,
    "nextafter": lambda x: lax.nextafter(x, x + 1),
    "population_count": _ints(lax.population_count),
    "polynomial": lambda x: lax.polynomial(x, [1.0, 2.0, 3.0]),
    "pow": lambda x: x**2.5,
    "reciprocal": lambda x: pl.reciprocal(x),
    "reduce_precision": lambda x: lax.reduce_precision(x, 5, 10),
    "relu": ricci.nn.relu,
    "rem": lambda x: lax.rem(x, 2.0),
    "rem of integers": _ints(lambda i: lax.rem(i, 3)),
    "round": jnp.round,
    "round away from zero": lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
    "rsqrt": lax.rsqrt,
    "select": lambda x: jnp.where(x > 0, x, 0.0),
    "select of booleans": lambda x: jnp.where(x > 0, x < 1, x > -1).astype(F32),
    "shifts": _ints(
        lambda i: (
            lax.shift_left(i, 2) | lax.shift_right_logical(i, 1) | lax.shift_right_arithmetic(i, 3)
        )
    ),
    "sign": jnp.sign,
    "sign of integers": _ints(jnp.sign),
    "sin": jnp.sin,
    "sinh": jnp.sinh,
    "sqrt": jnp.sqrt,
    "square": jnp.square,
    "stop_gradient": lambda x: lax.stop_gradient(x),
    "sub": lambda x: x - 1,
    "tan": jnp.tan,
    "tanh": jnp.tanh,
    "where, three ways": lambda x: lax.select_n((x > 0).astype(I32) + (x > 1), x, 2 * x, 3 * x),
}

DTYPES = {
    "bfloat16": lambda x: (x.astype(BF16) * 2 + 1).astype(F32),
    "exp of bfloat16": lambda x: jnp.exp(x.astype(BF16)).astype(F32),
    "compare bfloat16": lambda x: (x.astype(BF16) > 1).astype(F32),
    "sum of bfloat16": lambda x: x.astype(BF16).sum(1, keepdims=True).astype(F32) + x,
    "float8_e4m3fn": lambda x: x.astype(jnp.float8_e4m3fn).astype(F32),
    "float8_e5m2": lambda x: x.astype(jnp.float8_e5m2).astype(F32),
    "int8": lambda x: x.astype(jnp.int8).astype(F32),
    "max of int8": lambda x: x.astype(jnp.int8).max(0, keepdims=True).astype(F32) + x,
    "scalar of bfloat16": lambda x: (x[0, 0].astype(BF16) * 2).astype(F32) + x,
    "arithmetic of int8": lambda x: (x.astype(jnp.int8) * 3 + 1).astype(F32),
    "int16": lambda x: x.astype(jnp.int16).astype(F32),
    "uint8": lambda x: x.astype(jnp.uint8).astype(F32),
    "uint32": lambda x: (x.astype(jnp.uint32) // 3 + (x.astype(jnp.uint32) < 2)).astype(F32),
    "bool": lambda x: x.astype(bool).astype(F32),
}


def _repacked(dtype, index, wide):
    """One of the arrays that are packed into words of a narrow dtype."""

    def function(x):
        lowest = 0 if wide == np.uint32 else 100
        numbers = (x * 300 - lowest).astype(wide)
        count = 32 // (16 if dtype == BF16 else jnp.iinfo(dtype).bits)
        words = pltpu.pack_elementwise([numbers * i for i in range(count)], packed_dtype=dtype)
        part = pltpu.unpack_elementwise(words, index=index, packed_dtype=dtype, unpacked_dtype=wide)
        return part.astype(F32)

    return function


def _rounded(x):
    bits = lax.broadcasted_iota(I32, x.shape, 1).astype(np.uint32) * 511
    return pltpu.stochastic_round(x, bits, target_dtype=BF16).astype(F32)


PACKING = {
    "pack bfloat16": _repacked(BF16, 1, F32),
    "pack int16": _repacked(np.int16, 1, I32),
    "pack int8": _repacked(np.int8, 2, I32),
    "pack uint8": _repacked(np.uint8, 3, np.uint32),
    "stochastic rounding": _rounded,
}

STRUCTURE = {
    "broadcast a row": lambda x: lax.broadcast_in_dim(x[0], (8, 128), (1,)) + x,
    "broadcast a column": lambda x: lax.broadcast_in_dim(x[:, 0], (8, 128), (0,)) + x,
    "concatenate": lambda x: jnp.concatenate([x, x], 0),
    "concatenate along lanes": lambda x: jnp.concatenate([x, x], 1),
    "dynamic_slice": lambda x: lax.dynamic_slice(x, (x[0, 0].astype(I32), 0), (4, 128)),
    "dynamic_slice along lanes": lambda x: lax.dynamic_slice(x, (0, x[0, 0].astype(I32)), (8, 16)),
    "dynamic_update_slice": lambda x: lax.dynamic_update_slice(x, x[:2], (x[0, 0].astype(I32), 0)),
    "element": lambda x: x[3, 4] + x,
    "expand and reduce": lambda x: (x[:, None, :] + jnp.zeros((8, 2, 128), F32)).sum(1),
    "iota": lambda x: _positions(0).astype(F32) + _positions(1) + x,
    "iota of rank 1": lambda x: lax.iota(I32, 128)[None].astype(F32) + x,
    "pad": lambda x: jnp.pad(x, ((0, 8), (0, 0))),
    "repeat": lambda x: jnp.repeat(x, 2, 0),
    "reshape": lambda x: x.reshape(2, 4, 128).reshape(8, 128),
    "reshape lanes": lambda x: x.reshape(16, 64),
    "rev": lambda x: x[::-1],
    "roll": lambda x: jnp.roll(x, 3, 1) + jnp.roll(x, 1, 0),
    "pltpu.bitcast": lambda x: pltpu.bitcast(pltpu.bitcast(x, BF16), F32),
    "pltpu.bitcast to int8": lambda x: pltpu.bitcast(x, jnp.int8).astype(F32),
    "pltpu.roll with strides": lambda x: pltpu.roll(x, 3, 1, stride=2, stride_axis=0),
    "pltpu.roll backwards": lambda x: pltpu.roll(x, -3, 0),
    "pltpu.roll": lambda x: pltpu.roll(x, 3, 1),
    "pltpu.roll, traced": lambda x: pltpu.roll(x, x[0, 0].astype(I32), 1),
    "scatter": lambda x: x.at[0].set(1.0),
    "scatter, adding": lambda x: x.at[x[0, 0].astype(I32), 3].add(2.0),
    "scatter out of bounds": lambda x: x.at[x[0, 0].astype(I32) + 9].max(2.0),
    "slice": lambda x: x[2:4],
    "slice lanes": lambda x: x[:, 3:100],
    "slice with steps": lambda x: x[::2],
    "split": lambda x: sum(jnp.split(x, 2, 0)),
    "stack": lambda x: jnp.stack([x, x]),
    "take_along_axis": lambda x: jnp.take_along_axis(x, _positions() ^ 1, 1),
    "tile": lambda x: jnp.tile(x, (2, 1)),
    "transpose": lambda x: x.T + jnp.ones((128, 8), F32),
    "transpose of booleans": lambda x: (x > 0).T.astype(F32),
    "transpose of rank 3": lambda x: x.reshape(2, 4, 128).transpose(1, 0, 2),
}

REDUCTIONS = {
    "all": lambda x: jnp.all(x > 0, 1, keepdims=True).astype(F32) + x,
    "any": lambda x: jnp.where(jnp.any(x > 0), x, 0.0),
    "argmax": lambda x: jnp.argmax(x, 1, keepdims=True).astype(F32) + x,
    "argmin of rows": lambda x: jnp.argmin(x, 0, keepdims=True).astype(F32) + x,
    "argmax of integers": lambda x: jnp.argmax(_integers(x), 1, keepdims=True).astype(F32) + x,
    "cumlogsumexp": lambda x: lax.cumlogsumexp(x, 0),
    "cummax": lambda x: lax.cummax(x, 0),
    "cummin along lanes": lambda x: lax.cummin(x, 1),
    "cumprod": lambda x: jnp.cumprod(x, 0),
    "cumsum": lambda x: jnp.cumsum(x, 0),
    "cumsum along lanes": lambda x: jnp.cumsum(x, 1),
    "layer norm": lambda x: (x - x.mean(1, keepdims=True)) * lax.rsqrt(x.var(1, keepdims=True)),
    "logsumexp": lambda x: ricci.nn.logsumexp(x, 1, keepdims=True) + x,
    "max": lambda x: x.max(1, keepdims=True) + x,
    "max of integers": lambda x: _integers(x).max(1, keepdims=True).astype(F32) + x,
    "min": lambda x: x.min(0, keepdims=True) + x,
    "prod": lambda x: jnp.prod(x, 0, keepdims=True) + x,
    "softmax": lambda x: ricci.nn.softmax(x, -1),
    "sort": lambda x: jnp.sort(x, 0),
    "sort along lanes": lambda x: jnp.sort(x, 1),
    "sort with values": lambda x: lax.sort_key_val(x, -x, dimension=0)[1],
    "sum of all": lambda x: x.sum() + x,
    "sum of columns": lambda x: x.sum(0, keepdims=True) + x,
    "sum of integers": lambda x: _integers(x).sum(1, keepdims=True).astype(F32) + x,
    "sum of rows": lambda x: x.sum(1, keepdims=True) + x,
    "top_k": lambda x: lax.top_k(x, 2)[0][:, :1] + x,
    "xor of rows": lambda x: lax.reduce_xor(_integers(x), (0,))[None].astype(F32) + x,
}

CONTRACTIONS = {
    "batched matmul": lambda x: jnp.einsum(
        "bij,bkj->bik", x.reshape(2, 4, 128), x.reshape(2, 4, 128)
    ),
    "conv": lambda x: lax.conv_general_dilated(
        x.reshape(1, 8, 128)[..., None] + jnp.zeros((1, 8, 128, 8)),
        jnp.ones((3, 3, 8, 8)),
        (1, 1),
        "SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )[0, :, :, 0],
    "dot of vectors": lambda x: jnp.dot(x[0], x[1]) + x,
    "matmul of two contracted dimensions": lambda x: lax.dot_general(
        x.reshape(2, 4, 128), x.reshape(2, 4, 128), (((1, 2), (1, 2)), ((), ()))
    ),
    "matmul, batched along the last dimension": lambda x: jnp.einsum("ij,kj,k->ik", x, x, x[0, :8]),
    "matmul": lambda x: jnp.dot(x, jnp.ones((128, 128), F32)),
    "matmul, bfloat16": lambda x: jnp.dot(
        x.astype(BF16), jnp.ones((128, 128), BF16), preferred_element_type=F32
    ),
    "matmul, highest precision": lambda x: jnp.dot(x, jnp.ones((128, 128)), precision="highest"),
    "matmul, int8": lambda x: (
        lax.dot_general(
            jnp.ones((32, 128), jnp.int8),
            jnp.ones((128, 128), jnp.int8),
            (((1,), (0,)), ((), ())),
            preferred_element_type=I32,
        )[:8].astype(F32)
        + x
    ),
    "matmul, transposed": lambda x: x @ x.T,
    "matmul, transposed left": lambda x: lax.dot_general(x, x, (((0,), (0,)), ((), ()))),
    "matrix by vector": lambda x: (x @ x[0])[:, None] + x,
}

CONTROL = {
    "debug_print": _printed,
    "cond": lambda x: lax.cond(x[0, 0] > 0, lambda a: a + 1, lambda a: a * 2, x),
    "cond of booleans": lambda x: lax.cond(x[0, 0] > 0, lambda a: a > 1, lambda a: a > 2, x).astype(
        F32
    ),
    "custom_vjp": lambda x: ricci.nn.relu6(x),
    "fori_loop": lambda x: lax.fori_loop(0, 5, lambda i, a: a + i, x),
    "fori_loop, traced bounds": lambda x: lax.fori_loop(
        0, x[0, 0].astype(I32), lambda i, a: a + i, x
    ),
    "fori_loop, unrolled": lambda x: lax.fori_loop(0, 3, lambda i, a: a + i, x, unroll=True),
    "grad": ricci.grad(lambda x: jnp.sum(jnp.sin(x) * x)),
    "jit": ricci.jit(jnp.sin),
    "map": lambda x: lax.map(lambda row: row * 2, x),
    "remat": ricci.grad(lambda x: ricci.checkpoint(jnp.sin)(x).sum()),
    "scan": lambda x: lax.scan(lambda c, _: (c * 2, None), x, None, length=3)[0],
    "scan over rows": lambda x: lax.scan(lambda c, row: (c + row, c), jnp.zeros(128, F32), x)[1],
    "switch": lambda x: lax.switch(
        x[0, 0].astype(I32), [lambda a: a + 1, lambda a: a * 2, lambda a: a - 1], x
    ),
    "vmap": ricci.vmap(lambda row: row - row.max()),
    "while_loop": lambda x: lax.while_loop(lambda a: a[0, 0] < 10.0, lambda a: a * 2, x),
}

GROUPS = {
    "Elementwise": ELEMENTWISE,
    "Data types": DTYPES,
    "Packing": PACKING,
    "Structure": STRUCTURE,
    "Reductions and sorting": REDUCTIONS,
    "Contractions": CONTRACTIONS,
    "Control flow": CONTROL,
}


def operation_kernel(function):
    """A kernel that applies a function to a block of shape (8, 128), and its operand's shape."""
    out = ricci.eval_shape(function, ricci.ShapeDtypeStruct((8, 128), np.float32))

    def kernel(x, out_ref):
        out_ref[...] = function(x[...])

    return pl.pallas_call(kernel, ricci.ShapeDtypeStruct(out.shape, out.dtype), name="operation")
