"""Kernels whose devices copy to each other along a ring: the collectives of a mesh.

A case maps a shard to the device's result; `COLLECTIVES` has it beside the collective of `lax`.
"""

from functools import partial

import numpy as np

import ricci
import ricci.numpy as jnp
from ricci import NamedSharding, P, lax
from ricci.experimental import pallas as pl
from ricci.experimental.pallas import tpu as pltpu

DMA, REGULAR = pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.REGULAR
BLOCK = (8, 128)


def _neighbours(axis):
    me, size = lax.axis_index(axis), lax.axis_size(axis)
    return lax.rem(me + size - 1, size), me, lax.rem(me + 1, size)


def _meet_neighbours(axis):
    """Wait until both neighbours have entered the kernel: their memory may be written then."""
    left, _, right = _neighbours(axis)
    barrier = pltpu.get_barrier_semaphore()
    for neighbour in (left, right):
        pl.semaphore_signal(barrier, device_id={axis: neighbour})
    pl.semaphore_wait(barrier, 2)


def _shift(axis, x, out, sent, arrived):
    _, _, right = _neighbours(axis)
    _meet_neighbours(axis)
    copy = pltpu.make_async_remote_copy(x, out, sent, arrived, {axis: right})
    copy.start()
    copy.wait_send()
    copy.wait_recv()


def _all_gather(axis, x, out, done, sent, arrived):
    _, me, right = _neighbours(axis)
    size = lax.axis_size(axis)
    _meet_neighbours(axis)
    local = pltpu.make_async_copy(x, out.at[me], done)
    local.start()
    local.wait()

    @pl.loop(0, size - 1)
    def _(step):
        part = out.at[lax.rem(me + size - step, size)]
        copy = pltpu.make_async_remote_copy(part, part, sent, arrived, {axis: right})
        copy.start()
        copy.wait()


def _all_reduce(axis, x, out, slots, sent, arrived, free):
    left, _, right = _neighbours(axis)
    size = lax.axis_size(axis)
    slots[0] = x[...]
    out[...] = x[...]
    _meet_neighbours(axis)

    @pl.loop(0, size - 1)
    def _(step):
        now, later = lax.rem(step, 2), lax.rem(step + 1, 2)

        # The right neighbour's slot is free when it has sent and added the slot's value.
        @pl.when(step > 0)
        def _():
            pl.semaphore_wait(free, 1)

        copy = pltpu.make_async_remote_copy(
            slots.at[now], slots.at[later], sent.at[now], arrived.at[later], {axis: right}
        )
        copy.start()
        copy.wait()
        out[...] += slots[later]

        @pl.when(step < size - 2)
        def _():
            pl.semaphore_signal(free, device_id={axis: left})


def _call(kernel, axis, shape, scratch, whole, x, *, interpret=False):
    spec = pl.BlockSpec(memory_space=pl.ANY) if whole else pl.BlockSpec()
    return pl.pallas_call(
        partial(kernel, axis),
        ricci.ShapeDtypeStruct(shape, np.float32),
        in_specs=[spec],
        out_specs=spec,
        scratch_shapes=scratch,
        compiler_params=pltpu.CompilerParams(collective_id=0),
        name=kernel.__name__.strip("_"),
        interpret=interpret,
    )(x)


def shift(x, axis, **options):
    return _call(_shift, axis, BLOCK, [DMA, DMA], True, x, **options)


def all_gather(x, axis, **options):
    shape = (lax.axis_size(axis), *BLOCK)
    return _call(_all_gather, axis, shape, [DMA, DMA, DMA], True, x, **options)


def all_reduce(x, axis, **options):
    scratch = [pltpu.VMEM((2, *BLOCK), jnp.float32), DMA((2,)), DMA((2,)), REGULAR]
    return _call(_all_reduce, axis, BLOCK, scratch, False, x, **options)


def _shifted(x, axis):
    size = lax.axis_size(axis)
    return lax.ppermute(x, axis, [(i, (i + 1) % size) for i in range(size)])


COLLECTIVES = {
    "shift": (shift, _shifted),
    "all_gather": (all_gather, lax.all_gather),
    "all_reduce": (all_reduce, lax.psum),
}


def on_mesh(name, mesh):
    """A kernel on the shards of a mesh of described devices, and the type of its operand."""
    axis, whole = mesh.axis_names[-1], P(mesh.axis_names)
    run = lambda x: COLLECTIVES[name][0](x, axis)
    f = ricci.shard_map(run, mesh=mesh, in_specs=whole, out_specs=whole, check_vma=False)
    shape = (mesh.size * BLOCK[0], BLOCK[1])
    return f, ricci.ShapeDtypeStruct(shape, np.float32, sharding=NamedSharding(mesh, whole))
