"""Models of haiku with a planted cause of a NaN."""

from collections.abc import Callable
from typing import Any

import haiku as hk
import numpy as np

import jax
import jax.numpy as jnp
from ricci.debug import find_nan

X = np.ones((2, 3), np.float32)
KEY = jax.random.key(0)


def network(x: Any) -> Any:
    """Divide exponentials that overflow by their sum."""
    h = hk.nets.MLP([4, 4])(x)
    h = hk.BatchNorm(True, True, 0.9)(h, is_training=True)
    e = jnp.exp(h * 0 + 100.0)  # cause
    return e / e.sum()


def rematted(x: Any) -> Any:
    """Take a root of negative numbers, in a block that is recomputed."""

    def block(x: Any) -> Any:
        y = hk.Linear(3)(x) - 50.0
        return jnp.sqrt(y)  # cause

    return hk.remat(block)(x)


def on(fun: Callable[..., Any], operation: str, transform: Callable[..., Any]) -> Callable[[], Any]:
    """Return a program that finds the NaN of a network."""

    def program() -> Any:
        pair = hk.transform_with_state(fun)
        params, state = pair.init(KEY, X)
        apply = lambda params, x: pair.apply(params, state, KEY, x)[0]
        return find_nan(transform(apply), params, X), operation, fun

    return program


def gradient(apply: Callable[..., Any]) -> Callable[..., Any]:
    """Return the value and gradient of a network's sum, jitted."""
    return jax.jit(jax.value_and_grad(lambda *args: apply(*args).sum()))


PROGRAMS = {
    "plain": on(network, "exp", lambda f: f),
    "jit": on(network, "exp", jax.jit),
    "gradient": on(network, "exp", gradient),
    "remat": on(rematted, "sqrt", gradient),
}
