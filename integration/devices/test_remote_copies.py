"""Copies between devices, and semaphores of others, in interpreted kernels on eight devices."""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="copies are between devices")

from kernel_cases.remote import BLOCK, COLLECTIVES

import ricci
import ricci.numpy as jnp
from ricci import lax
from ricci.experimental import pallas as pl
from ricci.experimental.pallas import tpu as pltpu
from ricci.sharding import AxisType
from ricci.sharding import PartitionSpec as P

X = np.arange(32, dtype=np.float32).reshape(8, 4)
LOGICAL = pl.DeviceIdType.LOGICAL


def _mapped(kernel, shape=(1, 4), names=("i",), sizes=(8,), check=False, scratch=(), **options):
    buffers = [*scratch, *[pltpu.SemaphoreType.DMA] * 2]
    spec = [pl.BlockSpec(memory_space=pl.ANY)] if "in_specs" not in options else []
    call = pl.pallas_call(
        kernel,
        ricci.ShapeDtypeStruct(shape, np.float32),
        scratch_shapes=buffers,
        **{"interpret": True, **({"in_specs": spec} if spec else {}), **options},
    )
    mesh = ricci.make_mesh(sizes, names, axis_types=(AxisType.Auto,) * len(names))
    whole = P(names)
    return ricci.shard_map(call, mesh=mesh, in_specs=whole, out_specs=whole, check_vma=check)


def _to_the_right(kind):
    def kernel(x, out, sent, arrived):
        right = (lax.axis_index("i") + 1) % lax.axis_size("i")
        names = {"tuple": (right,), "dict": {"i": right}, "position": right, "number": right}
        kinds = {"device_id_type": LOGICAL} if kind == "number" else {}
        copy = pltpu.make_async_remote_copy(x, out, sent, arrived, names[kind], **kinds)
        copy.start()
        copy.wait()

    return kernel


@pytest.mark.sampled(5)  # of 16, among them every kind
@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("kind", ["tuple", "dict", "position", "number"])
def test_a_copy_arrives_on_the_named_device(eight_devices, kind, check, x64):
    f = _mapped(_to_the_right(kind), check=check)
    with ricci.enable_x64(x64):
        for run in (f, ricci.jit(f), f):
            np.testing.assert_array_equal(run(X), np.roll(X, 1, 0))
        ricci.clear_caches()
        np.testing.assert_array_equal(ricci.jit(f)(X), np.roll(X, 1, 0))


@pytest.mark.parametrize("interpret", [True, pltpu.InterpretParams()], ids=["plain", "simulator"])
def test_a_dict_names_a_device_along_one_axis_of_a_mesh(eight_devices, interpret):
    def kernel(x, out, sent, arrived):
        there = (lax.axis_index("b") + 1) % 4
        pltpu.async_remote_copy(x, out, sent, arrived, {"b": there}).wait()

    f = _mapped(kernel, names=("a", "b"), sizes=(2, 4), interpret=interpret)
    np.testing.assert_array_equal(f(X), np.roll(X.reshape(2, 4, 4), 1, 1).reshape(8, 4))


def test_a_ring_of_copies_gathers_all_shards(eight_devices):
    def kernel(x, out, slots, sent, arrived):
        me = lax.axis_index("i")
        slots[0] = x[0]
        out[pl.ds(me, 1)] = x[...]

        @pl.loop(0, 7)
        def _(step):
            now, later = step % 2, (step + 1) % 2
            copy = pltpu.make_async_remote_copy(
                slots.at[now], slots.at[later], sent, arrived, ((me + 1) % 8,)
            )
            copy.start()
            copy.wait()
            out[pl.ds((me - step - 1) % 8, 1)] = slots[pl.ds(later, 1)]

    f = _mapped(kernel, (8, 4), scratch=[pltpu.VMEM((2, 4), np.float32)])
    np.testing.assert_array_equal(f(X).reshape(8, 8, 4), np.broadcast_to(X, (8, 8, 4)))


