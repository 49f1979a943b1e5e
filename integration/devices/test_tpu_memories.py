"""Bytes that executables take of the host and of a described TPU, by how a memory is specified.

`nox -s integration-tpu` runs this where libtpu is installed; it needs no TPU. Nothing is run.
"""

import importlib
import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="compiled programs need the runtime")

import ricci
import ricci.numpy as jnp
from ricci import NamedSharding, P, ShapeDtypeStruct, lax
from ricci.ad_checkpoint import checkpoint_name
from ricci.experimental import topologies
from ricci.memory import Space
from ricci.sharding import SingleDeviceSharding

pytestmark = pytest.mark.skipif(
    find_spec("libtpu") is None and "RICCI_TEST_LIBTPU" not in os.environ,
    reason="the package libtpu, which compiles for TPUs, is not installed: nox -s integration-tpu",
)
HOST, DEVICE = "pinned_host", "device"
SIZE, LAYERS = 1024, 8
WHOLE = SIZE * SIZE * 4


class Places:
    """Shardings of a described TPU: on one chip, or over its four."""

    def __init__(self, topology, chips):
        self.topology, self.chips = topology, chips
        if chips > 1:
            self.mesh = ricci.sharding.Mesh(np.array(topology.devices), ("x",))

    def on(self, memory=None, *spec):
        if self.chips == 1:
            return SingleDeviceSharding(self.topology.devices[0], memory_kind=memory)
        return NamedSharding(self.mesh, P(*spec), memory_kind=memory)

    def matrix(self, memory):
        return ShapeDtypeStruct((SIZE, SIZE), np.float32, sharding=self.on(memory, "x"))

    def stack(self, memory):
        shape = (LAYERS, SIZE, SIZE)
        return ShapeDtypeStruct(shape, np.float32, sharding=self.on(memory, None, "x"))


@pytest.fixture(scope="module", params=[1, 4])
def places(request):
    return Places(topologies.get_topology_desc("v5e:2x2"), request.param)


def to_host(x):
    return ricci.device_put(x, Space.Host)


def to_device(x):
    return ricci.device_put(x, Space.Device)


def stacked(x):
    def body(carry, _):
        carry = jnp.sin(carry)
        return carry, to_host(carry)

    return lax.scan(body, x, None, length=LAYERS)[1]


def layers(weights, x):
    return lax.scan(lambda x, w: (jnp.sin(x + to_device(w)), None), x, weights)[0]


def branches(x):
    return lax.cond(x[0, 0] > 0, lambda x: to_host(x + 1), lambda x: to_host(x * 2), x)


def repeated(x):
    return lax.fori_loop(0, 5, lambda _, x: jnp.sin(to_device(to_host(x))), x)


def offloaded(x):
    policy = ricci.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[],
        names_which_can_be_offloaded=["h"],
        offload_src=DEVICE,
        offload_dst=HOST,
    )

    def body(x, _):
        return jnp.sin(checkpoint_name(x * x, "h")), None

    return lax.scan(ricci.checkpoint(body, policy=policy), x, None, length=LAYERS)[0].sum()


def overwritten(buffer, x):
    return buffer.at[0].set(to_host(x))


