"""``custom_remat``: what a function stores under ``checkpoint``, and how it is recomputed."""

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax import checkpoint_policies as policies
from jax.extend.core import jaxprs_in_params


def f(x, y):
    return jnp.sin(jnp.exp(x)) * y


def fwd(policy, x, y):
    assert policy is None
    angle = jnp.exp(x)
    return jnp.sin(angle) * y, {"angle": angle}


def rem(saved, x, y):
    angle = saved["angle"]
    return jnp.sin(angle) * y, (jnp.cos(angle) * angle * y, jnp.sin(angle))


def bwd(residuals, ct):
    return tuple(ct * r for r in residuals)


wave = jax.custom_remat(f, fwd, rem, bwd)
X, Y = np.float32([0.1, 0.5]), np.float32([2.0, 3.0])
POLICIES = {
    "none": None,
    "nothing": policies.nothing_saveable,
    "everything": policies.everything_saveable,
    "dots": policies.dots_saveable,
}
AROUND = {
    "alone": lambda g: g,
    "in an operation": lambda g: lambda x, y: jnp.cos(g(jnp.tanh(x), y)),
    "in jit": jax.jit,
    "in a scan": lambda g: lambda x, y: jax.lax.scan(lambda c, _: (g(c, y), None), x, None, 2)[0],
    "mapped": jax.vmap,
}


def loss(g):
    return lambda x, y: jnp.sum(g(x, y))


CASES = [*((p, "alone") for p in POLICIES), *(("none", a) for a in AROUND if a != "alone")]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("policy", "around"), CASES)
def test_derivatives_are_those_of_the_function(policy, around):
    ours = jax.checkpoint(AROUND[around](wave), policy=POLICIES[policy])
    expected = jax.grad(loss(AROUND[around](f)), (0, 1))(X, Y)
    for transform in (lambda g: g, jax.jit):
        found = transform(jax.grad(loss(ours), (0, 1)))(X, Y)
        np.testing.assert_allclose(found, expected, rtol=2e-5)
    np.testing.assert_allclose(ours(X, Y), AROUND[around](f)(X, Y), rtol=1e-6)


def names(jaxpr):
    """The primitives of a program, those of programs inside of it included."""
    found = []
    for eqn in jaxpr.eqns:
        found.append(eqn.primitive.name)
        for inner in jaxprs_in_params(eqn.params):
            found += names(inner)
    return found


@pytest.mark.parametrize("policy", ["none", "nothing"])
def test_saved_residuals_are_not_recomputed(policy):
    saving = jax.checkpoint(wave, policy=POLICIES[policy])
    plain = jax.checkpoint(f, policy=POLICIES[policy])
    count = lambda g: names(jax.make_jaxpr(jax.grad(loss(g)))(X, Y)).count("exp")
    assert (count(saving), count(plain)) == (1, 2)


def test_arguments_of_each_function():
    seen = []
    note = lambda name, g: lambda *args: (seen.append(name), g(*args))[1]
    noted = jax.custom_remat(f, note("fwd", fwd), note("rem", rem), note("bwd", bwd))
    jax.grad(loss(jax.checkpoint(noted)))(X, Y)
    assert [*dict.fromkeys(seen)] == ["fwd", "rem", "bwd"]


def test_static_arguments():
    power = jax.custom_remat(
        lambda x, n: x**n,
        lambda policy, x, n: (x**n, x),
        lambda x, _, n: (x**n, n * x ** (n - 1)),
        lambda slope, ct: (ct * slope,),
        static_argnums=1,
    )
    assert jax.grad(jax.checkpoint(lambda x: power(x, 3)))(2.0) == 12.0
    named = jax.custom_remat(
        lambda x, n: x**n,
        lambda policy, x, n: (x**n, x),
        lambda x, _, n: (x**n, n * x ** (n - 1)),
        lambda slope, ct: (ct * slope,),
        static_argnames="n",
    )
    assert jax.grad(jax.checkpoint(lambda x: named(x, 3)))(2.0) == 12.0


def test_outside_of_checkpoint():
    np.testing.assert_allclose(wave(X, Y), f(X, Y))
    np.testing.assert_allclose(jax.grad(loss(wave))(X, Y), jax.grad(loss(f))(X, Y), rtol=1e-5)
