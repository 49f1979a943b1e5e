"""Programs compiled for TPUs that are not here, with libtpu: they compile, fit and communicate.

`nox -s integration-tpu` runs this where libtpu is installed; it needs no TPU. Nothing is run.
"""

import os
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="compiled programs need the runtime")

import ricci
import ricci.numpy as jnp
from ricci import NamedSharding, P, ShapeDtypeStruct, lax
from ricci.experimental import topologies
from ricci.parallel import communication, plan
from ricci.sharding import AxisType

pytestmark = pytest.mark.skipif(
    find_spec("libtpu") is None and "RICCI_TEST_LIBTPU" not in os.environ,
    reason="the package libtpu, which compiles for TPUs, is not installed: nox -s integration-tpu",
)
TOPOLOGIES = {"v5e:2x2": (2, 2), "v5e:4x4": (4, 4)}
WIDTH, HEADS, HIDDEN, LENGTH, BATCH = 256, 4, 512, 128, 32


class Described:
    """A mesh of a topology, and descriptions of arrays on it."""

    def __init__(self, topology, **axes):
        self.topology, self.sizes = topology, axes
        self.mesh = topologies.make_mesh(topology, tuple(axes.values()), tuple(axes))
        assert set(self.mesh.axis_types) == {AxisType.Auto}

    def along(self, axis):
        """The same devices in a row."""
        return Described(self.topology, **{axis: self.mesh.size})

    def on(self, *spec):
        return NamedSharding(self.mesh, P(*spec))

    def array(self, shape, *spec, dtype=np.float32):
        return ShapeDtypeStruct(shape, dtype, sharding=self.on(*spec))


@pytest.fixture(scope="module", params=TOPOLOGIES)
def tpu(request):
    data, model = TOPOLOGIES[request.param]
    return Described(topologies.get_topology_desc(request.param), data=data, model=model)


def bytes_of(args):
    """Count the bytes of the described arrays on one device."""
    leaves = ricci.tree.leaves(args)
    shapes = [leaf.sharding.shard_shape(leaf.shape) for leaf in leaves]
    return sum(
        int(np.prod(shape)) * leaf.dtype.itemsize
        for shape, leaf in zip(shapes, leaves, strict=True)
    )


def perceptron(weights, x):
    for w in weights[:-1]:
        x = relu(x @ w)
    return x @ weights[-1]


def relu(x):
    return jnp.maximum(x, 0)


def sgd(loss):
    def step(weights, *batch):
        value, gradient = ricci.value_and_grad(loss)(weights, *batch)
        return ricci.tree.map(lambda w, g: w - 0.1 * g, weights, gradient), value

    return step


def squared_error(weights, x, y):
    return jnp.mean((perceptron(weights, x) - y) ** 2)


def data_parallel(tpu):
    weights = [tpu.array((WIDTH, HIDDEN)), tpu.array((HIDDEN, WIDTH))]
    x, y = (tpu.array((BATCH, WIDTH), "data") for _ in range(2))
    return ricci.jit(sgd(squared_error), donate_argnums=0), (weights, x, y)


def fully_sharded(tpu):
    def gathered(weights, x, y):
        whole = lax.with_sharding_constraint(weights, [tpu.on()] * len(weights))
        return squared_error(whole, x, y)

    shared = tpu.on(("data", "model"))
    weights = [tpu.array(shape, ("data", "model")) for shape in ((WIDTH, HIDDEN), (HIDDEN, WIDTH))]
    x, y = (tpu.array((BATCH, WIDTH), ("data", "model")) for _ in range(2))
    step = ricci.jit(sgd(gathered), donate_argnums=0, out_shardings=([shared] * 2, tpu.on()))
    return step, (weights, x, y)


def normalize(x):
    centered = x - x.mean(-1, keepdims=True)
    return centered * lax.rsqrt(jnp.mean(centered**2, -1, keepdims=True) + 1e-6)


def block(weights, x):
    h = normalize(x)
    q, k, v = (jnp.einsum("btd,dhk->bthk", h, weights[name]) for name in "qkv")
    scores = jnp.einsum("bthk,bshk->bhts", q, k) / q.shape[-1] ** 0.5
    scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -1e9)
    mixed = jnp.einsum("bhts,bshk->bthk", ricci.nn.softmax(scores), v)
    x = x + jnp.einsum("bthk,hkd->btd", mixed, weights["o"])
    return x + ricci.nn.gelu(normalize(x) @ weights["up"]) @ weights["down"]