@pytest.mark.parametrize("sizes", [(8,), (2, 4)])
@pytest.mark.parametrize("name", COLLECTIVES)
def test_kernels_of_rings_are_collectives(eight_devices, name, sizes):
    kernel, collective = COLLECTIVES[name]
    types = (AxisType.Auto,) * len(sizes)
    mesh = ricci.make_mesh(sizes, ("a", "b")[: len(sizes)], axis_types=types)
    axis, whole = mesh.axis_names[-1], P(mesh.axis_names)
    x = np.random.default_rng(0).normal(size=(8 * BLOCK[0], BLOCK[1])).astype(np.float32)

    def mapped(f, **options):
        run = lambda x: f(x, axis, **options)
        return ricci.shard_map(run, mesh=mesh, in_specs=whole, out_specs=whole, check_vma=False)

    expected = ricci.jit(mapped(collective))(x)
    np.testing.assert_allclose(
        ricci.jit(mapped(kernel, interpret=True))(x), expected, rtol=1e-5, atol=1e-5
    )


def test_each_sender_indexes_the_target_itself(eight_devices):
    """A sender's own position is the index into the buffer of the device that it sends to."""

    def kernel(x, out, sent, arrived):
        me = lax.axis_index("i")
        out[...] = jnp.zeros_like(out)
        target = out.at[pl.ds(me, 1)]
        pltpu.async_remote_copy(x, target, sent, arrived, (0,)).wait_send()

    result = np.asarray(_mapped(kernel, (8, 4))(X)).reshape(8, 8, 4)
    np.testing.assert_array_equal(result[0], X)
    assert not result[1:].any()


@pytest.mark.parametrize("value", [1, 3])
def test_signals_count_on_the_named_device(eight_devices, value):
    def kernel(x, out, ready, sent, arrived):
        del x, sent, arrived
        me = lax.axis_index("i")
        pl.semaphore_signal(ready, value, device_id=((me + 1) % 8,))
        pl.semaphore_signal(ready, value, device_id=0, device_id_type=LOGICAL)
        out[...] = jnp.full_like(out, pl.semaphore_read(ready))
        pl.semaphore_wait(ready, value * jnp.where(me == 0, 9, 1))

    counts = _mapped(kernel, scratch=[pltpu.SemaphoreType.REGULAR])(X)[:, 0]
    np.testing.assert_array_equal(counts, value * np.array([9, 1, 1, 1, 1, 1, 1, 1]))


def test_barriers_and_semaphores_end_at_zero(eight_devices):
    def kernel(x, out, sent, arrived):
        me = lax.axis_index("i")
        barrier = pltpu.get_barrier_semaphore()
        for there in ((me + 1) % 8, (me - 1) % 8):
            pl.semaphore_signal(barrier, device_id=(there,))
        pl.semaphore_wait(barrier, 2)
        pltpu.async_remote_copy(x, out, sent, arrived, ((me + 1) % 8,)).wait()
        left = pl.semaphore_read(sent) + pl.semaphore_read(arrived) + pl.semaphore_read(barrier)
        out[...] += left.astype(np.float32)

    np.testing.assert_array_equal(_mapped(kernel)(X), np.roll(X, 1, 0))


def test_steps_of_a_grid_choose_when_to_copy(eight_devices):
    def kernel(x, out, sent, arrived):
        right = ((lax.axis_index("i") + 1) % 8,)

        @pl.when(pl.program_id(0) == 1)
        def _():
            pltpu.async_remote_copy(x, out, sent, arrived, right).wait()

    np.testing.assert_array_equal(_mapped(kernel, grid=(3,))(X), np.roll(X, 1, 0))


def _chosen_by_device(x, out, sent, arrived):
    @pl.when(lax.axis_index("i") == 0)
    def _():
        pltpu.async_remote_copy(x, out, sent, arrived, (1,)).wait()


def _chosen_by_data(x, out, sent, arrived):
    @pl.when(x[0, 0] > 3)
    def _():
        pltpu.async_remote_copy(x, out, sent, arrived, (1,)).wait()


def _repeated_by_data(x, out, sent, arrived):
    count = x[0, 0].astype(np.int32)

    @pl.loop(0, count)
    def _(i):
        pltpu.async_remote_copy(x, out, sent, arrived, (1,)).wait()


@pytest.mark.parametrize("kernel", [_chosen_by_device, _chosen_by_data, _repeated_by_data])
def test_copies_that_devices_choose_apart_are_refused(eight_devices, kernel):
    with pytest.raises(NotImplementedError, match="an interpreter runs them in lockstep"):
        _mapped(kernel, in_specs=[pl.BlockSpec((1, 4), lambda: (0, 0))])(X)


