"""Plans of programs on described CPU devices: memory and its lines, communication, work, errors."""

import inspect

import numpy as np
import pytest

from ricci_ir import ShapeDtypeStruct
from ricci_lax import add, dot, fori_loop, mul, scan, tanh, while_loop
from ricci_parallel import psum, shard_map
from ricci_parallel.planning import Plan, chips, plan
from ricci_parallel.planning._chips import chip_of
from ricci_xla import (
    NamedSharding,
    P,
    devices,
    get_topology_desc,
    jit,
    make_mesh,
    make_topology_mesh,
)

FLOAT = 4


@pytest.fixture(scope="module")
def topology():
    return get_topology_desc("cpu:8")


@pytest.fixture(scope="module")
def mesh(topology):
    return make_topology_mesh(topology, (4, 2), ("data", "model"))


def described(mesh, shape, *spec):
    return ShapeDtypeStruct(shape, np.float32, sharding=NamedSharding(mesh, P(*spec)))


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def test_bytes_of_collectives_by_kind_and_axes(mesh, topology):
    x = described(mesh, (16, 64), "data", "model")
    w = described(mesh, (64, 32), "model")
    found = plan(dot, x, w, topology=topology)
    (row,) = found.traffic
    assert (row.kind, row.axes, row.count) == ("all-reduce", ("model",), 1)
    # Each device contributes 4 of 16 rows, and sends all but a half of them twice.
    assert row.bytes == found.sent() == found.sent("model") == 2 * (4 * 32 * FLOAT) // 2
    assert (row.seconds, found.sent("data")) == (None, 0)


def summed_in_a_loop(x):
    return fori_loop(0, 5, lambda i, x: psum(x, "data"), x)


def test_collectives_in_a_loop_count_its_iterations(mesh):
    f = shard_map(
        summed_in_a_loop, mesh=mesh, in_specs=P("data"), out_specs=P("data"), check_vma=False
    )
    found = plan(f, described(mesh, (16, 8), "data"))
    (row,) = found.traffic
    assert (row.kind, row.axes, row.count) == ("all-reduce", ("data",), 5)
    assert row.bytes == 5 * 2 * 3 * (4 * 8 * FLOAT) // 4
    assert found.unknown_loops == 0


def chained(x, w):
    return scan(lambda x, w: (tanh(dot(x, w)), None), x, w)[0]


def test_operations_in_a_loop_count_its_iterations():
    x, w = (ShapeDtypeStruct(shape, np.float32) for shape in ((32, 32), (7, 32, 32)))
    once, found = plan(dot, x, x, topology="cpu:1"), plan(chained, x, w, topology="cpu:1")
    product = 2 * 32**3
    assert once.flops == once.compiler_flops == product
    assert found.compiler_flops < 2 * product
    assert 7 * product <= found.flops < 8 * product
    assert once.bytes == once.compiler_bytes == 3 * 32 * 32 * FLOAT
    assert found.bytes > 7 * once.bytes


def test_a_loop_of_unknown_length_is_counted_once():
    x = ShapeDtypeStruct((16, 16), np.float32)
    found = plan(grown, x, True, topology="cpu:1")
    assert found.unknown_loops == 1
    assert found.flops == found.compiler_flops
    assert "1 loops of unknown length" in str(found)


def grown(x, again):
    def grow(state):
        x, again = state
        return dot(x, x), again

    return while_loop(lambda state: state[1], grow, (x, again))[0]


def widened(x, w):
    wide = dot(x, w)
    wider = mul(wide, wide)
    return dot(wider, add(wider, wider))


def test_memory_at_its_peak_and_the_line_that_owns_it():
    n = 256
    x = ShapeDtypeStruct((n, 1), np.float32)
    w = ShapeDtypeStruct((1, n), np.float32)
    found = plan(widened, x, w, topology="cpu:1")
    memory = found.memory
    assert (memory.arguments, memory.results) == (2 * n * FLOAT, n * n * FLOAT)
    # At the end there are the product of the first factor with itself, which is computed in its
    # memory, its double, and the result.
    assert memory.live == 3 * n * n * FLOAT
    assert memory.live <= memory.results + memory.temporaries <= 1.2 * memory.live
    computed = [owner for owner in found.owners if owner.kind != "argument"]
    assert sum(owner.bytes for owner in computed) == memory.live
    assert {owner.line for owner in computed} == {
        line_of(widened, "wider ="),
        line_of(widened, "return"),
    }
    assert {owner.file for owner in computed} == {__file__}
    assert memory.total == memory.arguments + memory.results + memory.temporaries + memory.code
    names = [owner.name for owner in found.owners if owner.kind == "argument"]
    assert sorted(names) == ["w", "x"]


