"""``export``, ``Exported`` and its calls."""

import dataclasses

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_autodiff import grad, jvp
from ricci_batching import vmap
from ricci_export import (
    DisabledSafetyCheck,
    Exported,
    default_export_platform,
    deserialize,
    export,
    maximum_supported_calling_convention_version,
    minimum_supported_calling_convention_version,
)
from ricci_ir import (
    Effect,
    ShapeDtypeStruct,
    clear_caches,
    config,
    define,
    enable_x64,
    make_jaxpr,
    symbolic_shape,
    unsupported,
    without_sharding,
)
from ricci_lax import checkpoint, platform_dependent, pure_callback, scan
from ricci_lax.authoring import floating, nary
from ricci_parallel import set_mesh
from ricci_random import key, key_data, uniform
from ricci_stablehlo import tokens_at
from ricci_xla import AxisType, Mesh, NamedSharding, P, device_put, devices, jit
from ricci_xla.exported import load
from ricci_xla.files import FileError

X = np.float32([0.5, 1, 2])


def exported_of(fun, *args, **options):
    return export(jit(fun), **options)(*args)


@pytest.fixture(scope="module")
def product():
    return exported_of(lambda x, y: jnp.sin(x) * y, X, X)


def test_fields_describe_the_exported_function(product):
    assert {f.name: getattr(product, f.name) for f in dataclasses.fields(Exported)} == {
        "fun_name": "<lambda>",
        "in_tree": product.in_tree,
        "in_avals": product.in_avals,
        "out_tree": product.out_tree,
        "out_avals": product.out_avals,
        "_in_named_shardings": (None, None),
        "_out_named_shardings": (None,),
        "in_shardings_hlo": (None, None),
        "out_shardings_hlo": (None,),
        "nr_devices": 1,
        "platforms": (default_export_platform(),),
        "ordered_effects": (),
        "unordered_effects": (),
        "disabled_safety_checks": (),
        "mlir_module_serialized": product.mlir_module_serialized,
        "calling_convention_version": maximum_supported_calling_convention_version,
        "module_kept_var_idx": (0, 1),
        "uses_global_constants": False,
        "_get_vjp": product._get_vjp,
    }
    assert str(product) == "Exported(fun_name=<lambda>, ...)"
    assert repr(product).startswith("Exported(fun_name='<lambda>', in_tree=PyTreeDef(((*, *), {}))")
    assert str(product.in_avals) == "(ShapedArray(float32[3]), ShapedArray(float32[3]))"
    assert "stablehlo.sine" in product.mlir_module()
    assert str(product.mlir_module(serialized=False)) == product.mlir_module()
    with pytest.raises(dataclasses.FrozenInstanceError):
        product.fun_name = "g"
    assert minimum_supported_calling_convention_version == 9


@pytest.mark.parametrize("order", ["eager first", "compiled first"])
def test_calls_agree_with_the_function_under_jit_checkpoint_and_scan(product, order):
    clear_caches()
    ways = [product.call, jit(product.call), checkpoint(product.call)]
    for call in ways if order == "eager first" else ways[::-1]:
        for _ in range(2):
            np.testing.assert_allclose(call(X, X), np.sin(X) * X, rtol=1e-6)
    looped = scan(lambda c, _: (product.call(c, c), None), jnp.asarray(X), None, length=2)[0]
    once = np.sin(X) * X
    np.testing.assert_allclose(looped, np.sin(once) * once, rtol=1e-6)


def test_exports_have_derivatives_of_all_orders(product):
    total = lambda x: product.call(x, x).sum()
    np.testing.assert_allclose(grad(total)(X), X * np.cos(X) + np.sin(X), rtol=1e-5)
    second = jit(grad(lambda x: grad(total)(x).sum()))(X)
    np.testing.assert_allclose(second, 2 * np.cos(X) - X * np.sin(X), rtol=1e-5)
    assert product.vjp().fun_name == "<lambda>_vjp"
    assert str(product.vjp().out_avals) == "(ShapedArray(float32[3]), ShapedArray(float32[3]))"


