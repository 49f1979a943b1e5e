"""Callbacks on TPUs: they are sent to the host, and compile for TPUs that are not here."""

import re
from importlib.util import find_spec

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="compiled programs need the runtime")

import ricci
import ricci.numpy as jnp
from ricci import NamedSharding, P, ShapeDtypeStruct, debug, lax
from ricci.experimental import io_callback, topologies
from ricci_stablehlo import HostCallback, lower_jaxpr
from ricci_xla.compile._effects import host_functions

VECTOR = ShapeDtypeStruct((3,), np.float32)
EMPTY = ShapeDtypeStruct((0,), np.float32)


def sine(x):
    return ricci.pure_callback(np.sin, VECTOR, x, vmap_method="sequential")


def printed(x, ordered=False):
    debug.print("{}", x, ordered=ordered)
    return x


def recorded(x, ordered=True):
    io_callback(lambda v: None, None, x, ordered=ordered)
    return x


def without_operands(x):
    return x + io_callback(lambda: np.ones(3, np.float32), VECTOR)


def two_results(x):
    results = (VECTOR, ShapeDtypeStruct((), np.int32))
    return ricci.pure_callback(lambda v, n: (v, n), results, x, jnp.int32(2))


def empty_result(x):
    return ricci.pure_callback(lambda v: (v, v[:0]), (VECTOR, EMPTY), x)


def signs(x):
    return ricci.pure_callback(lambda v: ~v, ShapeDtypeStruct((3,), np.bool_), x > 0)


def unsigned(x):
    return ricci.pure_callback(lambda v: v, ShapeDtypeStruct((3,), np.uint8), x.astype(np.uint8))


def half(x):
    return ricci.pure_callback(
        lambda v: v, ShapeDtypeStruct((3,), jnp.bfloat16), x.astype("bfloat16")
    )


def two_orders(x):
    return recorded(sine(recorded(x)))


@ricci.custom_jvp
def differentiable(x):
    return sine(x)


differentiable.defjvps(lambda t, out, x: ricci.pure_callback(np.cos, VECTOR, x) * t)

# Each function, and the numbers of values that are sent and received in its text.
FUNCTIONS = {
    "pure": (sine, 1, 1),
    "two results": (two_results, 2, 2),
    "empty result": (empty_result, 1, 1),
    "booleans": (signs, 1, 1),
    "unsigned": (unsigned, 1, 1),
    "bfloat16": (half, 1, 1),
    "io": (lambda x: recorded(x, False), 1, 1),
    "io, ordered": (recorded, 1, 1),
    "io without operands": (without_operands, 1, 1),
    "print": (printed, 1, 1),
    "print, ordered": (lambda x: printed(x, True), 1, 1),
    "three in order": (two_orders, 3, 3),
    "scan": (lambda x: lax.scan(lambda c, _: (sine(c), None), x, None, length=3)[0], 1, 1),
    "ordered scan": (lambda x: lax.scan(lambda c, _: (recorded(c), None), x, None, 3)[0], 1, 1),
    "while": (lambda x: lax.while_loop(lambda c: c.sum() < 9, lambda c: sine(c) + 1, x), 1, 1),
    "cond": (lambda x: lax.cond(x[0] > 0, sine, lambda c: c, x), 1, 1),
    "ordered cond": (lambda x: lax.cond(x[0] > 0, recorded, lambda c: c, x), 1, 1),
    "grad": (ricci.grad(lambda x: differentiable(x).sum()), 1, 1),
    "checkpoint": (ricci.checkpoint(printed), 1, 1),
    "vmap": (lambda x: ricci.vmap(sine)(jnp.stack([x, x])), 1, 1),
    "vmap of print": (lambda x: ricci.vmap(printed)(jnp.stack([x, x])), None, None),
}