def tensor_parallel(tpu):
    inner = (WIDTH, HEADS, WIDTH // HEADS)
    weights = {name: tpu.array(inner, None, "model") for name in "qkv"}
    weights["o"] = tpu.array((HEADS, WIDTH // HEADS, WIDTH), "model")
    weights["up"] = tpu.array((WIDTH, HIDDEN), None, "model")
    weights["down"] = tpu.array((HIDDEN, WIDTH), "model")
    return ricci.jit(block), (weights, tpu.array((BATCH, LENGTH, WIDTH), "data"))


# For each program the collectives of which there is at least one, and those of which there is none.
PROGRAMS = {
    data_parallel: ({"all-reduce"}, {"all-gather", "all-to-all"}),
    fully_sharded: ({"all-gather"}, {"all-to-all"}),
    tensor_parallel: ({"all-reduce"}, {"all-gather", "all-to-all", "collective-permute"}),
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_program_for_a_tpu(tpu, program):
    step, args = program(tpu)
    traced = step.trace(*args)
    compiled = traced.lower().compile()
    assert compiled.as_text().startswith("HloModule jit_")
    memory = compiled.memory_analysis()
    assert memory.argument_size_in_bytes == bytes_of(args)
    assert memory.generated_code_size_in_bytes > 0
    assert compiled.cost_analysis()["flops"] > 0
    present, unwanted = PROGRAMS[program]
    report = communication(step)(*args)
    assert present <= set(report.kinds), str(report)
    assert not unwanted & set(report.kinds), str(report)
    assert not report.involuntary, str(report)
    assert {row.file for row in report} == {__file__}
    with pytest.raises(RuntimeError, match="described and not attached"):
        compiled(*ricci.tree.map(lambda x: np.zeros(x.shape, x.dtype), args))


def job(name):
    """A job as it is run on eight devices; its functions are compiled for a TPU."""
    pytest.importorskip("jax", reason="the jobs import the drop-in")
    path = Path(__file__).parents[1] / "device_jobs" / f"{name}.py"
    spec = spec_from_file_location(f"device_jobs_{name}", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Row:
    """Descriptions of arrays on a mesh of one axis, which is called ``row`` here."""

    def __init__(self, described, axis):
        self.described, self.mesh, self.axis = described, described.mesh, axis

    def array(self, shape, *spec):
        return self.described.array(shape, *(self.axis if part == "row" else part for part in spec))


def weights_in_shares(row):
    module = job("fsdp")
    shares = [row.array((module.WIDTH, module.WIDTH), "row")] * module.LAYERS
    batch = [row.array((64, module.WIDTH), "row")] * 2
    return module, (shares, shares, shares, tuple(batch), np.float32(1))


def attention_in_a_ring(row):
    module = job("ring_attention")
    inner = module.HEADS * module.SIZE
    weights = {name: row.array((inner, module.HEADS, module.SIZE)) for name in "qkv"}
    return module, (weights, *[row.array((module.LENGTH, inner), "row")] * 2)


def experts_on_devices(row):
    module = job("experts")
    module.EXPERTS = count = row.mesh.size
    weights = {
        "gate": row.array((module.WIDTH, count)),
        "up": row.array((count, module.WIDTH, module.HIDDEN), "row"),
        "down": row.array((count, module.HIDDEN, module.WIDTH), "row"),
    }
    tokens = row.array((count * module.TOKENS, module.WIDTH), "row")
    return module, (weights, tokens, tokens)


# For each the axis of its mesh, and the collectives that it writes. That XLA scatters the sums of
# the gradients as well is not asked for: of weights as small as these it makes whole sums.
JOBS = {
    weights_in_shares: ("fsdp", {"all-gather"}),
    attention_in_a_ring: ("ring", {"collective-permute"}),
    experts_on_devices: ("expert", {"all-to-all"}),
}


@pytest.mark.parametrize("make", JOBS, ids=lambda make: make.__name__)
def test_a_job_on_shards_for_a_tpu(tpu, make):
    axis, expected = JOBS[make]
    row = tpu.along(axis)
    module, args = make(Row(row, axis))
    with ricci.set_mesh(row.mesh):
        compiled = module.step.lower(*args).compile()
        report = communication(module.step)(*args)
    assert compiled.memory_analysis().generated_code_size_in_bytes > 0
    written = {entry.kind for entry in report if entry.reason == "written"}
    assert expected <= written, str(report)
    assert {entry.axes for entry in report} == {(axis,)}
    assert not report.involuntary, str(report)
    assert {entry.file for entry in report} == {module.__file__}


def test_gradients_are_summed_over_the_axis_of_the_batch(tpu):
    step, args = data_parallel(tpu)
    report = communication(step)(*args)
    first = perceptron.__code__.co_firstlineno
    reduced = [(r.line - first, r.axes) for r in report if r.function == "perceptron"]
    assert reduced == [(2, ("data",)), (3, ("data",))]
    total = sum(row.bytes for row in report if row.function == "perceptron")
    assert total == round(2 * (tpu.sizes["data"] - 1) / tpu.sizes["data"] * 4 * 2 * WIDTH * HIDDEN)


def test_donated_weights_take_no_more_memory(tpu):
    step, (weights, x, y) = data_parallel(tpu)
    memory = step.lower(weights, x, y).compile().memory_analysis()
    assert memory.alias_size_in_bytes == bytes_of(weights)


def test_a_plan_of_weights_in_shares(tpu):
    step, args = fully_sharded(tpu)
    report = plan(step, *args, topology=tpu.topology)
    compiled = step.lower(*args).compile()
    memory, counted = report.memory, compiled.memory_analysis()
    assert memory.temporaries == counted.temp_size_in_bytes
    assert memory.arguments == bytes_of(args)
    assert report.chip.name == "TPU v5e"
    assert report.fits
    assert report.sent("data", "model") == report.sent() == communication(step)(*args).bytes
    links = 4  # the devices differ along both axes of the torus
    assert report.time.communication == pytest.approx(report.sent() / (links * 50e9))
    assert report.time.overlapped <= report.time.serial
    assert report.flops == report.compiler_flops == pytest.approx(compiled.cost_analysis()["flops"])


def test_the_peak_of_a_program_that_is_larger_than_the_chips_own_memory():
    row = Described(topologies.get_topology_desc("v5e:2x2"), row=4)

    def wide(x, w):
        hidden = ricci.nn.softmax(x @ w)
        return jnp.sum(jnp.sin(hidden @ w.T))

    n = 16384
    x, w = row.array((4 * n, 256), "row"), row.array((256, n))
    report = plan(ricci.grad(wide), x, w)
    first = wide.__code__.co_firstlineno
    largest = [owner for owner in report.owners if owner.kind == "temporary"][:2]
    assert [owner.bytes for owner in largest] == [n * n * 4] * 2
    assert {(owner.file, owner.line - first) for owner in largest} == {(__file__, 1), (__file__, 2)}
    memory = report.memory
    assert memory.live == pytest.approx(memory.results + memory.temporaries, rel=0.001)


def layers(x, w):
    return lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, w)[0]


def test_a_loop_of_layers_counts_all_of_them(tpu):
    x, w = tpu.array((1024, 512), "data"), tpu.array((24, 512, 512))
    report = plan(layers, x, w)
    data = tpu.sizes["data"]
    products = 24 * 2 * (1024 // data) * 512 * 512
    assert products <= report.flops < 1.2 * products
    assert report.compiler_flops < 0.2 * products
    assert report.unknown_loops == 0


def test_out_of_memory_error_names_the_size_of_the_program():
    row = Described(topologies.get_topology_desc("v5e:2x2"), row=4)
    x = row.array((2**30, 32), "row")
    with pytest.raises(
        ricci.errors.JaxRuntimeError, match="more memory than a device has"
    ) as caught:
        plan(lambda x: jnp.sort(x, 0) + x, x)
    assert "Shard it over more devices" in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 12


def test_shardings_and_layouts_of_arguments_and_results(tpu):
    step, args = fully_sharded(tpu)
    compiled = step.lower(*args).compile()
    assert compiled.input_shardings[0][0] == [tpu.on(("data", "model"))] * 2
    weights, loss = compiled.output_shardings
    assert (weights, loss.is_fully_replicated) == ([tpu.on(("data", "model"))] * 2, True)
    assert compiled.output_formats[0][0].layout.tiling == ((8, 128),)


def test_devices_know_their_place(tpu):
    kinds = {device.device_kind for device in tpu.mesh.devices.flat}
    assert kinds == {"TPU v5 lite"}
    coordinates = {tuple(device.coords) for device in tpu.mesh.devices.flat}
    assert len(coordinates) == tpu.mesh.size


def test_random_keys_and_half_precision(tpu):
    def noisy(key, x):
        return x + ricci.random.normal(key, x.shape, x.dtype)

    x = tpu.array((BATCH, WIDTH), "data", dtype=jnp.bfloat16)
    compiled = ricci.jit(noisy).lower(ricci.random.key(0), x).compile()
    assert compiled.out_info.dtype == jnp.bfloat16
    assert compiled.output_shardings == tpu.on("data")


@pytest.mark.parametrize(
    ("name", "shape", "kind"),
    [
        ("v5e:8x8", (8, 8), "TPU v5 lite"),
        ("v5e:16x16", (16, 16), "TPU v5 lite"),
        ("v5p:4x4x4", (16, 4), "TPU v5"),
        ("v6e:4x4", (4, 4), "TPU v6 lite"),
        ("v4:2x2x2", (8, 2), "TPU v4"),  # a chip of this kind is two devices
    ],
)
def test_larger_and_other_topologies(name, shape, kind):
    topology = topologies.get_topology_desc(name)
    mesh = topologies.make_mesh(topology, shape, ("data", "model"))
    assert {device.device_kind for device in mesh.devices.flat} == {kind}
    x = ShapeDtypeStruct((mesh.size, 128), np.float32, sharding=NamedSharding(mesh, P("data")))
    compiled = ricci.jit(lambda x: jnp.sum(x, 0)).lower(x).compile()
    assert compiled.memory_analysis().argument_size_in_bytes > 0
    (row,) = communication(lambda x: jnp.sum(x, 0))(x)
    assert (row.kind, row.axes, row.group_size) == ("all-reduce", ("data",), shape[0])


def test_a_topology_that_does_not_exist_is_named():
    with pytest.raises(ricci.errors.JaxRuntimeError, match="topology_name='v9:2x2'"):
        topologies.get_topology_desc("v9:2x2")


def test_the_process_goes_on(tpu):
    assert float(ricci.jit(lambda x: x + 1)(1.0)) == 2
