"""Programs compiled for a described H100 beside JAX's: memory, kernels and custom calls.

`nox -s gpu-described` runs this where the CUDA plugin is installed; it needs no GPU and no driver.
"""

import importlib
import json
import math
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("ricci_xla", reason="compiled programs need the runtime")
pytest.importorskip("jax", reason="both sides import jax: the drop-in, or JAX")

from gpu_cases.accepted import DIFFERENCES, MEMORY_DIFFERENCES
from gpu_cases.memories import cells, rows_of_page

import ricci
import ricci.numpy as jnp
from ricci.experimental import rnn, sparse, topologies
from ricci.parallel import plan
from ricci_autodiff import rewrite_differentiated
from ricci_ir import clear_caches
from ricci_lax.recomputation import Recomputation
from ricci_stablehlo import kernel_descriptors
from ricci_xla.devices._gpu_targets import GPU_CONFIGS

INTEGRATION = Path(__file__).parents[1]
ORACLE = os.environ.get("RICCI_GPU_ORACLE")  # real JAX with the same plugin
GROUPS = ["arrays", "matrices", "learning", "models", "collectives"]
# Every so many programs of a group are compiled; 1 for all.
STEP = os.environ.get("RICCI_GPU_STEP", "6")
pytestmark = pytest.mark.skipif(
    find_spec("jax_plugins") is None or find_spec("jax_plugins.xla_cuda13") is None,
    reason="jax-cuda13-plugin, which compiles for GPUs, is not installed: nox -s gpu-described",
)


def compile_both(group, step, folder):
    """Return what each program of a group compiles to, ours and JAX's."""
    if ORACLE is None:
        pytest.skip("no JAX with the CUDA plugin: run nox -s gpu-described")
    config = folder / "h100.txt"
    config.write_text(GPU_CONFIGS["h100"])
    sides = []
    for name, python, paths in (("ours", sys.executable, sys.path), ("theirs", ORACLE, [])):
        out = folder / f"{name}.json"
        variables = {
            **os.environ,
            "JAX_PLATFORMS": "cpu",
            "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1",  # there is no driver to ask
            "PYTHONPATH": os.pathsep.join(filter(None, [str(INTEGRATION), *paths])),
        }
        command = [python, "-W", "ignore", "-m", "gpu_cases.side"]
        command += [str(out), str(config), step, group]
        subprocess.run(command, env=variables, cwd=folder, check=True)
        sides.append(json.loads(out.read_text()))
    return sides


@pytest.fixture(scope="module", params=GROUPS)
def compiled(request, tmp_path_factory):
    return compile_both(request.param, STEP, tmp_path_factory.mktemp(request.param))


def costs(program):
    """Return the compared facts: all but the time of compilation and the text of an error."""
    return {k: v for k, v in program.items() if k not in ("seconds", "text")}


def test_programs_take_no_more_memory_and_kernels_than_jaxs(compiled):
    ours, theirs = compiled
    assert ours.keys() == theirs.keys()
    wrong = []
    for name, their in theirs.items():
        our = ours[name]
        accepted = DIFFERENCES.get(name)
        if accepted is not None:
            if accepted != (costs(our), costs(their)):
                wrong.append((name, "not as accepted", our, their))
        elif "error" in our or "error" in their:
            if costs(our) != costs(their):
                wrong.append((name, our, their))
        else:
            fewer = sum(our["kernels"].values()) <= sum(their["kernels"].values())
            smaller = our["temporaries"] <= their["temporaries"]
            if not (fewer and smaller and our["calls"] == their["calls"]):
                wrong.append((name, our, their))
    assert not wrong, "\n".join(map(str, wrong))


def test_memory_kinds_take_the_bytes_that_they_take_in_jax(tmp_path):
    ours, theirs = compile_both("memories", "1", tmp_path)
    assert ours.keys() == theirs.keys()
    pairs = {name: (costs(ours[name]), costs(theirs[name])) for name in theirs}
    assert {name: pair for name, pair in pairs.items() if pair[0] != pair[1]} == MEMORY_DIFFERENCES
    page = (INTEGRATION.parent / "docs" / "devices" / "memory-kinds.md").read_text()
    sizes = {name: None if "error" in row else row for name, row in ours.items()}
    assert {name: cells(row) for name, row in sizes.items()} == rows_of_page(page, "H100")


@pytest.mark.parametrize("name", GPU_CONFIGS)
def test_a_program_is_compiled_for_each_named_gpu(name):
    (device,) = topologies.get_topology_desc(name).devices
    assert device.platform == "gpu"
    sharding = ricci.sharding.SingleDeviceSharding(device)
    x = ricci.ShapeDtypeStruct((256, 256), jnp.float32, sharding=sharding)
    compiled = ricci.jit(lambda x: jnp.sin(x @ x)).lower(x).compile()
    assert compiled.memory_analysis().argument_size_in_bytes == 4 * 256**2
    with pytest.raises(RuntimeError, match="described and not attached"):
        compiled(jnp.zeros((256, 256), jnp.float32))


@pytest.fixture
def described_kernels(monkeypatch):
    """Descriptions of kernels by a stand-in: cuSPARSE and cuDNN cannot be asked without a GPU."""
    folder = INTEGRATION / "gpu_cases" / "plugin" / "jax_cuda13_plugin"
    monkeypatch.syspath_prepend(folder)
    modules = {name: importlib.import_module(f"_{name}") for name in ("sparse", "rnn")}
    describe = lambda platform, library: modules[library] if platform == "cuda" else None
    monkeypatch.setattr(kernel_descriptors, "call", describe)
    clear_caches()
    yield
    clear_caches()


