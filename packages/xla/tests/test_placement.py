"""device_put and its relatives: devices, shared buffers, and errors."""

import numpy as np
import pytest

from ricci_ir import config
from ricci_xla import (
    IndivisibleError,
    Mesh,
    NamedSharding,
    P,
    block_until_ready,
    device_get,
    device_put,
    make_array_from_callback,
    make_array_from_process_local_data,
    single_device_sharding,
)


@pytest.fixture
def places(eight_devices):
    mesh = Mesh(np.array(eight_devices).reshape(4, 2), ("x", "y"))
    return [
        single_device_sharding(eight_devices[0]),
        single_device_sharding(eight_devices[3]),
        NamedSharding(mesh, P()),
        NamedSharding(mesh, P("x")),
        NamedSharding(mesh, P("x", "y")),
        NamedSharding(Mesh(eight_devices[::-1], "i"), P(None, "i")),
    ]


@pytest.mark.parametrize("start", range(6))
@pytest.mark.parametrize("end", range(6))
@pytest.mark.parametrize("donate", [False, True])
def test_moving_keeps_values(places, start, end, donate):
    value = np.arange(64, dtype="float32").reshape(8, 8)
    x = device_put(value, places[start])
    y = device_put(x, places[end], donate=donate)
    assert y.sharding == places[end]
    assert y.committed
    np.testing.assert_array_equal(np.asarray(y), value)
    for shard in y.addressable_shards:
        np.testing.assert_array_equal(np.asarray(shard.data), value[shard.index])


def test_binding_to_a_device_shares_memory():
    x = device_put(np.arange(100.0))
    assert not x.committed
    y = device_put(x, x.device)
    assert y.committed
    assert y.unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
    assert device_put(x) is x
    assert device_put(y, x.device) is y


def test_may_alias_false_makes_a_copy():
    x = device_put(np.arange(100.0))
    y = device_put(x, x.device, may_alias=False)
    assert y.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()


def test_device_put_copies_numpy_arrays():
    value = np.zeros(1 << 16, "float32")
    x = device_put(value)
    value[:] = 1
    assert np.asarray(x).max() == 0


def test_device_put_takes_pytrees_of_devices(eight_devices):
    x = np.arange(2.0)
    y = device_put({"a": x, "b": (x, 1.0)}, {"a": eight_devices[1], "b": eight_devices[2]})
    assert y["a"].devices() == {eight_devices[1]}
    assert y["b"][1].devices() == {eight_devices[2]}
    assert y["b"][1].weak_type
    z = device_put((x, x), (eight_devices[1], None))
    assert [leaf.committed for leaf in z] == [True, False]


def test_default_device_is_used_but_not_binding(eight_devices):
    with config.state("jax_default_device")(eight_devices[5]):
        x = device_put(np.arange(3))
    assert x.devices() == {eight_devices[5]}
    assert not x.committed


def rows_on_four(devices):
    return NamedSharding(Mesh(devices[:4], "i"), P("i"))


@pytest.mark.parametrize(
    ("value", "where", "error", "text"),
    [
        ({"k": "text"}, lambda d: None, TypeError, r"x\['k'\].*'text'"),
        (1.0, lambda d: 5, ValueError, "device must be a Device, a Sharding, a PartitionSpec"),
        (
            np.zeros(6),
            lambda d: NamedSharding(Mesh(d[:4], "i"), P("i")),
            IndivisibleError,
            "dimension 0",
        ),
        (np.zeros(()), lambda d: NamedSharding(Mesh(d[:4], "i"), P("i")), ValueError, "rank"),
    ],
)
def test_mistakes_are_explained(eight_devices, value, where, error, text):
    with pytest.raises(error, match=text):
        device_put(value, where(eight_devices))


def test_device_get_gives_numpy_arrays():
    found = device_get({"a": device_put(np.arange(3)), "b": "text", "c": 2})
    assert isinstance(found["a"], np.ndarray)
    assert (found["a"].tolist(), found["b"], found["c"]) == ([0, 1, 2], "text", 2)


def test_block_until_ready_returns_its_argument():
    tree = {"a": device_put(np.arange(3)), "b": 1}
    assert block_until_ready(tree) is tree


def test_the_callback_is_called_once_for_each_shard(eight_devices):
    sharding = NamedSharding(Mesh(np.array(eight_devices).reshape(4, 2), ("x", "y")), P("x"))
    value = np.arange(32, dtype="float32").reshape(8, 4)
    asked = []
    x = make_array_from_callback((8, 4), sharding, lambda i: asked.append(i) or value[i])
    assert len(asked) == 4
    np.testing.assert_array_equal(np.asarray(x), value)


@pytest.mark.parametrize(
    ("callback", "dtype", "text"),
    [
        (lambda i: np.zeros((8, 4)), None, "the callback returned shape"),
        (
            lambda i: np.zeros((8, 4), "int32")[i],
            "float32",
            "was given, but the callback returned dtype int",
        ),
    ],
)
def test_callback_mistakes(eight_devices, callback, dtype, text):
    sharding = NamedSharding(Mesh(eight_devices, "x"), P("x"))
    with pytest.raises(ValueError, match=text):
        make_array_from_callback((8, 4), sharding, callback, dtype)


def test_process_local_data_of_one_process_is_everything(eight_devices):
    sharding = NamedSharding(Mesh(eight_devices, "x"), P("x"))
    value = np.arange(16, dtype="int32")
    x = make_array_from_process_local_data(sharding, value)
    assert x.sharding == sharding
    np.testing.assert_array_equal(np.asarray(x), value)
    with pytest.raises(ValueError, match="local_data has shape"):
        make_array_from_process_local_data(sharding, value, (8,))
