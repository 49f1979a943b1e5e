"""Kernels that are compiled for TPUs, each with the shapes of its operands."""

import numpy as np

import ricci
import ricci.numpy as jnp
from ricci import ShapeDtypeStruct, lax
from ricci.experimental import pallas as pl
from ricci.experimental.pallas import tpu as pltpu

F32, I32, BF16, I8 = jnp.float32, jnp.int32, jnp.bfloat16, jnp.int8
ROWS = pl.BlockSpec((8, 128), lambda i: (i, 0))
ANY = pl.BlockSpec(memory_space=pl.ANY)
SMEM = pl.BlockSpec(memory_space=pltpu.SMEM)
KERNELS = {}


def kernel(name, *operands):
    """Add a function of arrays of some shapes and dtypes (by default float32) to the table."""
    types = [x if isinstance(x[0], tuple) else (x, F32) for x in operands]

    def add(function):
        KERNELS[name] = (function, tuple([ShapeDtypeStruct(*x) for x in types]))
        return function

    return add


def call(body, shape, dtype=F32, **options):
    return pl.pallas_call(body, ShapeDtypeStruct(shape, dtype), **options)


def rows(body, count=4, inputs=1, **options):
    """A call over blocks of rows, of one output."""
    return call(
        body, (8 * count, 128), grid=count, in_specs=[ROWS] * inputs, out_specs=ROWS, **options
    )


@kernel("add", (32, 128), (32, 128))
def _add(x, y):
    def body(x, y, out):
        out[...] = x[...] + y[...]

    params = pltpu.CompilerParams(dimension_semantics=("parallel",))
    return rows(body, inputs=2, compiler_params=params)(x, y)