# For each program its function, its options, its arguments and bytes of one chip's part, in parts
# of a matrix: arguments and results on the device, then arguments, results and temporary buffers
# on the host. JAX's programs take the same; it does not compile what is computed on the host
# for a single chip.
PROGRAMS = {
    "an argument": lambda p: (lambda x: to_device(x) * 2, {}, [p.matrix(HOST)], (0, 1, 1, 0, 0)),
    "an argument to a sharding": lambda p: (
        lambda x: ricci.device_put(x, p.on(DEVICE, "x")) * 2,
        {},
        [p.matrix(HOST)],
        (0, 1, 1, 0, 0),
    ),
    "in_shardings": lambda p: (
        lambda x: to_device(x) * 2,
        {"in_shardings": p.on(HOST, "x")},
        [ShapeDtypeStruct((SIZE, SIZE), np.float32)],
        (0, 1, 1, 0, 0),
    ),
    "computed on the host": lambda p: (lambda x: x * 2, {}, [p.matrix(HOST)], (0, 0, 1, 1, 0)),
    "two arguments": lambda p: (
        lambda x, y: to_device(x) + y,
        {},
        [p.matrix(HOST), p.matrix(DEVICE)],
        (1, 1, 1, 0, 0),
    ),
    "out_shardings": lambda p: (
        lambda x: x * 2,
        {"out_shardings": p.on(HOST, "x")},
        [p.matrix(DEVICE)],
        (1, 0, 0, 1, 0),
    ),
    "a result": lambda p: (lambda x: to_host(x * 2), {}, [p.matrix(DEVICE)], (1, 0, 0, 1, 0)),
    "out_shardings of a host value": lambda p: (
        lambda x: to_host(x * 2),
        {"out_shardings": p.on(DEVICE, "x")},
        [p.matrix(DEVICE)],
        (1, 1, 0, 0, 1),
    ),
    "there and back": lambda p: (
        lambda x: ricci.device_put(ricci.device_put(x * 2, p.on(HOST, "x")), p.on(None, "x")) + 1,
        {},
        [p.matrix(DEVICE)],
        (1, 1, 0, 0, 1),
    ),
    "an inner jit": lambda p: (
        lambda x: ricci.jit(to_device)(x) * 2,
        {},
        [p.matrix(HOST)],
        (0, 1, 1, 0, 0),
    ),
    "scan's results": lambda p: (stacked, {}, [p.matrix(DEVICE)], (1, 0, 0, LAYERS, 0)),
    "scan's operands": lambda p: (
        layers,
        {},
        [p.stack(HOST), p.matrix(DEVICE)],
        (1, 1, LAYERS, 0, 0),
    ),
    "fori_loop": lambda p: (repeated, {}, [p.matrix(DEVICE)], (1, 1, 0, 0, 1)),
    "donated": lambda p: (
        lambda x: ricci.device_put(to_device(x) * 2, p.on(HOST, "x")),
        {"donate_argnums": 0, "out_shardings": p.on(HOST, "x")},
        [p.matrix(HOST)],
        (0, 0, 1, 1, 0),
    ),
    "written in place": lambda p: (
        overwritten,
        {"donate_argnums": 0, "out_shardings": p.on(HOST, None, "x")},
        [p.stack(HOST), p.matrix(DEVICE)],
        (1, 0, LAYERS, LAYERS, 0),
    ),
    "offloaded residuals": lambda p: (
        ricci.grad(offloaded),
        {},
        [p.matrix(DEVICE)],
        (1, 1, 0, 0, LAYERS),
    ),
    "a derivative": lambda p: (
        ricci.grad(lambda w, x: jnp.sin(to_device(w) * x).sum(), 1),
        {},
        [p.matrix(HOST), p.matrix(DEVICE)],
        (1, 1, 1, 0, 0),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_memory_analysis_counts_bytes_in_the_annotated_memory(places, name):
    function, options, args, expected = PROGRAMS[name](places)
    jitted = ricci.jit(function, **options)
    memory = jitted.lower(*args).compile().memory_analysis()
    sizes = (
        memory.argument_size_in_bytes,
        memory.output_size_in_bytes,
        memory.host_argument_size_in_bytes,
        memory.host_output_size_in_bytes,
        memory.host_temp_size_in_bytes,
    )
    assert sizes == tuple(n * WHOLE // places.chips for n in expected)
    if "donate_argnums" in options:
        assert memory.host_alias_size_in_bytes == memory.host_output_size_in_bytes


def test_branches_that_end_on_the_host():
    places = Places(topologies.get_topology_desc("v5e:2x2"), 1)  # over four chips XLA ends itself
    compiled = ricci.jit(branches).lower(places.matrix(DEVICE)).compile()
    assert compiled.memory_analysis().host_output_size_in_bytes == WHOLE


PAGE = Path(__file__).parents[2] / "docs" / "devices" / "memory-kinds.md"


def test_the_page_of_memory_kinds_has_the_bytes_of_a_tpu():
    pytest.importorskip("jax", reason="the programs import jax: the drop-in, or JAX")
    memories = importlib.import_module("gpu_cases.memories")
    device = topologies.get_topology_desc("v5e:2x2", platform="tpu").devices[0]
    on = lambda memory: SingleDeviceSharding(device, memory_kind=memory)
    compiled = {
        name: memories.sizes(ricci.jit(function, **options).lower(*arguments).compile())
        for name, (function, options, arguments) in memories.programs(on, "tpu").items()
    }
    rows = {name: memories.cells(sizes) for name, sizes in compiled.items()}
    assert rows == memories.rows_of_page(PAGE.read_text(), "v5e")


def test_fit_memory_moves_to_the_host_what_the_link_carries_beside_the_computation():
    (device, *_) = topologies.get_topology_desc("v5e:2x2").devices
    sharding = SingleDeviceSharding(device)
    described = lambda *shape: ShapeDtypeStruct(shape, jnp.bfloat16, sharding=sharding)

    def loss(ws, x):
        for w, v in ws:
            h = jnp.tanh(x @ w)
            x = x + jnp.sin(h @ v) * h
        return jnp.sum(x.astype(jnp.float32) ** 2)

    w = described(4096, 4096)
    fit = ricci.fit_memory(ricci.grad(loss), "2.5GB").plan([(w, w)] * 4, described(16384, 4096))
    assert fit.peak_bytes <= 2.5e9 < fit.unlimited
    assert fit.recomputation.on_host and fit.host_bytes > 2**28
    # Products are moved, not repeated.
    assert fit.again < 0.01
