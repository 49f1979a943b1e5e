"""The stages of `jit` on given devices, and what its errors name."""

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import jit


def test_compiling_for_another_device(eight_devices):
    lowered = jit(lambda x: x + 1).lower(1.0)
    result = lowered.compile(device_assignment=eight_devices[3:4])(1.0)
    assert (float(result), result.devices()) == (2, {eight_devices[3]})


def test_calls_and_stages_share_executables(eight_devices, compilations):
    mesh = ricci.make_mesh((8,), ("i",))
    whole = jnp.asarray(np.arange(8, dtype=np.float32))
    for x in (whole, ricci.device_put(whole, ricci.NamedSharding(mesh, ricci.P("i")))):
        first, second = (jit(lambda x, n=n: x * n) for n in (3, 4))
        start = len(compilations)
        compiled = first.lower(x).compile()
        results = first(x), compiled(x)
        assert len(compilations) == start + 1
        second(x)
        second.lower(x).compile()
        assert len(compilations) == start + 2
        for result in results:
            np.testing.assert_array_equal(result, 3 * np.arange(8))
        second.lower(x).compile({"xla_embed_ir_in_executable": True})  # another program
        assert len(compilations) == start + 3


def test_compiling_for_another_number_of_devices(eight_devices):
    with pytest.raises(ValueError, match="2 devices.*1"):
        jit(lambda x: x).lower(1.0).compile(device_assignment=eight_devices[:2])


def test_shardings_of_several_devices(eight_devices):
    mesh = ricci.make_mesh((8,), ("i",))
    x = ricci.device_put(jnp.arange(8.0), ricci.NamedSharding(mesh, ricci.P("i")))
    compiled = jit(lambda x, y: x * 2).lower(x, 1.0).compile()
    (first, unused), _ = compiled.input_shardings
    assert (first.spec, unused) == (ricci.P("i"), None)
    assert len(compiled.output_shardings.device_set) == 8
    assert compiled.out_info.sharding == compiled.output_shardings


def test_a_description_places_the_program_as_its_array_would(eight_devices):
    mesh = ricci.make_mesh((8,), ("i",))
    sharding = ricci.NamedSharding(mesh, ricci.P("i"))
    described = ricci.ShapeDtypeStruct((8, 3), np.float32, sharding=sharding)
    compiled = jit(lambda x, y: x * y).lower(described, 2.0).compile()
    assert compiled.input_shardings[0][0] == sharding
    assert compiled.output_shardings == sharding.update(spec=("i", None))
    x = ricci.device_put(np.ones((8, 3), np.float32), sharding)
    np.testing.assert_array_equal(compiled(x, 2.0), np.full((8, 3), 2, np.float32))


def test_a_description_on_other_devices_is_named(eight_devices):
    mesh = ricci.make_mesh((8,), ("i",))
    x = ricci.device_put(jnp.arange(8.0), ricci.NamedSharding(mesh, ricci.P("i")))
    here = ricci.sharding.SingleDeviceSharding(eight_devices[1])
    described = ricci.ShapeDtypeStruct((8,), np.float32, sharding=here)
    with pytest.raises(ValueError, match="(?s)argument x .*argument y"):
        jit(lambda x, y: x * y).lower(x, described)


@pytest.mark.parametrize("options", [{"xla_cpu_enable_fast_math": True}, None])
def test_compiler_options_of_a_stage(options):
    assert jit(lambda x: x + 1).lower(1.0).compile(compiler_options=options)(1.0) == 2


def test_hlo_is_text_and_an_object():
    lowered = jit(jnp.sin).lower(1.0)
    assert "sine(" in lowered.as_text("hlo")
    assert lowered.compiler_ir("hlo").as_hlo_text().startswith("HloModule jit_")
    assert "stablehlo.sine" in str(lowered.compiler_ir())


@pytest.mark.parametrize("platform", ["cpu", "cuda", "tpu"])
def test_lowering_for_a_platform(platform):
    traced = jit(lambda a: ricci.lax.linalg.qr(a)[1]).trace(jnp.ones((3, 3)))
    target = {"cpu": "lapack_sgeqrf", "cuda": "cusolver_geqrf", "tpu": "Qr"}[platform]
    assert target in traced.lower(lowering_platforms=(platform,)).as_text()


def test_lowering_for_several_platforms_is_refused():
    with pytest.raises(NotImplementedError, match="one platform"):
        jit(jnp.sin).trace(1.0).lower(lowering_platforms=("cpu", "cuda"))


def deleted():
    x = jnp.arange(5.0)
    jit(lambda x: x + 1, donate_argnums=0)(x)
    return x