def kept(x, w):
    def body(x, w):
        inner = tanh(dot(x, w))
        return inner, mul(inner, inner)

    return scan(body, x, w)


def test_stacked_arrays_of_a_loop_are_owned_by_the_line_that_computes_them():
    x, w = (ShapeDtypeStruct(shape, np.float32) for shape in ((64, 64), (9, 64, 64)))
    found = plan(total, x, w, topology="cpu:1")
    stack = next(owner for owner in found.owners if owner.shape == "f32[9,64,64]" and owner.line)
    assert stack.line == line_of(kept, "return inner")


def total(x, w):
    last, stacked = kept(x, w)
    return scan(lambda x, y: (add(dot(x, y), y), None), last, stacked)[0]


def test_results_in_donated_memory(mesh):
    x = described(mesh, (64, 64), "data")
    found = plan(jit(tanh, donate_argnums=0), x)
    assert found.memory.donated == found.memory.results == 16 * 64 * FLOAT
    assert found.memory.total == found.memory.arguments
    assert [owner.kind for owner in found.owners] == ["argument"]


def test_arrays_on_attached_devices():
    mesh = make_mesh((len(devices()),), ("data",), devices=devices())
    found = plan(tanh, described(mesh, (16, 8), "data"))
    assert (found.devices, found.device_kind, found.chip) == (len(devices()), "cpu", None)
    assert (found.time, found.fits) == (None, None)
    assert plan(tanh, np.ones(3, np.float32)).memory.arguments == 12


def test_a_plan_is_printed(mesh):
    found = plan(
        dot, described(mesh, (16, 64), "data", "model"), described(mesh, (64, 32), "model")
    )
    text = str(found)
    assert isinstance(found, Plan)
    assert text.startswith("dot on 8 x cpu\nmemory of each device (compiler): ")
    assert "all-reduce  over model  1 times" in text
    assert "no estimate of time: 'cpu' is not in the table of chips" in text
    assert str(plan(tanh, np.ones(3, np.float32))).count("no communication") == 1


def test_arguments_that_are_not_functions_are_refused():
    with pytest.raises(TypeError, match="plan expects a function, got 3"):
        plan(3)  # pyright: ignore[reportArgumentType]


def test_arguments_without_shardings_are_refused(topology):
    with pytest.raises(ValueError, match="no argument of tanh has a sharding") as caught:
        plan(tanh, ShapeDtypeStruct((8,), np.float32), topology=topology)
    assert "topologies.make_mesh" in str(caught.value)


def test_arguments_on_other_devices_are_refused(mesh):
    with pytest.raises(ValueError, match="use one object for both"):
        plan(tanh, described(mesh, (8,)), topology="cpu:8")


def test_errors_while_tracing_are_those_of_jit(mesh):
    with pytest.raises(ValueError, match="inner sizes agree"):
        plan(dot, described(mesh, (8, 3)), described(mesh, (8, 3)))


class Device:
    """What is read of a device."""

    platform = "tpu"

    def __init__(self, kind, *place, cores=1):
        self.device_kind = kind
        if place:
            self.coords, self.client = place, self
            self._cores = cores

    def devices(self):
        return [self] * self._cores


@pytest.mark.parametrize(
    ("device", "name", "flops"),
    [
        (Device("TPU v5 lite", 0, 0, 0), "TPU v5e", 197e12),
        (Device("TPU v5", 0, 0, 0), "TPU v5p", 459e12),
        (Device("TPU v6 lite", 0, 0, 0), "TPU v6e", 918e12),
        (Device("TPU v4", 0, 0, 0, cores=2), "TPU v4 / 2", 275e12 / 2),
        (Device("NVIDIA H200"), "NVIDIA H200", 989e12),
        (Device("NVIDIA A100-SXM4-80GB"), "NVIDIA A100", 312e12),
    ],
)
def test_the_chip_of_a_device(device, name, flops):
    chip = chip_of(device)
    assert chip is not None
    assert (chip.name, chip.flops) == (name, flops)


def test_chips_that_are_not_in_the_table():
    assert chip_of(Device("cpu")) is None
    assert chip_of(Device("TPU v9", 0, 0, 0)) is None
    assert all(chip.source and chip.flops > chip.memory_bandwidth for chip in chips.values())
