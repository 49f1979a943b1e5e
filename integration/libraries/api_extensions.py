"""Uses of JAX's interfaces for extensions by libraries: primitives, traces, interpreters.

numpyro walks through programs to tell which inputs a result depends on, and haiku to describe a
network; equinox has primitives that look through `vmap`, refuse a transformation, or stay one call;
tensorflow-probability registers a class of values. All are used here as their users do.
"""

import equinox as eqx
import equinox.internal as eqxi
import haiku as hk
import numpy as np
import numpyro
import numpyro.distributions as dist
from equinox._unvmap import unvmap_all, unvmap_any, unvmap_max
from haiku._src import jaxpr_info
from numpyro.infer.inspect import get_dependencies
from numpyro.ops.provenance import eval_provenance
from tensorflow_probability.substrates import jax as tfp

import jax
import jax.numpy as jnp

X = np.float32([0.5, 1.0, 2.0])


def provenance():
    def fun(x, y):
        branch = jax.lax.cond(True, lambda: x, lambda: x + 1)
        return {"x": x * 2, "y": jax.jit(lambda a: jnp.sin(a) + 1)(y), "both": branch + y}

    found = eval_provenance(fun, x=1.0, y=2.0)
    return {name: sorted(inputs) for name, inputs in found.items()}


def dependencies():
    def model(data):
        a = numpyro.sample("a", dist.Normal(0, 1))
        b = numpyro.sample("b", dist.Normal(a, 1))
        numpyro.sample("c", dist.Normal(b, 1), obs=data)

    found = get_dependencies(model, (1.0,))["prior_dependencies"]
    return {site: sorted(inputs) for site, inputs in found.items()}


def through_vmap():
    look = lambda x: (unvmap_any(x > 1), unvmap_all(x >= 0), unvmap_max(x.astype(int)))
    return jax.jit(jax.vmap(look, out_axes=None))(X)


def refused(transform):
    return transform(lambda x: eqxi.nondifferentiable_backward(x) * 1.0)(1.0)


def untraceable():
    return jax.jit(lambda x: eqxi.nontraceable(x))(1.0)


def finalised():
    fun = eqxi.finalise_fn(lambda x: eqxi.nontraceable(jnp.sin(x)))
    return jax.jit(fun)(1.0), jax.jvp(fun, (1.0,), (1.0,))


def one_call():
    fun = eqxi.noinline(lambda x, y: jnp.sin(x) * y)
    slope = eqx.filter_jit(eqx.filter_grad(lambda x: fun(x, 2.0)))
    return eqx.filter_jit(fun)(1.0, 2.0), slope(jnp.float32(1.0)), eqx.filter_vmap(fun)(X, X)


def own_loop(kind):
    def last(x):
        body = lambda carry: (carry[0] * jnp.cos(carry[0]), carry[1] + 1)
        return eqxi.while_loop(lambda c: c[1] < 5, body, (x, 0), max_steps=8, kind=kind)[0]

    return jax.jit(jax.grad(last))(0.7), jax.vmap(jax.grad(last))(jnp.asarray(X))


def network():
    fun = hk.transform(lambda x: hk.nets.MLP([3, 2])(x))
    return fun, fun.init(jax.random.PRNGKey(0), jnp.ones((1, 4)))


def described():
    fun, params = network()
    info = jaxpr_info.make_model_info(fun.apply)(params, None, jnp.ones((1, 4)))
    return len(jaxpr_info.format_module(info).splitlines()) > 3


def variables():
    normal = tfp.distributions.Normal(0.0, 1.0)
    tril = tfp.distributions.MultivariateNormalTriL(jnp.zeros(2), jnp.eye(2))
    variable = tfp.tf2jax.Variable(X)
    return (
        jax.grad(normal.log_prob)(0.5),
        jax.jit(lambda key: tril.sample(3, seed=key))(jax.random.PRNGKey(0)),
        tfp.math.value_and_gradient(lambda x: x**2, 3.0),
        jnp.sin(variable),
        jax.jit(jnp.cos)(variable),
    )


CASES = {
    "numpyro: provenance": provenance,
    "numpyro: dependencies": dependencies,
    "equinox: unvmap": through_vmap,
    "equinox: nondifferentiable backwards, forwards": lambda: refused(
        lambda f: lambda x: jax.jvp(f, (x,), (x,))
    ),
    "equinox: nondifferentiable backwards, backwards": lambda: refused(jax.grad),
    "equinox: nontraceable": untraceable,
    "equinox: finalise": finalised,
    "equinox: noinline": one_call,
    **{
        f"equinox: while_loop {kind}": (lambda kind=kind: own_loop(kind))
        for kind in ("checkpointed", "bounded")
    },
    "haiku: jaxpr_info": described,
    "tensorflow-probability": variables,
}
