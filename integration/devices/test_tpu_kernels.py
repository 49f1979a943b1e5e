"""Kernels compiled for TPUs that are not here, with libtpu: each operation and each kernel.

`nox -s integration-tpu` runs this where libtpu is installed; it needs no TPU. Nothing is run: what
the text computes is tested by `test_kernel_text.py`.
"""

import os
import re
from contextlib import nullcontext
from importlib.util import find_spec

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="compiled programs need the runtime")

from kernel_cases import KERNELS, OPERATIONS, memories, operation_kernel, rows
from kernel_cases.ops import OPS
from kernel_cases.remote import COLLECTIVES, on_mesh
from kernel_cases.tiled import tiled_matmul

import ricci
import ricci.numpy as jnp
from ricci import NamedSharding, P
from ricci.experimental import pallas as pl
from ricci.experimental import topologies
from ricci.experimental.pallas import tpu as pltpu

pytestmark = pytest.mark.skipif(
    find_spec("libtpu") is None and "RICCI_TEST_LIBTPU" not in os.environ,
    reason="the package libtpu, which compiles for TPUs, is not installed: nox -s integration-tpu",
)
TOPOLOGIES = ("v5e:2x2", "v5p:2x2x1", "v6e:2x2")


@pytest.fixture(scope="module", params=TOPOLOGIES)
def place(request):
    device = topologies.get_topology_desc(request.param).devices[0]
    return ricci.sharding.SingleDeviceSharding(device)


def compiled(function, types, place):
    described = [ricci.ShapeDtypeStruct(x.shape, x.dtype, sharding=place) for x in types]
    return ricci.jit(function).lower(*described).compile()


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_compiles(place, name):
    x = ricci.ShapeDtypeStruct((8, 128), np.float32)
    text = compiled(operation_kernel(OPERATIONS[name]), [x], place).as_text()
    assert "tpu_custom_call" in text


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_compiles(place, name):
    function, types = KERNELS[name]
    assert "tpu_custom_call" in compiled(lambda *xs: function(*xs), types, place).as_text()


@pytest.mark.parametrize("name", OPS)
def test_a_ready_made_kernel_and_its_gradient_compile(place, name):
    function, types = OPS[name]
    assert "tpu_custom_call" in compiled(lambda *xs: function(*xs), types, place).as_text()


def test_copies_that_count_compile_where_the_device_has_them(place):
    (device,) = place.device_set
    x = ricci.ShapeDtypeStruct(memories.SHAPE, np.float32)
    if device.device_kind == "TPU v5 lite":
        message = r"(?s)dma_start.*REGULAR, and copies of a TPU v5 lite.*It is at .*memories.py"
        with pytest.raises(NotImplementedError, match=message):
            compiled(memories.counted_copies, [x], place)
    else:
        assert "tpu_custom_call" in compiled(memories.counted_copies, [x], place).as_text()


def scoped_memory(executable):
    """The bytes of vector memory that the compiler assigns to a kernel."""
    sizes = re.findall(r'used_scoped_memory_configs":\[\{[^}]*"size":"(\d+)"', executable.as_text())
    return max(map(int, sizes))


def test_the_plan_is_the_compilers_memory(place):
    def body(x, y, out, total):
        @pl.when(pl.program_id(0) == 0)
        def _():
            total[...] = jnp.zeros_like(total)

        total[...] += x[...] + y[...]
        out[...] = total[...]

    spec = pl.BlockSpec((256, 256), lambda i: (i, 0))
    f = pl.pallas_call(
        body,
        ricci.ShapeDtypeStruct((1024, 256), jnp.float32),
        grid=4,
        in_specs=[spec, spec],
        out_specs=spec,
        scratch_shapes=[pltpu.VMEM((256, 256), jnp.float32)],
    )
    x = ricci.ShapeDtypeStruct((1024, 256), np.float32)
    planned = (3 * 2 + 1) * 256 * 256 * 4
    assert 0 <= scoped_memory(compiled(f, [x, x], place)) - planned < 2**17


def test_the_plan_of_blocks_is_exact(place):
    def double(x, out):
        out[...] = x[...] * 2

    spec = pl.BlockSpec((256, 128), lambda i: (i, 0))
    shape = ricci.ShapeDtypeStruct((1024, 128), jnp.float32)
    f = pl.pallas_call(double, shape, grid=4, in_specs=[spec], out_specs=spec)
    assert scoped_memory(compiled(f, [shape], place)) == 2 * 2 * 256 * 128 * 4