ERRORS = {
    "deleted argument": (
        lambda: jit(lambda params: params["w"])({"w": deleted()}),
        RuntimeError,
        r"argument params\['w'\] \(float32\[5\]\)",
    ),
    "deleted operand": (lambda: deleted() + 1, RuntimeError, r"add.*deleted: float32\[5\]"),
    "deleted argument of a stage": (
        lambda: jit(lambda w: w + 1).lower(jnp.ones(5)).compile()(deleted()),
        RuntimeError,
        "argument w",
    ),
    "static argument among others": (
        lambda: jit(lambda x, n, y: x, static_argnums=1)(1.0, 2, "a"),
        TypeError,
        "argument y of",
    ),
    "compiled type": (
        lambda: jit(lambda x: x["a"]).lower({"a": 1.0}).compile()({"a": 1}),
        TypeError,
        r"x\['a'\] of type float32\[\]",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_name_the_argument(case):
    mistake, error, pattern = ERRORS[case]
    with pytest.raises(error, match=pattern):
        mistake()


def test_an_array_is_donated_once():
    x = jnp.arange(5.0)
    with pytest.raises(ValueError, match="arguments a and b are one array"):
        jit(lambda a, b: (a + 1, b + 1), donate_argnums=(0, 1))(x, x)
    assert not x.is_deleted()


def test_donated_buffers_become_results():
    f = jit(lambda x: x * 2, donate_argnames="x")
    x = jnp.arange(1000.0)
    for _ in range(4):
        where = x.unsafe_buffer_pointer()
        x, before = f(x), x
        assert (x.unsafe_buffer_pointer(), before.is_deleted()) == (where, True)


def test_unused_donations_warn():
    with pytest.warns(UserWarning, match=r"int32\[3\]"):
        jit(lambda x: x.sum(), donate_argnums=0)(jnp.arange(3))


@pytest.mark.parametrize("keep_unused", [False, True])
def test_small_constants_are_in_the_text_and_large_ones_are_arguments(keep_unused):
    small, large = jnp.arange(3.0), jnp.ones(2000)
    fun = jit(lambda x, y: x + small.sum() + large, keep_unused=keep_unused, donate_argnums=0)
    text = fun.lower(large, 1.0).as_text()
    (signature,) = (line for line in text.splitlines() if "@main(" in line)
    assert signature.count("%arg") == 2 + keep_unused
    assert "dense<[0.0, 1.0, 2.0]>" in text
    assert float(fun(jnp.zeros(2000), 1.0)[7]) == 4.0
    assert float(fun(jnp.zeros(2000), 1.0)[7]) == 4.0


def test_small_constants_are_copied_when_traced():
    table = np.arange(3.0, dtype="float32")
    fun = jit(lambda x: x + table)
    assert fun(1.0).tolist() == [1, 2, 3]
    table[:] = 7
    assert fun(1.0).tolist() == [1, 2, 3]


def test_descriptions_carry_shardings_in_their_types(eight_devices):
    mesh = ricci.make_mesh((8,), ("i",), axis_types=(ricci.sharding.AxisType.Explicit,))
    sharding = ricci.NamedSharding(mesh, ricci.P("i"))
    described = ricci.ShapeDtypeStruct((8, 3), np.float32, sharding=sharding)
    assert str(ricci.typeof(described)) == "float32[8@i,3]"
    for trace in (ricci.make_jaxpr(jnp.sin), lambda x: jit(jnp.sin).trace(x).jaxpr):
        assert "f32[8@i,3] = sin" in str(trace(described))
    for shape in (ricci.eval_shape(jnp.sin, described), jit(jnp.sin).eval_shape(described)):
        assert shape.sharding.spec == ricci.P("i", None)
        assert "f32[8@i,3]" in str(ricci.make_jaxpr(jnp.cos)(shape))  # of a mesh without devices
    compiled = jit(jnp.sin).lower(described).compile()
    assert compiled.output_shardings.is_equivalent_to(sharding, 2)


def test_descriptions_on_meshes_of_the_compilers_have_plain_types(eight_devices):
    mesh = ricci.sharding.Mesh(np.array(eight_devices), "i")
    sharding = ricci.NamedSharding(mesh, ricci.P("i"))
    described = ricci.ShapeDtypeStruct((8, 3), np.float32, sharding=sharding)
    assert str(ricci.typeof(described)) == "float32[8,3]"
    assert ricci.eval_shape(jnp.sin, described).sharding is None


def test_the_cost_of_a_module_is_known_before_it_is_compiled(compilations):
    """As the oracle estimates it."""
    lowered = ricci.jit(lambda x: jnp.sin(x) @ x).lower(np.arange(4, dtype=np.float32))
    cost = lowered.cost_analysis()
    assert (cost["flops"], cost["transcendentals"], cost["bytes accessed"]) == (8, 4, 68)
    assert not compilations


TRACES = {
    "jit": ricci.jit,
    "vmap": ricci.vmap,
    "grad": lambda f: ricci.grad(lambda x: f(x).sum()),
    "make_jaxpr": ricci.make_jaxpr,
    "scan": lambda f: lambda x: ricci.lax.scan(lambda c, a: (f(c), a), x, x)[0],
    "checkpoint of jit": lambda f: ricci.checkpoint(ricci.jit(f)),
    "vmap of jit": lambda f: ricci.vmap(ricci.jit(f)),
}


@pytest.mark.parametrize("name", TRACES)
def test_functions_can_be_lowered_for_tracers(name):
    found = []

    def run(x):
        inner = jit(lambda y, z: jnp.sin(y) * z)
        closed = jit(lambda y: y + x)
        found.append(closed.lower(jnp.ones(x.shape)).out_info.shape)
        for lowered in (inner.lower(x, x), inner.lower(x, 1.0)):
            assert lowered.compile().memory_analysis() is not None
            found.append(lowered.out_info.shape)
        return x

    for _ in range(2):
        TRACES[name](run)(jnp.ones(3))
        ricci.clear_caches()
    shape = () if "vmap" in name else (3,)
    assert len(found) >= 6
    assert set(found) == {shape}


def test_functions_of_keys_can_be_lowered_for_tracers():
    draw = jit(lambda key: ricci.random.normal(key, (2,)))
    found = []

    def run(key):
        found.append(draw.lower(key).out_info.shape)
        return key

    jit(run)(ricci.random.key(0))
    ricci.vmap(run)(ricci.random.split(ricci.random.key(0), 3))
    assert found == [(2,), (2,)]
