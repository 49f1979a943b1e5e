"""Indices out of bounds in kernels on several devices: the call raises, and the process goes on.

An exception within an executable would leave the other devices waiting in a collective.
"""

import numpy as np
import pytest

pytest.importorskip("ricci_parallel", reason="kernels are sharded")

import ricci
from ricci import lax
from ricci.experimental import pallas as pl
from ricci.experimental.pallas import tpu as pltpu
from ricci.sharding import AxisType, NamedSharding
from ricci.sharding import PartitionSpec as P

F32 = np.float32
X = np.ones(5, F32)
RIGHT, WRONG = np.int32([0, 3, 1]), np.int32([0, 4, 1])
MESSAGE = (
    r"2 elements from 4 .*args\[1\] "
    r"(of the kernel pick .*step \(1,\)|or outputs of the kernel copies)"
)


def pick(i, x, out):
    out[...] = x[pl.ds(i[pl.program_id(0)], 2)]


call = pl.pallas_call(
    pick,
    ricci.ShapeDtypeStruct((6,), F32),
    grid=(3,),
    in_specs=[pl.BlockSpec(), pl.BlockSpec()],
    out_specs=pl.BlockSpec((2,), lambda i: (i,)),
    interpret=True,
)


def mesh(kind=AxisType.Auto):
    return ricci.make_mesh((8,), ("d",), axis_types=(kind,))


def mapped(function, out_specs):
    return ricci.shard_map(function, mesh=mesh(), in_specs=(P("d"), P()), out_specs=out_specs)


def on_last_device(indices):
    return np.stack([RIGHT] * 7 + [indices])


def in_a_sum(i):
    run = ricci.jit(mapped(lambda i, x: lax.psum(call(i[0], x), "d"), P()))
    return run(on_last_device(i), X)


def eagerly(i):
    return mapped(lambda i, x: call(i[0], x)[None], P("d"))(on_last_device(i), X)


def in_a_gradient(i):
    total = mapped(lambda i, x: lax.psum(call(i[0], x).sum(), "d"), P())
    return ricci.jit(ricci.grad(lambda x: total(on_last_device(i), x)))(X)


def on_some_axes(i):
    axes = ricci.make_mesh((4, 2), ("a", "b"), axis_types=(AxisType.Auto,) * 2)
    run = ricci.shard_map(
        lambda i, x: lax.psum(call(i[0], x), "a"),
        mesh=axes,
        in_specs=(P("a"), P()),
        out_specs=P(),
        axis_names={"a"},
    )
    return ricci.jit(run)(np.stack([RIGHT] * 3 + [i]), X)


def by_copies(i):
    """Indices from data, which vary between devices, and others, which do not."""

    def copies(i, x, out, sem):
        @pl.loop(0, 3)
        def _(k):
            copy = pltpu.make_async_copy(x.at[pl.ds(i[k], 2)], out.at[pl.ds(2 * k, 2)], sem)
            copy.start()
            copy.wait()

    run = pl.pallas_call(
        copies,
        ricci.ShapeDtypeStruct((6,), F32),
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec(memory_space=pl.ANY),
        scratch_shapes=[pltpu.SemaphoreType.DMA],
        interpret=True,
    )
    return ricci.jit(mapped(lambda i, x: run(i[0], x)[None], P("d")))(on_last_device(i), X)


def by_the_compiler(i):
    rows = ricci.device_put(np.stack([X] * 8), NamedSharding(mesh(), P("d")))
    return ricci.jit(ricci.vmap(call, in_axes=(None, 0)))(i, rows)


def by_types(i):
    explicit = mesh(AxisType.Explicit)
    with ricci.set_mesh(explicit):
        rows = ricci.device_put(np.stack([X] * 8), NamedSharding(explicit, P("d")))
        return ricci.jit(ricci.vmap(call, in_axes=(None, 0)))(i, rows)


@pytest.mark.skipif(len(ricci.devices()) < 8, reason="needs 8 devices")
@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "run", [in_a_sum, eagerly, in_a_gradient, on_some_axes, by_copies, by_the_compiler, by_types]
)
def test_an_index_out_of_bounds_on_one_device_raises(run):
    for _ in range(2):
        assert np.isfinite(run(RIGHT)).all()
        with pytest.raises(ValueError, match=MESSAGE):
            run(WRONG)


def test_exported_functions_are_not_checked():
    exported = ricci.export.export(ricci.jit(call))(RIGHT, X)
    data = exported.serialize()
    np.testing.assert_array_equal(ricci.export.deserialize(data).call(WRONG, X), np.ones(6))
    with pytest.raises(ValueError, match=MESSAGE):
        ricci.jit(call)(WRONG, X)