def test_derivatives_skip_integers_and_keys():
    exported = exported_of(
        lambda x, i, k: (x * i + uniform(k), i + 1), X, np.int32([1, 2, 3]), key(0)
    )
    found = grad(lambda x: exported.call(x, np.int32([4, 5, 6]), key(1))[0].sum())(X)
    np.testing.assert_array_equal(found, [4, 5, 6])
    assert [aval.str_short() for aval in exported.vjp().in_avals] == [
        *("float32[3]", "int32[3]", "key<fry>[]", "float32[3]", "float0[3]")
    ]


def test_transformations_without_a_rule_raise(product):
    with pytest.raises(TypeError, match="reverse mode only"):
        jvp(product.call, (X, X), (X, X))
    with pytest.raises(NotImplementedError, match=r"batch of call_exported: .* fixed shapes"):
        vmap(product.call)(np.stack([X, X]), np.stack([X, X]))
    np.testing.assert_allclose(product.call(X, X), np.sin(X) * X, rtol=1e-6)


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "words"),
    [
        ((X,), {}, ValueError, r"another structure:\n  missing: args\[1\]"),
        ((X,), {"y": X}, ValueError, r"missing: args\[1\]\n  unexpected: kwargs\['y'\]"),
        ((X, [X]), {}, ValueError, r"unexpected: args\[1\]\[0\]"),
        (
            (X, np.ones(4, np.float32)),
            {},
            ValueError,
            r"args\[1\] .* float32\[3\], .* float32\[4\]",
        ),
        ((X, X.astype(np.int32)), {}, ValueError, r"args\[1\] .* float32\[3\], .* int32\[3\]"),
        (("a", X), {}, TypeError, r"args\[0\] of <lambda> must be an array"),
    ],
)
def test_wrong_arguments_are_named(product, args, kwargs, error, words):
    with pytest.raises(error, match=words):
        product.call(*args, **kwargs)


def test_structures_statics_scalars_and_unused_arguments():
    f = lambda tree, n, *, unused: {"a": tree["x"][0] * n, "b": None, "c": (tree["s"], [])}
    exported = export(jit(f, static_argnums=1))(
        {"x": [X], "s": 2.0, "none": None}, 3, unused=np.zeros((0, 2), np.float32)
    )
    assert exported.module_kept_var_idx == (0, 1)
    found = exported.call({"x": [X], "s": 5.0, "none": None}, unused=np.zeros((0, 2), np.float32))
    np.testing.assert_array_equal(found["a"], 3 * X)
    assert (found["b"], float(found["c"][0]), found["c"][0].weak_type) == (None, 5.0, True)
    assert exported_of(lambda: ()).call() == ()
    assert exported_of(lambda x: x * 2, jnp.zeros((0, 3))).call(jnp.zeros((0, 3))).shape == (0, 3)


def test_constants_are_part_of_the_module():
    weights = device_put(np.arange(3, dtype=np.float32), devices()[-1])
    k = key(7)
    exported = exported_of(lambda x: (x @ weights, uniform(k), k), X)
    assert (exported.nr_devices, exported.module_kept_var_idx) == (1, (0,))
    value, drawn, same = jit(exported.call)(X)
    np.testing.assert_allclose((value, drawn), (X @ np.arange(3), uniform(k)), rtol=1e-6)
    np.testing.assert_array_equal(key_data(same), key_data(k))


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "dtype", ["float32", "bfloat16", "float16", "int8", "uint32", "int4", "bool", "complex64"]
)
def test_large_constants_are_serialized(dtype):
    some = np.random.default_rng(0).normal(size=(70, 70)) * 4
    large = jnp.asarray(some).astype(dtype)
    on_two = ["cpu", "cuda"] if dtype == "float32" else None
    f = lambda x: (large, large[x], jnp.linalg.cholesky(jnp.eye(2)), large.T)
    exported = exported_of(f, np.int32([3, 1]), platforms=on_two)
    for read in (exported, deserialize(exported.serialize())):
        found = read.call(np.int32([3, 1]))
        for mine, expected in zip(found, f(np.int32([3, 1])), strict=True):
            assert mine.dtype == expected.dtype
            np.testing.assert_array_equal(mine, expected)


