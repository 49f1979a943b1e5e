"""Messages between processes, in a program of one."""

import numpy as np
import pytest

from ricci_parallel import (
    global_array_to_host_local_array,
    host_local_array_to_global_array,
    host_local_array_to_global_array_p,
)
from ricci_parallel.processes import (
    ProcessFailureError,
    assert_equal,
    broadcast_one_to_all,
    live_devices,
    process_allgather,
    reached_preemption_sync_point,
    sync_global_devices,
)
from ricci_xla import (
    Mesh,
    NamedSharding,
    PartitionSpec,
    devices,
    jit,
    make_array_from_process_local_data,
)

TREE = {"a": np.arange(3, dtype=np.int32), "b": (np.float32(2), True)}


@pytest.fixture
def mesh():
    return Mesh(np.array(devices()[:1], dtype=object), ("x",))


def test_one_process_exchanges_values_with_itself():
    found = broadcast_one_to_all(TREE)
    assert found["a"].tolist() == [0, 1, 2]
    assert found["b"] == (2.0, True)
    assert sync_global_devices("here") is None
    assert assert_equal(TREE, "never") is None


@pytest.mark.parametrize(("tiled", "shape"), [(False, (1, 3)), (True, (3,))])
def test_scalars_are_always_stacked_and_arrays_unless_tiled(tiled, shape):
    found = process_allgather(TREE, tiled=tiled)
    assert found["a"].shape == shape
    assert found["b"][0].shape == (1,)


def test_one_process_is_alive_and_not_preempted():
    assert reached_preemption_sync_point(3) is False
    with live_devices(devices()) as alive:
        assert alive == devices()
    with pytest.raises(KeyError), live_devices(devices()):
        raise KeyError
    error = ProcessFailureError({devices()[0]})
    assert str(error) == f"Devices failed: {{{devices()[0]!r}}}"


def test_the_part_of_the_only_process_is_the_whole(mesh):
    whole = host_local_array_to_global_array(TREE["a"], mesh, PartitionSpec("x"))
    assert whole.sharding == NamedSharding(mesh, PartitionSpec("x"))
    back = global_array_to_host_local_array(whole, mesh, PartitionSpec("x"))
    assert back.tolist() == [0, 1, 2]


@pytest.mark.parametrize("pspecs", [None, {"a": None, "b": PartitionSpec()}, "x"])
def test_every_array_needs_a_spec(mesh, pspecs):
    with pytest.raises(ValueError, match="PartitionSpec"):
        host_local_array_to_global_array({"a": np.ones(2), "b": np.ones(2)}, mesh, pspecs)


def test_arrays_of_one_process_are_refused_inside_jit(mesh):
    call = lambda x: host_local_array_to_global_array_p.bind(
        x, global_mesh=mesh, pspec=PartitionSpec()
    )
    with pytest.raises(ValueError, match="outside"):
        jit(call)(np.ones(2, np.float32))
    assert call(np.ones(2, np.float32)).tolist() == [1, 1]


def test_the_sizes_of_a_global_array_are_numbers(mesh):
    sharding = NamedSharding(mesh, PartitionSpec("x"))
    with pytest.raises(ValueError, match="None for the size"):
        make_array_from_process_local_data(sharding, np.ones((2, 2)), (2, None))
