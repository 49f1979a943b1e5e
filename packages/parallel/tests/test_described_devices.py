"""Programs for CPU devices that are described: they are compiled and sized, and never run."""

import numpy as np
import pytest

from ricci_ir import ShapeDtypeStruct
from ricci_lax import add, dot
from ricci_parallel import device_put, psum, shard_map
from ricci_parallel.reports import communication
from ricci_xla import (
    JaxRuntimeError,
    NamedSharding,
    P,
    devices,
    get_topology_desc,
    jit,
    make_topology_mesh,
)


def double(x):
    return add(x, x)


@pytest.fixture(scope="module")
def mesh():
    return make_topology_mesh(get_topology_desc("cpu:256"), (128, 2), ("data", "model"))


def described(mesh, shape, *spec):
    return ShapeDtypeStruct(shape, np.float32, sharding=NamedSharding(mesh, P(*spec)))


def test_a_program_for_256_devices(mesh):
    compiled = jit(double, donate_argnums=0).lower(described(mesh, (256, 4), "data")).compile()
    memory = compiled.memory_analysis()
    assert memory.argument_size_in_bytes == memory.alias_size_in_bytes == 2 * 4 * 4
    assert compiled.cost_analysis()["flops"] == 2 * 4
    assert compiled.output_shardings == NamedSharding(mesh, P("data"))


def test_collectives_between_256_devices(mesh):
    args = described(mesh, (256, 64), "data", "model"), described(mesh, (64, 8), "model")
    (row,) = communication(dot)(*args)
    assert (row.kind, row.axes, row.bytes) == ("all-reduce", ("model",), 2 * 8 * 4)
    summed = shard_map(lambda x: psum(x, "data"), mesh=mesh, in_specs=P("data"), out_specs=P(None))
    (row,) = communication(summed)(described(mesh, (256, 4), "data"))
    assert (row.kind, row.axes, row.group_size) == ("all-reduce", ("data",), 128)


def test_described_devices_refuse_arrays_and_execution(mesh):
    compiled = jit(double).lower(described(mesh, (256,))).compile()
    with pytest.raises(RuntimeError, match="described and not attached"):
        compiled(np.zeros(256, np.float32))
    with pytest.raises(JaxRuntimeError, match=r"ShapeDtypeStruct\(\(4,\), float32"):
        device_put(np.zeros(4, np.float32), mesh.devices[0, 0])
    assert mesh.devices[0, 0] not in devices("cpu")
    assert jit(double)(np.ones(2, np.float32)).tolist() == [2, 2]