def targets_on_h100(function, *operands):
    (device,) = topologies.get_topology_desc("h100").devices
    sharding = ricci.sharding.SingleDeviceSharding(device)
    described = [ricci.ShapeDtypeStruct(*operand, sharding=sharding) for operand in operands]
    text = ricci.jit(function).lower(*described).compile().as_text()
    return set(re.findall('custom_call_target="([^"]*)"', text))


def test_kernels_of_cusparse_and_cudnn_are_registered(described_kernels):
    operands = [((60,), "float32"), ((60,), "int32"), ((9,), "int32"), ((5, 4), "float32")]
    product = lambda *parts: sparse.CSR(parts[:3], shape=(8, 5)) @ parts[3]
    assert targets_on_h100(product, *operands) == {"cusparse_csr_matmat_ffi"}
    sizes = (3, 4, 2)
    count = rnn.get_num_params_in_lstm(*sizes, False)
    shapes = [(2, 5, 3), (2, 2, 4), (2, 2, 4), (count,)]
    operands = [*((shape, "float32") for shape in shapes), ((2,), "int32")]
    loss = lambda *xs: sum(map(jnp.sum, rnn.lstm(*xs, *sizes, 0.0, False)))
    kernels = {"cudnn_rnn_ffi", "cudnn_rnn_bwd_ffi"}
    assert targets_on_h100(ricci.grad(loss), *operands) == kernels


def test_processes_and_slices_of_gpus_are_described():
    devices = topologies.get_topology_desc("h100:2x2x4").devices
    assert len(devices) == 16
    assert {d.process_index for d in devices} == {0, 1, 2, 3}


@pytest.mark.parametrize("name", GPU_CONFIGS)
def test_a_plan_knows_the_memory_and_the_speed_of_each_named_gpu(name):
    topology = topologies.get_topology_desc(name)
    # 28 GB of argument and result: more than the RTX 4090 has, less than the others have.
    shape = (60_000, 58_000)
    step = ricci.jit(lambda x: jnp.sin(x) + 1)
    costs = plan(step, ricci.ShapeDtypeStruct(shape, jnp.float32), topology=topology)
    assert costs.memory.total == costs.bytes == 2 * 4 * math.prod(shape)
    assert costs.fits == (name != "rtx4090")
    assert costs.time.memory == costs.bytes / costs.chip.memory_bandwidth
    # The memory plan is of what devices hold, which the shardings of the arguments say.
    sharding = ricci.sharding.SingleDeviceSharding(topology.devices[0])
    x = ricci.ShapeDtypeStruct(shape, jnp.float32, sharding=sharding)
    assert ricci.memory_plan(step, x).peak_bytes == costs.memory.total


def test_a_plan_for_gpus():
    topology = topologies.get_topology_desc("h100:2")
    mesh = topologies.make_mesh(topology, (2,), ("x",))
    rows = ricci.NamedSharding(mesh, ricci.P("x"))
    x = ricci.ShapeDtypeStruct((1024, 1024), jnp.float32, sharding=rows)
    found = plan(ricci.jit(lambda x: x.T @ x), x, topology=topology)
    assert "2 x NVIDIA H100" in str(found) and "all-reduce" in str(found)
    remembered = ricci.memory_plan(lambda x: jnp.tanh(x @ x).sum(), x)
    assert remembered.peak_bytes > 2 * 1024**2


def test_residuals_of_segments_on_the_host_leave_memory_of_the_gpu():
    (device,) = topologies.get_topology_desc("h100").devices
    sharding = ricci.sharding.SingleDeviceSharding(device)
    described = lambda *shape: ricci.ShapeDtypeStruct(shape, jnp.float32, sharding=sharding)

    def loss(ws, x):
        for w in ws:
            h = jnp.tanh(x @ w)
            x = x + jnp.sin(h @ w) * h
        return jnp.sum(x**2)

    # The scheduler saves memory only where a program needs about as much as the GPU has.
    arguments = [described(2048, 2048)] * 8, described(2**19, 2048)
    peaks = []
    for on_host in (False, True):
        with rewrite_differentiated(Recomputation(6, 6, math.inf, False, on_host)):
            traced = ricci.jit(ricci.grad(loss)).trace(*arguments)
        sizes = traced.lower().compile().memory_analysis()
        assert (sizes.host_temp_size_in_bytes > 2**33) == on_host
        peaks.append(sizes.temp_size_in_bytes)
    assert peaks[1] < 0.9 * peaks[0]


def test_fit_memory_moves_to_the_host_what_the_link_carries_beside_the_computation():
    (device,) = topologies.get_topology_desc("h100").devices
    sharding = ricci.sharding.SingleDeviceSharding(device)
    described = lambda *shape: ricci.ShapeDtypeStruct(shape, jnp.bfloat16, sharding=sharding)

    def loss(ws, x):
        for w, v in ws:
            h = jnp.tanh(x @ w)
            x = x + jnp.sin(h @ v) * h
        return jnp.sum(x.astype(jnp.float32) ** 2)

    def fit(width, rows, limit):
        w = described(width, width)
        return ricci.fit_memory(ricci.grad(loss), limit).plan([(w, w)] * 8, described(rows, width))

    # The products of wide matrices cost many operations for each byte; those of narrow ones are
    # quicker to repeat than to move.
    wide, narrow = fit(8192, 65536, "24GB"), fit(512, 2**20, "24GB")
    assert wide.recomputation.on_host and wide.host_bytes > 2**33
    assert wide.peak_bytes <= 24e9 < wide.unlimited
    assert wide.again < 0.01
    assert not narrow.recomputation.on_host and narrow.host_bytes == 0
    assert narrow.peak_bytes <= 24e9 < narrow.unlimited
