"""Whole kernels that are compiled for NVIDIA GPUs, each with the types of its operands."""

from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

import ricci
from ricci import lax
from ricci import numpy as jnp
from ricci.experimental import pallas as pl
from ricci.experimental.pallas import tpu as pltpu
from ricci.experimental.pallas import triton as plgpu

type Case = tuple[Callable[..., Any], list[Any]]

bf16, fp8, fp8_wide = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2


def array(*shape: int, dtype: Any = np.float32) -> Any:
    return ricci.ShapeDtypeStruct(shape, dtype)


def rows(*block: int) -> pl.BlockSpec:
    """Blocks along the first dimension."""
    return pl.BlockSpec(block, lambda i: (i, *(0,) * (len(block) - 1)))


def vector_add(length: int = 1000, dtype: Any = np.float32) -> Case:
    """Blocks of 256 over a length that they do not divide: the last one is masked."""

    def kernel(x, y, out):
        out[...] = x[...] + y[...]

    spec = rows(256)
    call = pl.pallas_call(
        kernel,
        array(length, dtype=dtype),
        grid=pl.cdiv(length, 256),
        in_specs=[spec, spec],
        out_specs=spec,
    )
    return call, [array(length, dtype=dtype)] * 2


def matmul(
    dtype: Any = np.float32,
    out: Any = np.float32,
    precision: Any = None,
    size: int = 256,
    tile: int = 64,
    depth: int = 32,
    warps: int = 4,
    stages: int = 3,
    **options: Any,
) -> Case:
    """A product of matrices: each program adds up one tile, along the contracted dimension."""

    def kernel(x, y, z):
        def body(k, total):
            a = x[:, pl.ds(k * depth, depth)]
            b = y[pl.ds(k * depth, depth), :]
            return total + plgpu.dot(a, b, precision=precision, **options).astype(total.dtype)

        wide = np.int32 if np.dtype(dtype) == np.int8 else np.float32
        wide = np.float64 if np.dtype(dtype) == np.float64 else wide
        total = lax.fori_loop(0, size // depth, body, jnp.zeros((tile, tile), wide))
        z[...] = total.astype(z.dtype)

    call = pl.pallas_call(
        kernel,
        array(size, size, dtype=out),
        grid=(size // tile, size // tile),
        in_specs=[
            pl.BlockSpec((tile, size), lambda i, j: (i, 0)),
            pl.BlockSpec((size, tile), lambda i, j: (0, j)),
        ],
        out_specs=pl.BlockSpec((tile, tile), lambda i, j: (i, j)),
        compiler_params=plgpu.CompilerParams(num_warps=warps, num_stages=stages),
    )
    return call, [array(size, size, dtype=dtype)] * 2


def quantized_matmul() -> Case:
    """int8 weights with a scale for each column, and bfloat16 activations."""

    def kernel(x, w, scale, out):
        def body(k, total):
            a = x[:, pl.ds(k * 32, 32)]
            b = w[pl.ds(k * 32, 32), :].astype(bf16)
            return total + jnp.dot(a, b, preferred_element_type=np.float32)

        total = lax.fori_loop(0, 4, body, jnp.zeros((64, 64), np.float32))
        out[...] = (total * scale[...][None, :]).astype(bf16)

    call = pl.pallas_call(
        kernel,
        array(128, 128, dtype=bf16),
        grid=(2, 2),
        in_specs=[
            pl.BlockSpec((64, 128), lambda i, j: (i, 0)),
            pl.BlockSpec((128, 64), lambda i, j: (0, j)),
            pl.BlockSpec((64,), lambda i, j: (j,)),
        ],
        out_specs=pl.BlockSpec((64, 64), lambda i, j: (i, j)),
    )
    return call, [array(128, 128, dtype=bf16), array(128, 128, dtype=np.int8), array(128)]


def small_products() -> Case:
    """Products that are too small for tensor cores, of vectors and of integers."""

    def kernel(x, v, n, out, count):
        out[...] = jnp.dot(x[...], v[...]) + jnp.dot(v[...], v[...])
        count[...] = jnp.dot(n[...], n[...])

    call = pl.pallas_call(kernel, (array(16), array(4, 4, dtype=np.int32)))
    return call, [array(16, 32), array(32), array(4, 4, dtype=np.int32)]


def batched_product() -> Case:
    def kernel(x, y, out):
        out[...] = jnp.einsum("bik,bkj->bij", x[...], y[...])

    return pl.pallas_call(kernel, array(2, 32, 32)), [array(2, 32, 32)] * 2


def softmax(columns: int = 1000) -> Case:
    """Rows of a width that is not a power of 2, by a mask."""
    width = pl.next_power_of_2(columns)

    def kernel(x, out):
        places = jnp.arange(width)
        inside = places < columns
        row = plgpu.load(x.at[0, places], mask=inside, other=-np.inf)
        weights = jnp.exp(row - jnp.max(row))
        plgpu.store(out.at[0, places], weights / jnp.sum(weights), mask=inside)

    spec = rows(1, columns)
    call = pl.pallas_call(kernel, array(4, columns), grid=4, in_specs=[spec], out_specs=spec)
    return call, [array(4, columns)]


def layer_norm(dtype: Any = np.float32) -> Case:
    def kernel(x, weight, bias, out):
        row = x[...].astype(np.float32)
        centered = row - row.mean(1, keepdims=True)
        scale = lax.rsqrt((centered * centered).mean(1, keepdims=True) + 1e-5)
        out[...] = (centered * scale * weight[...] + bias[...]).astype(dtype)

    call = pl.pallas_call(
        kernel,
        array(128, 256, dtype=dtype),
        grid=32,
        in_specs=[
            rows(4, 256),
            pl.BlockSpec((256,), lambda i: (0,)),
            pl.BlockSpec((256,), lambda i: (0,)),
        ],
        out_specs=rows(4, 256),
    )
    return call, [array(128, 256, dtype=dtype), array(256), array(256)]


def rms_norm() -> Case:
    def kernel(x, weight, out):
        row = x[...]
        out[...] = row * lax.rsqrt(jnp.mean(row**2, 1, keepdims=True) + 1e-6) * weight[...]

    call = pl.pallas_call(
        kernel,
        array(64, 512),
        grid=16,
        in_specs=[rows(4, 512), pl.BlockSpec((512,), lambda i: (0,))],
        out_specs=rows(4, 512),
    )
    return call, [array(64, 512), array(512)]


def _attention_weights(q, k, scale, is_causal, row, column):
    scores = jnp.dot(q, k.T, preferred_element_type=np.float32) * scale
    if is_causal:
        rows_of = row + lax.broadcasted_iota(np.int32, scores.shape, 0)
        columns_of = column + lax.broadcasted_iota(np.int32, scores.shape, 1)
        scores = jnp.where(rows_of >= columns_of, scores, -1e30)
    return scores


def flash_attention(is_causal: bool = True, dtype: Any = np.float16, tile: int = 64) -> Case:
    """Attention with a running maximum and sum, tile by tile."""
    heads, length, depth = 4, 256, 64

    def kernel(q, k, v, out, log_sums):
        queries = q[...]
        start = pl.program_id(1) * tile

        def body(j, carry):
            total, largest, weight_sum = carry
            keys = k[pl.ds(j * tile, tile), :]
            scores = _attention_weights(queries, keys, 0.125, is_causal, start, j * tile)
            larger = jnp.maximum(largest, scores.max(1))
            weights = jnp.exp(scores - larger[:, None])
            shrink = jnp.exp(largest - larger)
            values = v[pl.ds(j * tile, tile), :]
            added = jnp.dot(weights.astype(dtype), values, preferred_element_type=np.float32)
            return total * shrink[:, None] + added, larger, weight_sum * shrink + weights.sum(1)

        initial = (
            jnp.zeros((tile, depth), np.float32),
            jnp.full(tile, -np.inf, np.float32),
            jnp.zeros(tile, np.float32),
        )
        count = pl.program_id(1) + 1 if is_causal else length // tile
        total, largest, weight_sum = lax.fori_loop(0, count, body, initial)
        out[...] = (total / weight_sum[:, None]).astype(dtype)
        log_sums[...] = largest + jnp.log(weight_sum)

    queries = pl.BlockSpec((None, tile, depth), lambda h, i: (h, i, 0))
    whole = pl.BlockSpec((None, length, depth), lambda h, i: (h, 0, 0))
    call = pl.pallas_call(
        kernel,
        (array(heads, length, depth, dtype=dtype), array(heads, length)),
        grid=(heads, length // tile),
        in_specs=[queries, whole, whole],
        out_specs=(queries, pl.BlockSpec((None, tile), lambda h, i: (h, i))),
        compiler_params=plgpu.CompilerParams(num_warps=4, num_stages=2),
        name="flash_attention",
    )
    return call, [array(heads, length, depth, dtype=dtype)] * 3


def flash_attention_backward(tile: int = 32) -> Case:
    """The gradients with respect to keys and values."""
    heads, length, depth = 2, 128, 64

    def kernel(q, k, v, d_out, log_sums, deltas, dk, dv):
        keys, values = k[...], v[...]

        def body(i, carry):
            d_keys, d_values = carry
            part = pl.ds(i * tile, tile)
            queries, d_rows = q[part, :], d_out[part, :]
            scores = _attention_weights(
                queries, keys, 0.125, True, i * tile, pl.program_id(1) * tile
            )
            weights = jnp.exp(scores - log_sums[part][:, None])
            d_values += jnp.dot(weights.T, d_rows)
            d_weights = jnp.dot(d_rows, values.T)
            d_scores = weights * (d_weights - deltas[part][:, None]) * 0.125
            return d_keys + jnp.dot(d_scores.T, queries), d_values

        zeros = jnp.zeros((tile, depth), np.float32)
        d_keys, d_values = lax.fori_loop(pl.program_id(1), length // tile, body, (zeros, zeros))
        dk[...], dv[...] = d_keys, d_values

    part = pl.BlockSpec((None, tile, depth), lambda h, j: (h, j, 0))
    whole = pl.BlockSpec((None, length, depth), lambda h, j: (h, 0, 0))
    vector = pl.BlockSpec((None, length), lambda h, j: (h, 0))
    like = array(heads, length, depth)
    call = pl.pallas_call(
        kernel,
        (like, like),
        grid=(heads, length // tile),
        in_specs=[whole, part, part, whole, vector, vector],
        out_specs=(part, part),
    )
    return call, [like] * 4 + [array(heads, length)] * 2


def embedding() -> Case:
    """Rows of a table at positions that are read from memory."""

    def kernel(positions, table, out):
        out[...] = table[positions[...], :]

    call = pl.pallas_call(
        kernel,
        array(128, 64),
        grid=8,
        in_specs=[rows(16), pl.BlockSpec((1000, 64), lambda i: (0, 0))],
        out_specs=rows(16, 64),
    )
    return call, [array(128, dtype=np.int32), array(1000, 64)]


def histogram() -> Case:
    """Counts that all programs add to at once, into a result that begins as zeros."""

    def kernel(x, zeros, counts):
        plgpu.atomic_add(counts, (x[...],), 1)

    call = pl.pallas_call(
        kernel,
        array(16, dtype=np.int32),
        grid=4,
        in_specs=[rows(64), pl.BlockSpec((16,), lambda i: (0,))],
        out_specs=pl.BlockSpec((16,), lambda i: (0,)),
        input_output_aliases={1: 0},
    )
    return call, [array(256, dtype=np.int32), array(16, dtype=np.int32)]


def atomics(dtype: Any = np.int32) -> Case:
    """Each of the atomic operations."""

    def kernel(x, total, out):
        value = x[...]
        place = (pl.ds(0, 16),)
        old = plgpu.atomic_add(out, place, value)
        plgpu.atomic_max(out, place, value, mask=value > 1)
        old += plgpu.atomic_min(out, place, value)
        old += plgpu.atomic_xchg(out, place, value)
        if np.issubdtype(dtype, np.integer):
            old += plgpu.atomic_and(out, place, value)
            old += plgpu.atomic_or(out, place, value)
            old += plgpu.atomic_xor(out, place, value)
            old += plgpu.atomic_cas(out.at[0], 3, 4)
        plgpu.atomic_add(out, (0,), jnp.sum(old))

    call = pl.pallas_call(
        kernel,
        array(16, dtype=dtype),
        grid=4,
        in_specs=[rows(16), pl.BlockSpec((16,), lambda i: (0,))],
        out_specs=pl.BlockSpec((16,), lambda i: (0,)),
        input_output_aliases={1: 0},
    )
    return call, [array(64, dtype=dtype), array(16, dtype=dtype)]


def prefetched_order() -> Case:
    """Blocks in an order that the index map reads."""

    def kernel(order, x, out):
        out[...] = x[...] * order[pl.program_id(0)].astype(np.float32)

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(4,),
        in_specs=[pl.BlockSpec((8, 16), lambda i, order: (order[i], 0))],
        out_specs=pl.BlockSpec((8, 16), lambda i, order: (i, 0)),
    )
    call = pl.pallas_call(kernel, array(32, 16), grid_spec=spec)
    return call, [array(4, dtype=np.int32), array(32, 16)]


def batched_orders() -> Case:
    """A batch of kernels whose index maps read their own order."""
    call, (order, x) = prefetched_order()
    return ricci.vmap(ricci.vmap(call, (0, None))), [
        array(2, 4, *order.shape, dtype=np.int32),
        array(2, *x.shape),
    ]


def windows() -> Case:
    """Overlapping windows with padding at both ends."""

    def kernel(x, out):
        out[...] = x[...] * 2

    call = pl.pallas_call(
        kernel,
        array(40),
        grid=10,
        in_specs=[pl.BlockSpec((pl.Element(4, padding=(1, 1)),), lambda i: (i * 2,))],
        out_specs=rows(4),
    )
    return call, [array(20)]


def indices() -> Case:
    """Every kind of index: one position, static and dynamic windows, strides, arrays, views."""

    def kernel(x, out):
        i = pl.program_id(0)
        out[0, :] = x[-1, pl.ds(0, 16)]
        out[1, pl.ds(0, 8)] = x[i, pl.ds(i, 8, 2)]
        out[2, 0] = x[i, i]
        places = lax.broadcasted_iota(np.int32, (16,), 0)
        out[3, places] = x[places, places + i]
        view = x.at[pl.ds(2, 4)].at[i, pl.ds(4, 16)]
        out[4, :] = view[...]
        out[pl.ds(5, 2), :] = x[pl.ds(5, 2), pl.ds(i * 2, 16)]

    call = pl.pallas_call(
        kernel,
        array(3, 8, 16),
        grid=3,
        in_specs=[pl.no_block_spec],
        out_specs=pl.BlockSpec((None, 8, 16), lambda i: (i, 0, 0)),
    )
    return call, [array(16, 64)]


def control_flow() -> Case:
    """Branches, loops that count, loops with conditions, loops in loops."""

    def kernel(x, out):
        i = pl.program_id(0)
        value = x[...]

        @pl.when(i == 0)
        def _():
            out[...] = value * 2

        @pl.when(i > 0)
        def _():
            branches = [lambda: value, lambda: value + 1, lambda: jnp.sin(value)]
            out[...] = lax.switch(i, branches)

        @pl.loop(0, i + 1)
        def _(j):
            out[...] = out[...] + j.astype(np.float32)

        grown = lax.while_loop(lambda v: jnp.sum(v) < 100, lambda v: v * 2 + 1, value)
        nested = lax.fori_loop(
            0, 3, lambda a, t: lax.fori_loop(a, 5, lambda b, u: u + b * value, t), grown
        )
        out[...] = out[...] + lax.cond(jnp.max(nested) > 0, jnp.exp, jnp.cos, nested)

    call = pl.pallas_call(kernel, array(96), grid=3, in_specs=[rows(32)], out_specs=rows(32))
    return call, [array(96)]


def four_axes() -> Case:
    """A grid of more axes than the device's."""

    def kernel(x, out):
        out[...] = x[...] + (pl.program_id(3) * pl.num_programs(1)).astype(np.float32)

    spec = pl.BlockSpec((None, None, None, 8), lambda a, b, c, d: (a, b, c, d))
    call = pl.pallas_call(
        kernel, array(2, 3, 4, 40), grid=(2, 3, 4, 5), in_specs=[spec], out_specs=spec
    )
    return call, [array(2, 3, 4, 40)]


def batched() -> Case:
    """A batch, which is an axis of the grid."""
    call, (x, y) = vector_add()
    return ricci.vmap(call), [array(5, *x.shape), array(5, *y.shape)]


def aliased() -> Case:
    """A result in the buffer of an operand, of which a part is written."""

    def kernel(x, out):
        out[pl.ds(pl.program_id(0) * 16, 16)] = x[pl.ds(pl.program_id(0) * 16, 16)] + 1

    call = pl.pallas_call(kernel, array(64), grid=2, input_output_aliases={0: 0})
    return call, [array(64)]


def captured() -> Case:
    """An array that the kernel closes over."""
    weights = jnp.arange(32.0, dtype=np.float32)

    def kernel(x, out):
        out[...] = x[...] * weights

    return pl.pallas_call(kernel, array(32)), [array(32)]


def masks() -> Case:
    """Bools in memory, hints of loads and stores."""

    def kernel(x, mask, out, signs):
        value = plgpu.load(
            x.at[pl.ds(0, 32)],
            mask=mask[...],
            other=0.0,
            cache_modifier=".cg",
            eviction_policy="evict_last",
            volatile=True,
        )
        plgpu.store(out.at[pl.ds(0, 32)], value, mask=mask[...], eviction_policy="evict_first")
        signs[...] = value < 0

    call = pl.pallas_call(kernel, (array(32), array(32, dtype=np.bool_)))
    return call, [array(32), array(32, dtype=np.bool_)]


def activations() -> Case:
    def kernel(x, out):
        value = x[...]
        nn = ricci.nn
        out[...] = nn.gelu(nn.relu(value)) + nn.silu(value) + nn.softplus(value) + nn.elu(value)

    return pl.pallas_call(kernel, array(64, dtype=bf16)), [array(64, dtype=bf16)]


def derivative_inside() -> Case:
    """A gradient that the kernel itself takes."""

    def kernel(x, out):
        out[...] = ricci.grad(lambda v: jnp.sum(jnp.tanh(v) * v))(x[...])

    return pl.pallas_call(kernel, array(64)), [array(64)]


def cumulative_scan() -> Case:
    """A linear recurrence by blocks of rows, and a running sum."""

    def kernel(x, out):
        def body(t, state):
            state = state * 0.9 + x[t, :]
            out[t, :] = state
            return state

        lax.fori_loop(0, 32, body, jnp.zeros(16, np.float32))
        out[...] = jnp.cumsum(out[...], 0)

    return pl.pallas_call(kernel, array(32, 16)), [array(32, 16)]


def dropout() -> Case:
    """Random bits by Threefry, from a counter."""

    def kernel(seed, x, out):
        count = (pl.program_id(0) * 64 + lax.broadcasted_iota(np.int32, (64,), 0)).astype(np.uint32)
        key = seed[0].astype(np.uint32)
        bits = count * np.uint32(2654435761) ^ key
        bits = bits ^ (bits >> 15)
        out[...] = jnp.where(bits < np.uint32(2**31), x[...] * 2, 0.0)

    call = pl.pallas_call(
        kernel,
        array(256),
        grid=4,
        in_specs=[pl.BlockSpec((1,), lambda i: (0,)), rows(64)],
        out_specs=rows(64),
    )
    return call, [array(1, dtype=np.int32), array(256)]


def conditional_blocks() -> Case:
    """Grouped products: the group of each tile of rows is read by the index map."""

    def kernel(groups, x, w, out):
        out[...] = jnp.dot(x[...], w[...], preferred_element_type=np.float32).astype(bf16)

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(4, 2),
        in_specs=[
            pl.BlockSpec((32, 64), lambda i, j, g: (i, 0)),
            pl.BlockSpec((None, 64, 32), lambda i, j, g: (g[i], 0, j)),
        ],
        out_specs=pl.BlockSpec((32, 32), lambda i, j, g: (i, j)),
    )
    call = pl.pallas_call(kernel, array(128, 64, dtype=bf16), grid_spec=spec)
    return call, [
        array(4, dtype=np.int32),
        array(128, 64, dtype=bf16),
        array(4, 64, 64, dtype=bf16),
    ]


def decode_attention() -> Case:
    """One query for many keys, in parts that are combined afterwards."""

    def kernel(q, k, v, out, largest, total):
        scores = jnp.sum(k[...] * q[...], 1) * 0.125
        most = jnp.max(scores)
        weights = jnp.exp(scores - most)
        out[...] = jnp.sum(weights[:, None] * v[...], 0, keepdims=True)
        largest[...] = jnp.full(1, most)
        total[...] = jnp.full(1, jnp.sum(weights))

    part = pl.BlockSpec((64, 64), lambda i: (i, 0))
    one = pl.BlockSpec((1,), lambda i: (i,))
    call = pl.pallas_call(
        kernel,
        (array(8, 64), array(8), array(8)),
        grid=8,
        in_specs=[pl.BlockSpec((1, 64), lambda i: (0, 0)), part, part],
        out_specs=(pl.BlockSpec((1, 64), lambda i: (i, 0)), one, one),
    )
    return call, [array(1, 64), array(512, 64), array(512, 64)]


KERNELS: dict[str, Callable[[], Case]] = {
    "vector_add": vector_add,
    "vector_add, bfloat16": partial(vector_add, dtype=bf16),
    "matmul, float32 (tf32)": matmul,
    "matmul, float32 (ieee)": partial(matmul, precision=lax.Precision.HIGHEST),
    "matmul, float32 (tf32x3)": partial(matmul, precision="TF32_TF32_F32_X3"),
    "matmul, float32 (bf16x3)": partial(matmul, precision="BF16_BF16_F32_X3"),
    "matmul, allow_tf32=False": partial(matmul, allow_tf32=False),
    "matmul, bfloat16": partial(matmul, bf16, bf16),
    "matmul, float16": partial(matmul, np.float16, np.float16),
    "matmul, float8_e4m3fn": partial(matmul, fp8, np.float32),
    "matmul, float8_e5m2": partial(matmul, fp8_wide, np.float32),
    "matmul, int8": partial(matmul, np.int8, np.int32),
    "matmul, float64": partial(matmul, np.float64, np.float64, tile=32),
    "matmul, tiles of 128, 8 warps": partial(
        matmul, bf16, bf16, tile=128, depth=64, warps=8, stages=4
    ),
    "matmul, transposed": partial(matmul, bf16, np.float32, trans_b=True, tile=32, depth=32),
    "quantized_matmul": quantized_matmul,
    "small_products": small_products,
    "batched_product": batched_product,
    "softmax": softmax,
    "layer_norm": layer_norm,
    "layer_norm, bfloat16": partial(layer_norm, bf16),
    "rms_norm": rms_norm,
    "flash_attention": flash_attention,
    "flash_attention, bfloat16, not causal": partial(flash_attention, False, bf16),
    "flash_attention_backward": flash_attention_backward,
    "decode_attention": decode_attention,
    "embedding": embedding,
    "histogram": histogram,
    "atomics, int32": atomics,
    "atomics, uint32": partial(atomics, np.uint32),
    "atomics, float32": partial(atomics, np.float32),
    "prefetched_order": prefetched_order,
    "batched_orders": batched_orders,
    "grouped products": conditional_blocks,
    "windows": windows,
    "indices": indices,
    "control_flow": control_flow,
    "four_axes": four_axes,
    "batched": batched,
    "aliased": aliased,
    "captured": captured,
    "masks": masks,
    "activations": activations,
    "derivative_inside": derivative_inside,
    "cumulative_scan": cumulative_scan,
    "dropout": dropout,
}
