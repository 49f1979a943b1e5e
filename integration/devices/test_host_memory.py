"""Values in the host's memory: arguments, results, loops, branches, donation, described types."""

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import NamedSharding, P, ShapeDtypeStruct, lax
from ricci.experimental import topologies
from ricci.memory import Space
from ricci.sharding import AxisType, SingleDeviceSharding

HOST, DEVICE = "pinned_host", "device"
MESHES = {"one": None, "auto": AxisType.Auto, "explicit": AxisType.Explicit}


@pytest.fixture(params=MESHES)
def place(request):
    """The shardings of an array on one device, or sharded over two, in a memory."""
    kind = MESHES[request.param]
    if kind is None:
        return lambda memory: SingleDeviceSharding(ricci.devices()[0], memory_kind=memory)
    if len(ricci.devices()) < 2:
        pytest.skip("dividing needs two devices")
    mesh = ricci.make_mesh((2,), ("x",), axis_types=(kind,), devices=ricci.devices()[:2])
    return lambda memory: NamedSharding(mesh, P("x"), memory_kind=memory)


def in_scan(x):
    return lax.scan(lambda c, _: (c, ricci.device_put(c * 2, Space.Host)), x, None, length=2)[1]


def in_while(x):
    start = ricci.device_put(x, Space.Host)
    body = lambda c: (
        c[0] + 1,
        ricci.device_put(ricci.device_put(c[1], Space.Device) + 1, Space.Host),
    )
    return lax.while_loop(lambda c: c[0] < 2, body, (0, start))[1]


def in_cond(x):
    branches = [lambda x, k=k: ricci.device_put(x * k, Space.Host) for k in (2, 3)]
    return lax.cond(x[0] > 0, *branches, x)


def inner(f):
    return lambda x: ricci.jit(f)(x)


def put(space):
    return lambda x: ricci.device_put(x, space)


# The function, the memory of its argument, and that of its result.
FUNCTIONS = {
    "computed": (lambda x: x * 2, HOST, HOST),
    "returned": (lambda x: x, HOST, HOST),
    "to the device": (lambda x: ricci.device_put(x, Space.Device) * 2, HOST, DEVICE),
    "to the host": (lambda x: ricci.device_put(x * 2, Space.Host), DEVICE, HOST),
    "there and back": (lambda x: put(Space.Device)(put(Space.Host)(x)), DEVICE, DEVICE),
    "in an inner jit": (inner(put(Space.Host)), DEVICE, HOST),
    "back in an inner jit": (inner(put(Space.Device)), HOST, DEVICE),
    "stacked by scan": (in_scan, DEVICE, HOST),
    "carried by while_loop": (in_while, DEVICE, HOST),
    "of both branches": (in_cond, DEVICE, HOST),
    "in checkpoint": (lambda x: ricci.checkpoint(put(Space.Host))(x), DEVICE, HOST),
    "of a batch": (ricci.vmap(put(Space.Host)), DEVICE, HOST),
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_in_the_memory_that_the_program_leaves_them_in(place, name):
    function, before, after = FUNCTIONS[name]
    x = ricci.device_put(jnp.arange(4.0), place(before))
    expected = function(jnp.arange(4.0))
    for _ in range(2):
        result = ricci.jit(function)(x)
        assert result.sharding.memory_kind == after
        np.testing.assert_array_equal(result, expected)
        ricci.clear_caches()


def test_one_function_takes_arrays_of_both_memories(place):
    double = ricci.jit(lambda x: x * 2)
    for memory in (DEVICE, HOST, DEVICE):
        x = ricci.device_put(jnp.arange(4.0), place(memory))
        assert double(x).sharding.memory_kind == memory


@pytest.mark.parametrize("after", [HOST, DEVICE])
@pytest.mark.parametrize("before", [HOST, DEVICE])
def test_out_shardings_move_results_between_memories(place, before, after):
    x = ricci.device_put(jnp.arange(4.0), place(before))
    for function in (lambda x: x, lambda x: x * 2):
        result = ricci.jit(function, out_shardings=place(after))(x)
        assert result.sharding.memory_kind == after


def test_donated_host_array_becomes_a_host_result(place):
    x = ricci.device_put(jnp.arange(4.0), place(HOST))
    result = ricci.jit(lambda x: x * 2, donate_argnums=0)(x)
    assert result.sharding.memory_kind == HOST
    assert x.is_deleted()
    np.testing.assert_array_equal(result, np.arange(4.0) * 2)


def test_donated_host_array_is_not_the_memory_of_a_device_result():
    here = SingleDeviceSharding(ricci.devices()[0], memory_kind=HOST)
    x = ricci.device_put(jnp.arange(4.0), here)
    with pytest.warns(UserWarning, match="not usable"):
        text = (
            ricci.jit(lambda x: ricci.device_put(x, Space.Device) * 2, donate_argnums=0)
            .lower(x)
            .as_text()
        )
    assert "tf.aliasing_output" not in text


def test_a_bare_device_leaves_a_value_in_its_memory():
    device = ricci.devices()[0]
    x = ricci.device_put(jnp.arange(4.0), SingleDeviceSharding(device, memory_kind=HOST))
    result = ricci.jit(lambda x: ricci.device_put(x, device) * 2)(x)
    assert result.sharding.memory_kind == HOST


@pytest.mark.parametrize("function", [put(Space.Host), inner(put(Space.Host)), in_scan, in_while])
def test_results_on_the_host_compile_for_devices_without_memories(function):
    (device, *_) = topologies.get_topology_desc("cpu:2").devices
    on = SingleDeviceSharding(device)
    x = ShapeDtypeStruct((4,), np.float32, sharding=on)
    for options in ({}, {"out_shardings": SingleDeviceSharding(device, memory_kind=HOST)}):
        lowered = ricci.jit(function, **options).lower(x)
        assert 'mhlo.memory_kind = "pinned_host"' in lowered.as_text()
        assert lowered.compile().memory_analysis().argument_size_in_bytes == 16


def described(sharding):
    return ShapeDtypeStruct((4,), np.float32, sharding=sharding)


# The ways to specify that an argument is in the host's memory.
ARGUMENTS = {
    "an array": lambda host: ({}, ricci.device_put(jnp.arange(4.0), host)),
    "a description": lambda host: ({}, described(host)),
    "in_shardings": lambda host: ({"in_shardings": host}, described(None)),
}


@pytest.mark.parametrize("argument", ARGUMENTS)
@pytest.mark.parametrize("back", ["sharding", "with_memory_kind", "default", "Space"])
def test_modules_for_tpus_say_each_change_of_memory(place, argument, back):
    options, x = ARGUMENTS[argument](place(HOST))
    target = {
        "sharding": place(DEVICE),
        "with_memory_kind": place(HOST).with_memory_kind(DEVICE),
        "default": place(None),
        "Space": Space.Device,
    }[back]
    function = ricci.jit(lambda x: ricci.device_put(x, target) * 2, **options)
    text = function.trace(x).lower(lowering_platforms=("tpu",)).as_text()
    main = next(line for line in text.splitlines() if "@main(" in line)
    taken, returned = main.split("->")
    assert f'mhlo.memory_kind = "{HOST}"' in taken
    assert HOST not in returned
    assert text.count('_xla_buffer_placement = "device"') == 1


def test_modules_without_host_memory_say_no_memory(place):
    function = ricci.jit(lambda x: ricci.device_put(x, place(DEVICE)) * 2)
    text = function.trace(described(place(None))).lower(lowering_platforms=("tpu",)).as_text()
    assert "memory_kind" not in text
    assert "annotate_device_placement" not in text