def matmul(x, y, tile=(128, 128, 128), dtype=F32):
    (m, k), (_, n) = x.shape, y.shape
    a, b, c = tile

    def body(x, y, out, total):
        @pl.when(pl.program_id(2) == 0)
        def _():
            total[...] = jnp.zeros_like(total)

        total[...] += jnp.dot(x[...], y[...], preferred_element_type=F32)

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def _():
            out[...] = total[...].astype(out.dtype)

    return call(
        body,
        (m, n),
        dtype,
        grid=(m // a, n // b, k // c),
        in_specs=[
            pl.BlockSpec((a, c), lambda i, j, k: (i, k)),
            pl.BlockSpec((c, b), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((a, b), lambda i, j, k: (i, j)),
        scratch_shapes=[pltpu.VMEM((a, b), F32)],
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "parallel", "arbitrary")
        ),
        cost_estimate=pl.CostEstimate(2 * m * n * k, 0, 4 * (m * k + k * n + m * n)),
    )(x, y)


kernel("matmul", (256, 256), (256, 256))(matmul)
kernel("matmul in bfloat16", ((256, 512), BF16), ((512, 256), BF16))(
    lambda x, y: matmul(x, y, dtype=BF16)
)
kernel("vmap of a matmul", (3, 128, 128), (3, 128, 128))(ricci.vmap(matmul))


@kernel("prefetched permutation of blocks", ((4,), I32), (32, 128))
def _prefetch(order, x):
    def body(order, x, out):
        out[...] = x[...] + order[pl.program_id(0)].astype(F32)

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=4,
        in_specs=[pl.BlockSpec((8, 128), lambda i, order: (order[i], 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i, order: (i, 0)),
    )
    return call(body, (32, 128), grid_spec=spec)(order, x)


kernel("vmap of prefetched permutations", ((2, 4), I32), (2, 32, 128))(
    lambda order, x: ricci.vmap(_prefetch)(order % 4, x)
)
kernel("vmap of prefetched permutations of one array", ((2, 3, 4), I32), (32, 128))(
    lambda order, x: ricci.vmap(ricci.vmap(_prefetch, (0, None)), (0, None))(order % 4, x)
)


def flash_attention(q, k, v, block=128, causal=True):
    length, width = q.shape

    def body(q, k, v, out, top, total, acc):
        i, j = pl.program_id(0), pl.program_id(1)

        @pl.when(j == 0)
        def _():
            top[...] = jnp.full_like(top, -jnp.inf)
            total[...] = jnp.zeros_like(total)
            acc[...] = jnp.zeros_like(acc)

        @pl.when((j <= i) if causal else (j >= 0))
        def _():
            scores = lax.dot_general(q[...], k[...], (((1,), (1,)), ((), ()))) * width**-0.5
            if causal:
                rows = i * block + lax.broadcasted_iota(I32, scores.shape, 0)
                columns = j * block + lax.broadcasted_iota(I32, scores.shape, 1)
                scores = jnp.where(columns <= rows, scores, -1e30)
            new_top = jnp.maximum(top[...], scores.max(1, keepdims=True))
            weights = jnp.exp(scores - new_top)
            scale = jnp.exp(top[...] - new_top)
            total[...] = total[...] * scale + weights.sum(1, keepdims=True)
            acc[...] = acc[...] * scale + jnp.dot(weights, v[...])
            top[...] = new_top

        @pl.when(j == pl.num_programs(1) - 1)
        def _():
            out[...] = acc[...] / total[...]

    across = pl.BlockSpec((block, width), lambda i, j: (i, 0))
    along = pl.BlockSpec((block, width), lambda i, j: (j, 0))
    steps = length // block
    return call(
        body,
        (length, width),
        grid=(steps, steps),
        in_specs=[across, along, along],
        out_specs=across,
        scratch_shapes=[
            pltpu.VMEM((block, 1), F32),
            pltpu.VMEM((block, 1), F32),
            pltpu.VMEM((block, width), F32),
        ],
    )(q, k, v)


kernel("flash attention, causal", *[(256, 128)] * 3)(flash_attention)
kernel("flash attention of heads", *[(2, 256, 128)] * 3)(
    ricci.vmap(lambda q, k, v: flash_attention(q, k, v, causal=False))
)


@kernel("softmax", (32, 256))
def _softmax(x):
    def body(x, out):
        e = jnp.exp(x[...] - x[...].max(1, keepdims=True))
        out[...] = e / e.sum(1, keepdims=True)

    spec = pl.BlockSpec((8, 256), lambda i: (i, 0))
    return call(body, (32, 256), grid=4, in_specs=[spec], out_specs=spec)(x)


@kernel("layer norm with weights", (32, 256), (1, 256), (1, 256))
def _layer_norm(x, scale, bias):
    def body(x, scale, bias, out):
        centered = x[...] - x[...].mean(1, keepdims=True)
        variance = (centered * centered).mean(1, keepdims=True)
        out[...] = centered * lax.rsqrt(variance + 1e-5) * scale[...] + bias[...]

    spec, whole = pl.BlockSpec((8, 256), lambda i: (i, 0)), pl.BlockSpec((1, 256), lambda i: (0, 0))
    return call(body, (32, 256), grid=4, in_specs=[spec, whole, whole], out_specs=spec)(
        x, scale, bias
    )


@kernel("RMS norm in bfloat16", ((32, 256), BF16))
def _rms_norm(x):
    def body(x, out):
        wide = x[...].astype(F32)
        mean = (wide * wide).mean(1, keepdims=True)
        out[...] = (wide * lax.rsqrt(mean + 1e-6)).astype(BF16)

    spec = pl.BlockSpec((16, 256), lambda i: (i, 0))
    return call(body, (32, 256), BF16, grid=2, in_specs=[spec], out_specs=spec)(x)


@kernel("two outputs", (32, 128))
def _two_outputs(x):
    def body(x, low, high):
        low[...], high[...] = jnp.minimum(x[...], 0), jnp.maximum(x[...], 0)

    outs = [ShapeDtypeStruct((32, 128), F32)] * 2
    return pl.pallas_call(body, outs, grid=4, in_specs=[ROWS], out_specs=[ROWS, ROWS])(x)


@kernel("aliased input", (32, 128))
def _alias(x):
    def body(x, out):
        out[...] = x[...] + 1

    return rows(body, input_output_aliases={0: 0})(x)


@kernel("squeezed dimension", (3, 32, 128))
def _squeezed(x):
    def body(x, out):
        out[...] = x[...] * pl.program_id(0)

    spec = pl.BlockSpec((None, 8, 128), lambda i, j: (i, j, 0))
    return call(body, (3, 32, 128), grid=(3, 4), in_specs=[spec], out_specs=spec)(x)


@kernel("windows that overlap", (40, 128))
def _element(x):
    def body(x, out):
        out[...] = x[0:8] + x[8:16]

    spec = pl.BlockSpec((pl.Element(16), pl.Element(128)), lambda i: (i * 8, 0))
    return call(body, (32, 128), grid=4, in_specs=[spec], out_specs=ROWS)(x)


@kernel("padded windows", (32, 128))
def _padded(x):
    def body(x, out):
        out[...] = x[...]

    spec = pl.BlockSpec((pl.Element(8, (0, 8)), pl.Element(128)), lambda i: (i * 8, 0))
    return call(body, (32, 128), grid=4, in_specs=[spec], out_specs=ROWS)(x)


@kernel("single buffer", (32, 128), (8, 128))
def _single(x, y):
    def body(x, y, out):
        out[...] = x[...] + y[...]

    same = pl.BlockSpec((8, 128), lambda i: (0, 0), pipeline_mode=pl.Buffered(1))
    return call(body, (32, 128), grid=4, in_specs=[ROWS, same], out_specs=ROWS)(x, y)


@kernel("traced grid", ((), I32), (32, 128))
def _dynamic_grid(n, x):
    def body(x, out):
        out[...] = x[...] * pl.num_programs(0)

    return call(body, (32, 128), grid=(n,), in_specs=[ROWS], out_specs=ROWS)(x)


@kernel("blocks of rank 1", (4096,))
def _rank_1(x):
    def body(x, out):
        out[...] = x[...] * 2

    spec = pl.BlockSpec((1024,), lambda i: (i,))
    return call(body, (4096,), grid=4, in_specs=[spec], out_specs=spec)(x)


@kernel("blocks that do not divide", (20, 130))
def _ragged(x):
    def body(x, out):
        out[...] = jnp.sqrt(x[...])

    spec = pl.BlockSpec((8, 128), lambda i, j: (i, j))
    return call(body, (20, 130), grid=(3, 2), in_specs=[spec], out_specs=spec)(x)


@kernel("booleans", ((8, 128), jnp.bool_))
def _booleans(x):
    def body(x, out):
        out[...] = ~x[...]

    return call(body, (8, 128), jnp.bool_)(x)


@kernel("scalar memory", (4,), (32, 128))
def _scalar_memory(scale, x):
    def body(scale, x, out, total):
        out[...] = x[...] * scale[pl.program_id(0)]
        total[0] = scale[0] + scale[1]

    outs = [ShapeDtypeStruct((32, 128), F32), ShapeDtypeStruct((2,), F32)]
    return pl.pallas_call(body, outs, grid=4, in_specs=[SMEM, ROWS], out_specs=[ROWS, SMEM])(
        scale, x
    )


@kernel("counter in scratch", (32, 128))
def _counter(x):
    def body(x, out, count):
        @pl.when(pl.program_id(0) == 0)
        def _():
            count[0] = 0

        count[0] = count[0] + 1
        out[...] = x[...] + count[0].astype(F32)

    return rows(body, scratch_shapes=[pltpu.SMEM((1,), I32)])(x)


@kernel("prefix sum across steps", (32, 128))
def _prefix_sum(x):
    def body(x, out, carry):
        @pl.when(pl.program_id(0) == 0)
        def _():
            carry[...] = jnp.zeros_like(carry)

        total = jnp.cumsum(x[...], 0) + carry[...]
        out[...] = total
        carry[...] = total[7:8]

    return rows(body, scratch_shapes=[pltpu.VMEM((1, 128), F32)])(x)


@kernel("rows in a loop", (32, 128))
def _loop(x):
    def body(x, out):
        @pl.loop(0, 8)
        def _(i):
            out[pl.ds(i, 1), :] = x[pl.ds(7 - i, 1), :]

    return rows(body)(x)


@kernel("rows with steps", (16, 128))
def _strided(x):
    def body(x, out):
        out[0:8] = x[pl.ds(0, 8, 2), :]
        out[pl.ds(8, 8), :] = x[pl.ds(1, 8, 2), :]

    return call(body, (16, 128))(x)


@kernel("addupdate", (32, 128))
def _addupdate(x):
    def body(x, out):
        @pl.when(pl.program_id(0) == 0)
        def _():
            out[...] = jnp.zeros_like(out)

        ricci.ref.addupdate(out, ..., x[...])

    whole = pl.BlockSpec((8, 128), lambda i: (0, 0))
    return call(body, (8, 128), grid=4, in_specs=[ROWS], out_specs=whole)(x)


@kernel("masked store", (32, 128))
def _masked(x):
    def body(x, out):
        out[...] = jnp.zeros_like(out)
        pltpu.store(out, x[...], mask=x[...] > 0)

    return rows(body)(x)


@kernel("masked store in bfloat16", ((32, 128), BF16))
def _masked_narrow(x):
    def body(x, out):
        out[...] = jnp.zeros_like(out)
        pltpu.store(out, x[...], mask=x[...].astype(F32) > 0.5)

    spec = pl.BlockSpec((16, 128), lambda i: (i, 0))
    return call(body, (32, 128), BF16, grid=2, in_specs=[spec], out_specs=spec)(x)


@kernel("buffers in a scope", (8, 128))
def _scoped(x):
    def body(x, out):
        def inner(buffer, count):
            count[0] = jnp.int32(3)
            buffer[...] = x[...] * 2
            out[...] = buffer[...] + count[0].astype(F32)

        pl.run_scoped(inner, pltpu.VMEM((8, 128), F32), pltpu.SMEM((1,), I32))

    return call(body, (8, 128))(x)


@kernel("scope with a result", (8, 128))
def _scoped_result(x):
    def body(x, out):
        def inner(buffer):
            buffer[...] = x[...] * 2
            return buffer[...] + 1

        out[...] = pl.run_scoped(inner, pltpu.VMEM((8, 128), F32))

    return call(body, (8, 128))(x)


@kernel("copy by hand", (32, 128))
def _copy(x):
    def body(x, out, buffer, sem):
        copy = pltpu.make_async_copy(x.at[pl.ds(pl.program_id(0) * 8, 8)], buffer, sem)
        copy.start()
        copy.wait()
        out[...] = buffer[...] * 2

    return call(
        body,
        (32, 128),
        grid=4,
        in_specs=[ANY],
        out_specs=ROWS,
        scratch_shapes=[pltpu.VMEM((8, 128), F32), pltpu.SemaphoreType.DMA],
    )(x)


@kernel("two buffers by hand", (32, 128))
def _double_buffer(x):
    def body(x, out, buffers, sems):
        def copy(i, slot):
            return pltpu.make_async_copy(x.at[pl.ds(i * 8, 8)], buffers.at[slot], sems.at[slot])

        copy(0, 0).start()
        total = jnp.zeros((8, 128), F32)
        for i in range(4):
            if i < 3:
                copy(i + 1, (i + 1) % 2).start()
            copy(i, i % 2).wait()
            total += buffers[i % 2]
        out[...] = total

    return call(
        body,
        (8, 128),
        in_specs=[ANY],
        scratch_shapes=[pltpu.VMEM((2, 8, 128), F32), pltpu.SemaphoreType.DMA((2,))],
    )(x)


@kernel("copy between arrays in HBM", (2, 8, 128))
def _copy_hbm(x):
    def body(x, out):
        pltpu.sync_copy(x.at[0], out.at[1])
        pltpu.sync_copy(x.at[1], out.at[0])

    return call(body, (2, 8, 128), in_specs=[ANY], out_specs=ANY)(x)


@kernel("semaphores", (8, 128))
def _semaphores(x):
    def body(x, out, sem):
        pl.semaphore_signal(sem, 2)
        pl.semaphore_wait(sem, 2, decrement=False)
        pl.semaphore_wait(sem, 1)
        out[...] = x[...] + pl.semaphore_read(sem).astype(F32)
        pl.semaphore_wait(sem, 1)

    return call(body, (8, 128), scratch_shapes=[pltpu.SemaphoreType.REGULAR])(x)


@kernel("emit_pipeline", (64, 128), (64, 128))
def _pipeline(x, y):
    def body(x, y, out):
        out[...] = x[...] + y[...] * pl.program_id(0)

    def outer(x, y, out):
        pltpu.emit_pipeline(body, grid=(8,), in_specs=[ROWS, ROWS], out_specs=[ROWS])(x, y, out)

    return call(outer, (64, 128), in_specs=[ANY, ANY], out_specs=ANY)(x, y)


@kernel("gather of rows by prefetched positions", ((8,), I32), (64, 128))
def _gather(places, table):
    def body(places, table, out):
        @pl.loop(0, 8)
        def _(i):
            out[pl.ds(i, 1), :] = table[pl.ds(places[i], 1), :]

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=1,
        in_specs=[pl.BlockSpec((64, 128), lambda i, s: (0, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i, s: (0, 0)),
    )
    return call(body, (8, 128), grid_spec=spec)(places, table)


@kernel("quantized matmul", ((128, 256), I8), ((256, 128), I8), (1, 128))
def _quantized(x, y, scale):
    def body(x, y, scale, out):
        product = jnp.dot(x[...], y[...], preferred_element_type=I32)
        out[...] = product.astype(F32) * scale[...]

    return call(body, (128, 128))(x, y, scale)


@kernel("SwiGLU", (128, 128), (128, 128), (128, 128))
def _swiglu(x, gate, up):
    def body(x, gate, up, out):
        out[...] = ricci.nn.silu(x[...] @ gate[...]) * (x[...] @ up[...])

    return call(body, (128, 128))(x, gate, up)


@kernel("rotary embedding", (32, 128), (32, 128))
def _rotary(x, angles):
    def body(x, angles, out):
        turned = pltpu.roll(x[...], 64, 1)
        sign = jnp.where(lax.broadcasted_iota(I32, (8, 128), 1) < 64, -1.0, 1.0)
        out[...] = x[...] * jnp.cos(angles[...]) + sign * turned * jnp.sin(angles[...])

    return rows(body, inputs=2)(x, angles)


@kernel("argmax across steps", (32, 128))
def _argmax(x):
    def body(x, best, place):
        @pl.when(pl.program_id(0) == 0)
        def _():
            best[...] = jnp.full_like(best, -jnp.inf)
            place[...] = jnp.zeros_like(place)

        value = x[...].max(0, keepdims=True)
        row = jnp.argmax(x[...], 0, keepdims=True).astype(I32) + 8 * pl.program_id(0)
        place[...] = jnp.where(value > best[...], row, place[...])
        best[...] = jnp.maximum(value, best[...])

    one = pl.BlockSpec((1, 128), lambda i: (0, 0))
    outs = [ShapeDtypeStruct((1, 128), F32), ShapeDtypeStruct((1, 128), I32)]
    return pl.pallas_call(body, outs, grid=4, in_specs=[ROWS], out_specs=[one, one])(x)


@kernel("dropout by a hash", ((), I32), (32, 128))
def _dropout(seed, x):
    def body(seed, x, out):
        rows = pl.program_id(0) * 8 + lax.broadcasted_iota(jnp.int32, (8, 128), 0)
        bits = (rows * 128 + lax.broadcasted_iota(I32, (8, 128), 1) + seed[0]).astype(jnp.uint32)
        for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B), (16, 1)):
            bits = (bits ^ (bits >> shift)) * np.uint32(factor)
        out[...] = jnp.where(bits < np.uint32(1 << 31), x[...] * 2, 0.0)

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=4,
        in_specs=[pl.BlockSpec((8, 128), lambda i, s: (i, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i, s: (i, 0)),
    )
    return call(body, (32, 128), grid_spec=spec)(seed.reshape(1), x)


@kernel("power iteration", (128, 128), (128, 1))
def _power(a, v):
    def body(a, v, out):
        def step(_, v):
            w = a[...] @ v
            return w * lax.rsqrt((w * w).sum(0, keepdims=True))

        out[...] = lax.fori_loop(0, 10, step, v[...])

    return call(body, (128, 1))(a, v)


@kernel("while until small", (8, 128))
def _while(x):
    def body(x, out):
        halve = lambda y: y * 0.5
        out[...] = lax.while_loop(lambda y: jnp.max(y) > 1.0, halve, x[...])

    return call(body, (8, 128))(x)


@kernel("captured array", (32, 128))
def _captured(x):
    weights = jnp.arange(128.0).reshape(1, 128)

    def body(x, out):
        out[...] = x[...] * weights

    return rows(body)(x)


@kernel("halo of neighbours", (32, 128))
def _stencil(x):
    def body(before, x, after, out):
        i = pl.program_id(0)
        up = jnp.where(i > 0, before[7:8], 0.0)
        down = jnp.where(i < 3, after[0:1], 0.0)
        whole = jnp.concatenate([up, x[...], down], 0)
        out[...] = whole[:-2] - 2 * whole[1:-1] + whole[2:]

    at = lambda step: pl.BlockSpec((8, 128), lambda i: (jnp.clip(i + step, 0, 3), 0))
    return call(body, (32, 128), grid=4, in_specs=[at(-1), ROWS, at(1)], out_specs=ROWS)(x, x, x)


@kernel("kernel on a mesh of one core", (8, 128))
def _mesh(x):
    @pl.kernel(
        out_type=ShapeDtypeStruct((8, 128), F32),
        mesh=pltpu.TensorCoreMesh(axis_name="core", num_cores=1),
    )
    def double(x, out):
        pltpu.sync_copy(x, out)

    return double(x)


@kernel("sorted rows", (8, 128))
def _sorted(x):
    def body(x, out):
        out[...] = jnp.sort(x[...], 1)

    return call(body, (8, 128))(x)


@kernel("copies of traced sizes", ((4,), I32), (32, 128))
def _traced_sizes(counts, x):
    def body(counts, x, out, buffer, sem):
        buffer[...] = jnp.zeros((32, 128), F32)
        for i in range(4):
            count = counts[i] + 1
            target = buffer.at[pl.ds(8 * i, count)]
            pltpu.async_copy(x.at[pl.ds(8 * i + 1, count)], target, sem).wait()
        out[...] = buffer[...]

    scratch = [pltpu.VMEM((32, 128), F32), pltpu.SemaphoreType.DMA]
    return call(body, (32, 128), in_specs=[SMEM, ANY], scratch_shapes=scratch)(counts, x)


@kernel("copy of a reshaped buffer", (32, 128))
def _reshaped_copy(x):
    def body(x, out, buffer):
        pltpu.sync_copy(x.reshape(4, 8, 128).at[2], buffer)
        out[...] = buffer.reshape(8, 1, 128)[:, 0] + 1

    return call(body, (8, 128), in_specs=[ANY], scratch_shapes=[pltpu.VMEM((8, 128), F32)])(x)


@kernel("row repeated by a step of 0", (16, 128))
def _repeated_row(x):
    def body(x, out):
        out[...] = x[pl.ds(5, 8, 0), :]

    return call(body, (8, 128))(x)


@kernel("pipeline of blocks that reach over the end", (40, 128))
def _partial_blocks(x):
    def add_one(x, out):
        out[...] = x[...] + 1

    def body(x, out):
        block = pl.BlockSpec((16, 128), lambda i: (i, 0))
        pltpu.emit_pipeline(add_one, grid=(3,), in_specs=[block], out_specs=[block])(x, out)

    return call(body, (40, 128), in_specs=[ANY], out_specs=ANY)(x)