def test_64_bit_exports_need_x64_at_the_call():
    with enable_x64(True):
        exported = exported_of(lambda x, n: (x * n, jnp.arange(3)), np.float64([1, 2]), 3)
        value, counted = exported.call(np.float64([1, 2]), 3)
        assert (value.dtype, counted.dtype) == (np.float64, np.int64)
    read = deserialize(exported.serialize())
    assert [a.str_short() for a in read.in_avals] == ["float64[2]", "int64[]"]
    with enable_x64(True):
        assert read.call(np.float64([1, 2]), 3)[0].dtype == np.float64
    with pytest.raises(ValueError, match=r"float32\[2\]. 64-bit types are off: .* enable_x64"):
        read.call(np.float64([1, 2]), 3)
    value, counted = load(exported.serialize())(np.float64([1, 2]), 2**40)
    np.testing.assert_array_equal(value, np.float64([1, 2]) * 2**40)
    assert (value.dtype, counted.dtype) == (np.float64, np.int64)


def test_one_module_serves_several_platforms():
    by_platform = lambda x: platform_dependent(x, cpu=lambda x: x + 1, tpu=lambda x: x + 2)
    exported = exported_of(by_platform, X, platforms=["tpu", "cpu"])
    assert (exported.platforms, exported.uses_global_constants) == (("tpu", "cpu"), True)
    here = {"cpu": 1, "tpu": 2}.get(default_export_platform())
    if here is not None:
        np.testing.assert_array_equal(jit(exported.call)(X), X + here)
    cuda = exported_of(jnp.linalg.cholesky, np.eye(3, dtype=np.float32), platforms=["cpu", "cuda"])
    assert "cusolver_potrf_ffi" in cuda.mlir_module()
    same = exported_of(jnp.sin, X, platforms=["cpu", "tpu", "cuda", "rocm"])
    assert same.mlir_module().count("func.func") == 1
    np.testing.assert_allclose(same.call(X), np.sin(X), rtol=1e-6)
    np.testing.assert_allclose(grad(lambda x: same.call(x).sum())(X), np.cos(X), rtol=1e-6)


def test_other_platforms_are_refused_unless_the_check_is_disabled():
    absent = next(p for p in ("tpu", "rocm") if p != default_export_platform())
    with pytest.raises(ValueError, match=f"exported for the platforms {absent}, and is called on"):
        exported_of(jnp.sin, X, platforms=[absent]).call(X)
    free = exported_of(
        jnp.sin, X, platforms=[absent], disabled_checks=[DisabledSafetyCheck.platform()]
    )
    np.testing.assert_allclose(free.call(X), np.sin(X), rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: export(lambda x: x), ValueError, "a function that jit returned"),
        (lambda: export(jit(jnp.sin), platforms="cpu"), ValueError, r"platforms=\['cpu'\]"),
        (lambda: export(jit(jnp.sin), platforms=["gpu"]), ValueError, "'cuda' or 'rocm'"),
        (lambda: export(jit(jnp.sin), disabled_checks=["cpu"]), TypeError, "disabled_checks holds"),
        (
            lambda: export(jit(jnp.sin), _override_lowering_rules=[(1, 2)]),
            NotImplementedError,
            "_override_lowering_rules",
        ),
        (lambda: exported_of(jnp.sin, "a"), TypeError, "not an array"),
        (
            lambda: exported_of(lambda x: pure_callback(lambda x: x, X, x), X),
            NotImplementedError,
            "it calls Python",
        ),
    ],
)
def test_invalid_exports_raise(make, error, words):
    with pytest.raises(error, match=words):
        make()


foreign_p = nary(
    "foreign",
    lambda ctx, x: ctx.custom_call("foreign_kernel", [x], [ctx.out])[0],
    floating,
    reference=np.negative,
)