def channels(text, op, kind):
    """The channels of an operation in a module, whose numbers must agree with its rendezvous."""
    pattern = (
        rf'"stablehlo.{op}".*handle = (\d+), type = {kind}>, is_host_transfer = true.*'
        r'_xla_host_transfer_rendezvous = "(\d+)"'
    )
    pairs = re.findall(pattern, text)
    assert all(a == b for a, b in pairs)
    return [int(a) for a, _ in pairs]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_tpus_send_operands_to_the_host_and_receive_results(name):
    fun, sends, receives = FUNCTIONS[name]
    text = ricci.jit(fun).trace(VECTOR).lower(lowering_platforms=("tpu",)).as_text()
    sent, received = channels(text, "send", 2), channels(text, "recv", 3)
    assert "python_cpu_callback" not in text
    assert len(sent) == text.count("stablehlo.send") and len(received) == text.count(
        "stablehlo.recv"
    )
    if sends is None:
        assert sent and received
    else:
        assert (len(sent), len(received)) == (sends, receives)
    assert sorted(sent + received) == list(range(2, 2 + len(sent + received)))


def test_a_callback_with_channels_is_made_for_the_runtime():
    vector = ricci.core.ShapedArray((3,), np.dtype(np.float32))
    callback = HostCallback(lambda x: [x], (vector,), (vector,), ((2,), (3,)))
    (made,) = host_functions([callback], ricci.devices()[0].client)
    assert type(made).__name__ == "PyCapsule"


@pytest.mark.skipif(find_spec("libtpu") is None, reason="libtpu is not installed")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_callbacks_compile_for_a_described_tpu(name):
    device = topologies.get_topology_desc("v5e:2x2").devices[0]
    x = ShapeDtypeStruct((3,), np.float32, sharding=ricci.sharding.SingleDeviceSharding(device))
    text = ricci.jit(FUNCTIONS[name][0]).lower(x).compile().as_text()
    assert "is_host_transfer=true" in text


@pytest.mark.skipif(find_spec("libtpu") is None, reason="libtpu is not installed")
@pytest.mark.parametrize("in_shard_map", [False, True])
def test_callbacks_compile_for_four_tpus(in_shard_map):
    mesh = topologies.make_mesh(topologies.get_topology_desc("v5e:2x2"), (4,), ("i",))
    x = ShapeDtypeStruct((4, 3), np.float32, sharding=NamedSharding(mesh, P("i")))
    call = lambda x: printed(ricci.pure_callback(np.sin, ShapeDtypeStruct(x.shape, x.dtype), x))
    mapped = ricci.shard_map(call, mesh=mesh, in_specs=P("i"), out_specs=P("i"))
    text = ricci.jit(mapped if in_shard_map else call).lower(x).compile().as_text()
    assert "is_host_transfer=true" in text


def transferred(fun, *avals):
    """The callback of a function's module for TPUs."""
    callbacks = []
    jaxpr = ricci.make_jaxpr(fun)(*avals).jaxpr
    lower_jaxpr(jaxpr, "main", platform="tpu", host_callbacks=callbacks)
    (callback,) = callbacks
    return callback


def test_the_host_leaves_out_empty_results():
    callback = transferred(empty_result, VECTOR)
    (result,) = callback.fun(np.arange(3, dtype=np.float32))
    np.testing.assert_array_equal(result, [0, 1, 2])
    assert callback.channels == ((2,), (3,)) and len(callback.out_avals) == 1


def test_the_host_is_started_by_a_number_and_answers_by_one():
    calls = []

    def fun(x):
        io_callback(lambda: calls.append(1), None)
        return x

    callback = transferred(fun, VECTOR)
    (sent,), (received,) = callback.in_avals, callback.out_avals
    assert (sent.shape, sent.dtype, received.shape, received.dtype) == ((1,), "f4", (), "f4")
    (answer,) = callback.fun(np.zeros(1, np.float32))
    assert calls == [1] and np.shape(answer) == () and np.asarray(answer).dtype == np.float32
