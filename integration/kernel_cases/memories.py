"""Kernels for TPUs about memory: declared spaces, selected references, bits, examples of vmap."""

import ricci
import ricci.numpy as jnp
from ricci import lax
from ricci.experimental import pallas as pl
from ricci.experimental.pallas import tpu as pltpu

from .kernels import ANY, F32, I8, I32, ROWS, SMEM, call, kernel

MESH = pltpu.TensorCoreMesh(axis_name="core", num_cores=1)
SHAPE = (16, 128)


def _copy(x, out):
    pltpu.sync_copy(x, out)


@kernel("scalars in a declared memory space", ((4,), I32), SHAPE)
def _declared_scalars(sizes, x):
    sizes = pltpu.with_memory_space_constraint(sizes, pltpu.SMEM)

    @pl.kernel(out_type=ricci.ShapeDtypeStruct(SHAPE, F32), mesh=MESH)
    def run(sizes, x, out):
        pltpu.sync_copy(x, out)

        @pl.when(sizes[0] > sizes[1])
        def _():
            pltpu.sync_copy(x.at[pl.ds(0, 8)], out.at[pl.ds(8, 8)])

    return run(sizes, x)


@kernel("arrays in declared memory spaces", SHAPE, SHAPE)
def _declared_arrays(x, y):
    x = pltpu.with_memory_space_constraint(x, pltpu.VMEM)
    y = pltpu.with_memory_space_constraint(y, pltpu.HBM)

    @pl.kernel(out_type=pltpu.VMEM(SHAPE, F32), mesh=MESH, scratch_types=[pltpu.VMEM(SHAPE, F32)])
    def run(x, y, out, buffer):
        pltpu.sync_copy(y, buffer)
        out[...] = x[...] + buffer[...]

    return run(x, y)


@kernel("vmap of declared scalars", ((3, 4), I32), (3, *SHAPE))
def _batched_declared_scalars(sizes, x):
    return ricci.vmap(_declared_scalars)(sizes, x)


@kernel("vmap of an array in ANY", (3, *SHAPE))
def _batched_array(x):
    return ricci.vmap(call(_copy, SHAPE, in_specs=[ANY], out_specs=ANY))(x)


@kernel("vmap of vmap of an array in ANY", (2, 3, *SHAPE))
def _twice_batched_array(x):
    return ricci.vmap(_batched_array)(x)


def _scale(factor, x, out):
    out[...] = x[...] * factor[1]


@kernel("vmap of scalars in SMEM", (3, 4), (3, *SHAPE))
def _batched_scalars(factor, x):
    f = call(_scale, SHAPE, in_specs=[SMEM, pl.BlockSpec()])
    return ricci.vmap(f)(factor, x)


@kernel("blocks of scalars in SMEM", (4, 4))
def _blocks_of_scalars(x):
    def body(x, out):
        out[...] = jnp.full((8, 128), x[0, 2])

    spec = pl.BlockSpec((1, 4), lambda i: (i, 0), memory_space=pltpu.SMEM)
    return call(body, (32, 128), grid=4, in_specs=[spec], out_specs=ROWS)(x)


@kernel("vmap of results in SMEM", (3, *SHAPE))
def _batched_results(x):
    def body(x, count):
        for i in range(4):
            count[i] = jnp.sum(x[...]).astype(I32) + i

    return ricci.vmap(call(body, (4,), I32, out_specs=SMEM))(x)


@kernel("selected references", ((2,), I32), SHAPE, SHAPE)
def _selected(which, x, y):
    def body(which, x, y, out):
        pltpu.sync_copy(pl.select_ref(which[0], x, y), out)
        rows = pl.select_ref(which[1], x.at[pl.ds(8, 8)], y.at[pl.ds(0, 8)])
        pltpu.sync_copy(rows, pl.select_ref(which[0], out, out).at[pl.ds(0, 8)])

    return call(body, SHAPE, in_specs=[SMEM, ANY, ANY], out_specs=ANY)(which, x, y)


@kernel("reads of selected references", ((2,), I32), SHAPE, SHAPE)
def _selected_reads(which, x, y):
    def body(which, x, y, out):
        out[...] = pl.select_ref(which[0], x, y)[...]
        chosen = pl.select_ref(which[1], out.at[pl.ds(0, 8)], out.at[pl.ds(8, 8)])
        chosen[...] = x[:8] + 1

    whole = pl.BlockSpec()
    return call(body, SHAPE, in_specs=[SMEM, whole, whole])(which, x, y)


@kernel("fields of bits", ((32, 128), I8))
def _fields(x):
    def body(x, out):
        low, high = pltpu.split_bits(x[...], (4, 4))
        two, four = pltpu.pack_fp6(x[...])
        joined = pltpu.unpack_fp6(two, four).astype(I32)
        out[...] = low.astype(I32) * 100 + high.astype(I32) + joined * 10000

    return call(body, (32, 128), I32)(x)


@kernel("bits as int4", ((8, 128), I32))
def _narrow_bits(x):
    def body(x, out):
        out[...] = pltpu.bitcast(x[...], jnp.int4).astype(I32) + x.bitcast(jnp.int4)[...].astype(
            I32
        )

    return call(body, (64, 128), I32)(x)


@kernel("int4 as words", ((64, 128), jnp.int4))
def _wide_bits(x):
    def body(x, out):
        out[...] = pltpu.bitcast(x[...], I32)

    return call(body, (8, 128), I32)(x)


@kernel("a signal of a core", SHAPE)
def _signal_of_core(x):
    def body(x, out, sem):
        pl.semaphore_signal(sem, 2, core_index=0)
        pl.semaphore_wait(sem, 2)
        pltpu.sync_copy(x, out)

    scratch = [pltpu.SemaphoreType.REGULAR]
    return call(body, SHAPE, in_specs=[ANY], out_specs=ANY, scratch_shapes=scratch)(x)


@kernel("checks for debugging", SHAPE)
def _checked(x):
    def body(x, out):
        pl.debug_check(x[0, 0] > 0, "the first element is positive")
        out[...] = lax.neg(x[...])

    with pl.enable_debug_checks(True):
        return call(body, SHAPE)(x)


def counted_copies(x):
    """Copies that add to a regular semaphore, one each; a v5e does not have them."""

    def body(x, out, sem):
        for i in range(2):
            rows = pl.ds(8 * i, 8)
            pltpu.make_async_copy(x.at[rows], out.at[rows], sem).start()
        pl.semaphore_wait(sem, 2)

    scratch = [pltpu.SemaphoreType.REGULAR]
    return call(body, SHAPE, in_specs=[ANY], out_specs=ANY, scratch_shapes=scratch)(x)