def test_custom_calls_without_guarantee_are_refused():
    with pytest.raises(ValueError, match=r"'foreign_kernel'.*custom_call\('foreign_kernel'\)\]"):
        exported_of(foreign_p.bind, X)
    allowed = DisabledSafetyCheck.custom_call("foreign_kernel")
    assert (allowed.is_custom_call(), str(allowed)) == (
        *("foreign_kernel", "custom_call:foreign_kernel"),
    )
    exported = exported_of(foreign_p.bind, X, disabled_checks=[allowed])
    assert deserialize(exported.serialize()).disabled_safety_checks == (allowed,)
    assert "custom_call @foreign_kernel" in exported.mlir_module()
    platform = DisabledSafetyCheck.platform()
    assert (platform.is_custom_call(), len({platform, DisabledSafetyCheck("platform")})) == (
        None,
        1,
    )


@pytest.fixture(scope="module")
def line():
    if len(devices()) < 8:
        pytest.skip("needs 8 devices")
    return Mesh(np.array(devices()[:8]), ("i",))


def test_exports_of_several_devices_keep_shardings(line):
    there = NamedSharding(line, P("i"))
    exported = exported_of(lambda x: x * 2, ShapeDtypeStruct((8,), np.float32, sharding=there))
    x = np.arange(8, dtype=np.float32)
    assert exported.nr_devices == 8
    assert exported.in_shardings_jax(line) == (there,)
    assert exported.in_shardings_jax()[0].mesh == line.abstract_mesh
    reversed_line = Mesh(np.array(devices()[7::-1]), ("other",))
    for sharding in (there, NamedSharding(line, P()), NamedSharding(reversed_line, P("other"))):
        given = device_put(x, sharding)
        found = exported.call(given)
        np.testing.assert_array_equal(found, 2 * x)
        assert found.sharding.mesh == sharding.mesh
        assert found.sharding.shard_shape((8,)) == (1,)
    np.testing.assert_array_equal(
        grad(lambda x: exported.call(x).sum())(device_put(x, there)), [2] * 8
    )
    with pytest.raises(ValueError, match="exported for 8 devices, and is called on 1"):
        exported.call(x)
    with pytest.raises(ValueError, match="over a mesh with other axes"):
        exported.in_shardings_jax(reversed_line)
    single = exported_of(lambda x: x * 2, x)
    np.testing.assert_array_equal(jit(single.call)(device_put(x, there)), 2 * x)


def test_symbolic_sizes_are_solved_at_the_call():
    b, _ = symbolic_shape("b, 3", constraints=["b >= 2"])
    f = lambda x: (x.reshape(-1), x.sum(0), x.shape[0] * jnp.ones(2))
    exported = exported_of(f, ShapeDtypeStruct((b, 3), np.float32), platforms=["cpu", "tpu"])
    assert str(exported.out_avals[0]) == "float32[3*b]"
    assert exported.uses_global_constants
    for read in (exported, deserialize(exported.serialize(vjp_order=1))):
        for n in (2, 5):
            x = np.arange(3 * n, dtype=np.float32).reshape(n, 3)
            for call in (read.call, jit(read.call)):
                flat, total, size = call(x)
                np.testing.assert_array_equal(flat, x.reshape(-1))
                np.testing.assert_array_equal(total, x.sum(0))
                np.testing.assert_array_equal(size, [n, n])
            slope = grad(lambda x, read=read: (read.call(x)[0] ** 2).sum())(x)
            np.testing.assert_array_equal(slope, 2 * x)
        with pytest.raises(ValueError, match=r"'b>=2|b >= 2"):
            read.call(np.ones((1, 3), np.float32))
        with pytest.raises(
            ValueError, match=r"args\[0\].shape is \(4, 2\), but should be \(b, 3\)"
        ):
            read.call(np.ones((4, 2), np.float32))
    wider = symbolic_shape("c, 3", constraints=["c >= 4"])
    again = exported_of(lambda x: exported.call(x)[0] + 1, ShapeDtypeStruct(wider, np.float32))
    assert str(again.out_avals) == "(ShapedArray(float32[3*c]),)"
    np.testing.assert_array_equal(again.call(np.ones((4, 3), np.float32)), np.full(12, 2))
    loaded = load(exported.serialize())
    assert repr(loaded) == "LoadedFunction(<lambda>(args[0]: float32[b,3]))"
    for n in (2, 3, 2):
        np.testing.assert_array_equal(loaded(np.ones((n, 3), np.float32))[1], [n, n, n])
    with pytest.raises(ValueError, match=r"b ?>= ?2"):
        loaded(np.ones((1, 3), np.float32))