def test_blocks_beyond_the_memory_are_named(place):
    def copy(x, out):
        out[...] = x[...]

    f = pl.pallas_call(copy, ricci.ShapeDtypeStruct((8192, 8192), jnp.float32))
    x = ricci.ShapeDtypeStruct((8192, 8192), np.float32)
    with pytest.raises(ValueError, match=r"need 512.00 MiB.*\n  args\[0\]: float32\[8192, 8192\]"):
        compiled(f, [x], place)


def test_a_kernel_on_each_shard_compiles():
    mesh = topologies.make_mesh(topologies.get_topology_desc("v5e:2x2"), (4,), ("x",))

    def body(x, out):
        out[...] = x[...] * 2

    f = ricci.shard_map(rows(body), mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False)
    x = ricci.ShapeDtypeStruct((128, 128), np.float32, sharding=NamedSharding(mesh, P("x")))
    assert "tpu_custom_call" in ricci.jit(f).lower(x).compile().as_text()


@pytest.mark.parametrize("sizes", [(4,), (2, 2)])
@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("name", COLLECTIVES)
def test_a_kernel_that_copies_to_other_devices_compiles(name, topology, sizes):
    described = topologies.get_topology_desc(topology)
    mesh = topologies.make_mesh(described, sizes, ("x", "y")[: len(sizes)])
    f, x = on_mesh(name, mesh)
    text = ricci.jit(f).lower(x).compile().as_text()
    assert "tpu_custom_call" in text and '"has_communication":true' in text.replace(" ", "")


@pytest.mark.parametrize("kind", ["Explicit", "Auto"])
def test_a_kernel_whose_steps_devices_share_compiles(kind):
    devices = np.array(topologies.get_topology_desc("v5e:2x2").devices)
    mesh = ricci.sharding.Mesh(devices, ("x",), axis_types=(ricci.sharding.AxisType[kind],))

    def body(x, out):
        out[...] = x[...] * pl.program_id(0)

    described = NamedSharding(mesh, P("x"))
    x = ricci.ShapeDtypeStruct((32, 128), np.float32, sharding=described)
    with nullcontext() if kind == "Explicit" else pytest.warns(UserWarning, match="runs whole"):
        text = ricci.jit(rows(body)).lower(x).compile().as_text()
    assert "tpu_custom_call" in text
    assert ("all-gather" in text) == (kind == "Auto")


def test_a_kernel_in_a_partly_manual_computation_compiles():
    devices = np.array(topologies.get_topology_desc("v5e:2x2").devices).reshape(2, 2)
    mesh = ricci.sharding.Mesh(devices, ("x", "y"))

    def body(x, out):
        out[...] = x[...] * 2

    options = {"mesh": mesh, "in_specs": P("x"), "out_specs": P("x"), "axis_names": {"x"}}
    f = ricci.shard_map(rows(body), **options, check_vma=False)
    x = ricci.ShapeDtypeStruct((64, 128), np.float32, sharding=NamedSharding(mesh, P("x")))
    assert "tpu_custom_call" in ricci.jit(f).lower(x).compile().as_text()


def test_autotune_refuses_blocks_that_do_not_fit(place):
    x = ricci.ShapeDtypeStruct((4096, 4096), np.float32, sharding=place)
    sizes = [{"size": size} for size in (100, 128, 256, 2048)]
    choice = ricci.kernels.autotune(tiled_matmul, sizes).choice(x, x)
    misaligned, small, fitting, large = choice.trials
    assert "divisible by 8 and 128" in misaligned.refusal
    assert "MiB of vector memory" in large.refusal
    fits = [trial for trial in (small, fitting) if trial.refusal is None]
    assert choice.options == fits[-1].options
    assert "which is not here: the fewest bytes moved" in choice.basis


@pytest.mark.filterwarnings("ignore:the derivative of the compiled kernel")
@pytest.mark.parametrize("name", ["matmul", "vmap of a matmul"])
def test_the_derivative_of_a_kernel_compiles(place, name):
    function, types = KERNELS[name]
    loss = lambda *xs: (function(*xs) ** 2).sum()
    assert "tpu_custom_call" in compiled(ricci.grad(loss, (0, 1)), types, place).as_text()
