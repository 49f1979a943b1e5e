"""A primitive that a library defines as for JAX works under every transformation."""

import numpy as np
import pytest
from jaxlib.mlir.dialects import stablehlo

import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

X = np.arange(3, dtype=np.float32)


def same_type(x, **params):
    return ShapedArray(x.shape, x.dtype)


def make_scale() -> Primitive:
    """Multiplies by a parameter; linear; evaluated by NumPy."""
    scale = Primitive("scale")
    scale.def_impl(lambda x, *, by: jnp.asarray(np.asarray(x) * by))
    scale.def_abstract_eval(same_type)
    ad.deflinear2(scale, lambda ct, x, *, by: [scale.bind(ct, by=by)])
    batching.primitive_batchers[scale] = lambda args, dims, *, by: (
        scale.bind(args[0], by=by),
        dims[0],
    )
    mlir.register_lowering(scale, mlir.lower_fun(lambda x, *, by: x * by, multiple_results=False))
    return scale


def make_sin_and_cos() -> Primitive:
    """Has two results, and a batching rule that takes the axis."""
    both = Primitive("sin_and_cos")
    both.multiple_results = True
    impl = lambda x: [jnp.sin(x), jnp.cos(x)]
    both.def_impl(impl)
    both.def_abstract_eval(lambda x: [same_type(x)] * 2)

    def jvp(primals, tangents):
        sin, cos = both.bind(*primals)
        tangent = ad.instantiate_zeros(tangents[0])
        return [sin, cos], [tangent * cos, -tangent * sin]

    def batch(size, name, trace_type, args, dims):
        return both.bind(*args), dims * 2

    ad.primitive_jvps[both] = jvp
    batching.axis_primitive_batchers[both] = batch
    mlir.register_lowering(both, mlir.lower_fun(impl))
    return both


scale_p, sin_and_cos_p = make_scale(), make_sin_and_cos()
CASES = {
    "scale": (lambda x: scale_p.bind(x, by=3.0) ** 2, lambda x: (3.0 * x) ** 2),
    "sin_and_cos": (lambda x: sum(sin_and_cos_p.bind(x)), lambda x: jnp.sin(x) + jnp.cos(x)),
}
TRANSFORMATIONS = {
    "eager": lambda f: f,
    "jit": jax.jit,
    "vmap": jax.vmap,
    "grad": lambda f: jax.grad(lambda x: f(x).sum()),
    "jvp": lambda f: lambda x: jax.jvp(f, (x,), (x,))[1],
    "compiled gradients of examples": lambda f: jax.jit(jax.vmap(jax.grad(f))),
}


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("case", CASES)
def test_primitive_agrees_with_the_operations_it_replaces(case, transformation):
    ours, expected = map(TRANSFORMATIONS[transformation], CASES[case])
    np.testing.assert_allclose(ours(X), expected(X), rtol=1e-6)


def test_jaxprs_print_the_name_of_the_primitive():
    text = str(jax.make_jaxpr(jax.vmap(CASES["scale"][0]))(X))
    assert "scale[by=3.0] a" in text


def test_an_implementation_suffices_to_differentiate_eagerly():
    add_one = Primitive("add_one")
    add_one.def_impl(lambda x: np.asarray(x) + 1)
    add_one.def_abstract_eval(same_type)
    ad.defjvp(add_one, lambda t, x: 3 * t)
    assert jax.grad(lambda x: add_one.bind(x) * 2.0)(1.0) == 6.0


@pytest.mark.parametrize("use", [jax.jit, jax.vmap, lambda f: jax.grad(lambda x: f(x).sum())])
def test_a_missing_rule_is_named(use):
    bare = Primitive("bare")
    bare.def_abstract_eval(same_type)
    with pytest.raises(NotImplementedError, match="'bare'"):
        use(bare.bind)(X)