class Ticks(Effect):
    ordered = lowerable = in_control_flow = True

    def __eq__(self, other):
        return type(other) is Ticks

    def __hash__(self):
        return hash(Ticks)


tick_p = define(
    "tick",
    sharding=without_sharding,
    abstract_eval=lambda x: [x],
    multiple_results=True,
    memo=False,
    effects=lambda params: frozenset({Ticks()}),
    jvp=unsupported("it counts"),
    transpose=unsupported("it counts"),
    batch=unsupported("it counts"),
    lower=lambda ctx, *operands: [*operands],
    order=tokens_at(0),
)


@pytest.mark.parametrize("platforms", [None, ["cpu", "tpu", "cuda", "rocm"]])
def test_ordered_effects_stay_ordered(platforms):
    exported = exported_of(lambda x: tick_p.bind(tick_p.bind(x)[0] + 1)[0], X, platforms=platforms)
    assert (exported.ordered_effects, exported.unordered_effects) == ((Ticks(),), ())
    assert "stablehlo.token" in exported.mlir_module()
    for read in (exported, deserialize(exported.serialize())):
        assert read.ordered_effects == (Ticks(),)
        assert jit(read.call).trace(X).effects == {Ticks()}
        for call in (read.call, jit(lambda x, call=read.call: call(call(x)) - 1)):
            np.testing.assert_array_equal(call(X), X + 1)
    again = exported_of(lambda x: read.call(tick_p.bind(x)[0]), X)
    np.testing.assert_array_equal(again.call(X), X + 1)
    with pytest.raises(FileError, match="ordered effects"):
        load(exported.serialize())
    with pytest.raises(TypeError, match="effects, whose classes JAX would not know"):
        exported.serialize(format="jax")


def test_explicit_axes_survive_export(line):
    explicit = Mesh(line.devices.reshape(4, 2), ("i", "j"), (AxisType.Explicit,) * 2)
    with set_mesh(explicit):
        x = device_put(np.ones((8, 4), np.float32), NamedSharding(explicit, P("i", "j")))
        exported = exported_of(lambda x: x.T * 2, x)
        for read in (
            exported,
            *(deserialize(exported.serialize(format=f)) for f in ("ricci", "jax")),
        ):
            assert str(read.out_avals) == "(ShapedArray(float32[4@j,8@i]),)"
            assert jit(read.call)(x).sharding.spec == P("j", "i")


def test_a_function_can_be_exported_during_tracing():
    inner = lambda x: exported_of(jnp.cos, x).call(x)
    np.testing.assert_allclose(jit(inner)(X), np.cos(X), rtol=1e-6)


def test_an_export_can_be_exported(product):
    again = exported_of(lambda x: product.call(x, x) + product.call(x, X), X)
    np.testing.assert_allclose(again.call(X), 2 * np.sin(X) * X, rtol=1e-6)
    program = str(make_jaxpr(again.call)(X))
    assert "call_exported[exported=Exported(fun_name=<lambda>, ...)]" in program


def test_calling_convention_version_is_an_option():
    newest = config.update
    newest("jax_export_calling_convention_version", 9)
    try:
        assert exported_of(jnp.sin, X).calling_convention_version == 9
        newest("jax_export_calling_convention_version", 11)
        with pytest.raises(ValueError, match="must be from 9 to 10"):
            exported_of(jnp.sin, X)
    finally:
        newest("jax_export_calling_convention_version", 10)
