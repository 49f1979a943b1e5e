"""Jaxctx: layers whose parameters and random keys come from a context."""

import jaxctx

import jax
import jax.numpy as jnp

X = jnp.linspace(-1.0, 1.0, 6).reshape(2, 3)


def weights(shape, dtype):
    return jnp.sin(jnp.arange(12.0))[: shape[0] * shape[1]].reshape(shape)


def layer(name, x, size):
    with jaxctx.scope(name):
        w = jaxctx.get_parameter("w", "params", (x.shape[-1], size), jnp.float32, init=weights)
        b = jaxctx.get_parameter("b", "params", init=jnp.full((size,), 0.5))
    return x @ w + b


def network(x):
    return layer("second", jnp.tanh(layer("first", x, 4)), 2)


def drawn(x):
    return x + jax.random.normal(jaxctx.next_rng_key("noise"), x.shape)


def started():
    transformed = jaxctx.transform(network)
    return transformed, transformed.init({"params": jax.random.key(0)}, {}, X).collections


def applied():
    transformed, collections = started()
    return transformed.apply({}, collections, X).fn_val, jax.tree.leaves(collections)


def gradient():
    transformed, collections = started()
    loss = lambda c: jnp.sum(transformed.apply({}, c, X).fn_val ** 2)
    return jax.tree.leaves(jax.jit(jax.grad(loss))(collections))


CASES = {
    "applied": applied,
    "gradient": gradient,
    "drawn": lambda: jaxctx.transform(drawn).apply({"noise": jax.random.key(1)}, {}, X).fn_val,
}