def make_probe(several: bool, seen: set[str]) -> Primitive:
    """A product whose rules record their arguments."""
    probe = Primitive(f"probe_{several}")
    probe.multiple_results = several
    wrap = (lambda x: [x]) if several else (lambda x: x)
    probe.def_impl(lambda x, y: wrap(jnp.multiply(x, y)))
    probe.def_abstract_eval(lambda x, y: wrap(same_type(x)))
    mlir.register_lowering(
        probe, mlir.lower_fun(lambda x, y: wrap(x * y), multiple_results=several)
    )

    def jvp(primals, tangents):
        assert (type(primals), type(tangents)) == (tuple, tuple)
        seen.add("jvp")
        return probe.bind(*primals), probe.bind(tangents[0], primals[1])

    def transpose(ct, x, y):
        cts = ct if several else [ct]
        assert all(isinstance(c, jax.Array) and c.shape == x.aval.shape for c in cts)
        seen.add("transpose")
        return cts[0] * y, None

    def batch(args, dims):
        assert (type(args), type(dims)) == (tuple, tuple)
        seen.add("batch")
        return probe.bind(*args), wrap(dims[0])

    ad.primitive_jvps[probe] = jvp
    ad.primitive_transposes[probe] = transpose
    batching.primitive_batchers[probe] = batch
    assert (ad.primitive_jvps[probe], ad.primitive_transposes[probe]) == (jvp, transpose)
    return probe


PROBED = {
    "jvp": (lambda f: lambda x: jax.jvp(f, (x,), (1.0,))[1], {"jvp"}),
    "grad": (jax.grad, {"jvp", "transpose"}),
    "grad in jit": (lambda f: jax.jit(jax.grad(f)), {"jvp", "transpose"}),
    "jit in grad": (lambda f: jax.grad(jax.jit(f)), {"jvp", "transpose"}),
    "vmap": (lambda f: lambda x: jax.vmap(f)(x * jnp.ones(3))[0], {"batch"}),
    "grad in vmap": (
        lambda f: lambda x: jax.vmap(jax.grad(f))(x * jnp.ones(3))[0],
        {"jvp", "transpose", "batch"},
    ),
    "linear_transpose": (lambda f: lambda x: jax.linear_transpose(f, x)(1.0)[0], {"transpose"}),
}


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("case", PROBED)
def test_rules_get_tuples_and_cotangents_that_are_arrays(case, several, x64):
    seen: set[str] = set()
    probe = make_probe(several, seen)
    f = lambda x: probe.bind(x, 2.0)[0] if several else probe.bind(x, 2.0)
    transform, expected = PROBED[case]
    with jax.enable_x64(x64):
        assert transform(f)(1.0) == 2.0
    assert seen == expected


def negate(ctx, x):
    assert (ctx.avals_in, ctx.platforms[0]) == (ctx.avals_out, jax.default_backend())
    return [stablehlo.negate(x)]


def call_numpy(ctx, x):
    """Calls a Python function, with what keeps it alive."""
    call = lambda x: [np.cosh(x)]
    results, token, kept = mlir.emit_python_callback(
        ctx, call, None, [x], ctx.avals_in, ctx.avals_out, has_side_effect=False, sharding=None
    )
    assert token is None
    ctx.module_context.add_keepalive(kept)
    return results


MLIR_RULES = {
    "calls Python": (call_numpy, np.cosh),
    "builds an operation": (negate, lambda x: -x),
    "returns its operand": (lambda ctx, x: [x], lambda x: x),
    "calls a traced function": (
        lambda ctx, x: mlir.lower_fun(lambda x: jnp.sin(x) * 2, multiple_results=False)(ctx, x),
        lambda x: np.sin(x) * 2,
    ),
}


@pytest.mark.parametrize("rule", MLIR_RULES)
def test_a_lowering_rule_that_builds_mlir(rule):
    lower, expected = MLIR_RULES[rule]
    primitive = Primitive("opaque")
    primitive.def_abstract_eval(same_type)
    mlir.register_lowering(primitive, lower)
    np.testing.assert_allclose(jax.jit(lambda x: primitive.bind(x) + 1)(X), expected(X) + 1, 1e-6)


def test_a_rule_for_another_platform_is_not_taken():
    primitive = Primitive("elsewhere")
    primitive.def_abstract_eval(same_type)
    mlir.register_lowering(primitive, lambda ctx, x: [x], platform="tpu")
    with pytest.raises(NotImplementedError, match="'elsewhere'.*tpu"):
        jax.jit(primitive.bind).trace(X).lower(lowering_platforms=("cpu",))


def test_rules_can_be_read_in_every_form():
    rule = batching.primitive_batchers[scale_p]
    result, dim = rule((X,), (0,), by=2.0)
    assert (dim, result.tolist()) == (0, [0.0, 2.0, 4.0])
    assert scale_p in batching.fancy_primitive_batchers
    with pytest.raises(KeyError):
        batching.primitive_batchers[Primitive("unknown")]