def test_gradients_go_back_to_the_senders(eight_devices):
    weights = np.arange(1, 33, dtype=np.float32).reshape(8, 4)
    f = _mapped(_to_the_right("tuple"))
    loss = lambda x: (f(x) * weights).sum()
    for run in (ricci.grad(loss), ricci.jit(ricci.grad(loss))):
        np.testing.assert_array_equal(run(X), np.roll(weights, -1, 0))
    tangents = ricci.jvp(f, (X,), (weights,))[1]
    np.testing.assert_array_equal(tangents, np.roll(weights, 1, 0))


def test_batches_are_sent_one_after_the_other(eight_devices):
    call = pl.pallas_call(
        _to_the_right("tuple"),
        ricci.ShapeDtypeStruct((4,), np.float32),
        scratch_shapes=[pltpu.SemaphoreType.DMA] * 2,
        interpret=True,
    )
    mesh = ricci.make_mesh((8,), ("i",), axis_types=(AxisType.Auto,))
    f = ricci.shard_map(
        ricci.vmap(call), mesh=mesh, in_specs=P("i"), out_specs=P("i"), check_vma=False
    )
    x = np.arange(64, dtype=np.float32).reshape(16, 4)
    np.testing.assert_array_equal(f(x), np.roll(x, 2, 0))


def _sent_to(device_id):
    def kernel(x, out, sent, arrived):
        pltpu.async_remote_copy(x, out, sent, arrived, device_id).wait()

    return kernel


def test_wrong_names_of_devices_are_refused(eight_devices):
    with pytest.raises(ValueError, match=r"has 2 positions, and the mesh has the axes \('i',\)"):
        _mapped(_sent_to((0, 1)))(X)
    with pytest.raises(ValueError, match="names the axis 'j'"):
        _mapped(_sent_to({"j": 1}))(X)
    with pytest.raises(ValueError, match="Call it in a function that shard_map maps"):
        pl.pallas_call(
            _sent_to((0,)),
            ricci.ShapeDtypeStruct((8, 4), np.float32),
            scratch_shapes=[pltpu.SemaphoreType.DMA] * 2,
            interpret=True,
        )(X)


def test_devices_send_parts_of_traced_sizes():
    """Each device sends the number of rows in its own count to the right."""

    def body(count, arriving, x, out, sent, arrived):
        device = lax.axis_index("i")
        target = out.at[pl.ds(device, count[0])]
        copy = pltpu.make_async_remote_copy(
            x.at[pl.ds(1, count[0])], target, sent, arrived, ((device + 1) % 8,)
        )
        copy.start()
        copy.wait_send()
        rows = pl.ds(0, arriving[0])
        received = pltpu.make_async_remote_copy(x.at[rows], out.at[rows], sent, arrived, (device,))
        received.wait_recv()

    anywhere = pl.BlockSpec(memory_space=pl.ANY)
    scalars = pl.BlockSpec(memory_space=pltpu.SMEM)
    send = pl.pallas_call(
        body,
        ricci.ShapeDtypeStruct((12, 2), np.float32),
        in_specs=[scalars, scalars, anywhere],
        out_specs=anywhere,
        scratch_shapes=[pltpu.SemaphoreType.DMA] * 2,
        interpret=True,
    )
    mesh = ricci.make_mesh((8,), ("i",), axis_types=(ricci.sharding.AxisType.Auto,))
    split = ricci.P("i")
    run = ricci.shard_map(
        send, mesh=mesh, in_specs=(split, split, split), out_specs=split, check_vma=False
    )
    counts = np.array([1, 2, 3, 1, 2, 3, 1, 2], np.int32)
    x = np.arange(64, dtype=np.float32).reshape(32, 2)
    parts = x.reshape(8, 4, 2)
    expected = np.full((8, 12, 2), np.nan, np.float32)
    for sender, count in enumerate(counts):
        expected[(sender + 1) % 8, sender : sender + count] = parts[sender, 1 : 1 + count]
    result = run(counts, np.roll(counts, 1), x)
    np.testing.assert_array_equal(result, expected.reshape(96, 2))
