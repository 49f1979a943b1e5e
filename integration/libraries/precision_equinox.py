"""Models of equinox with a planted line that loses accuracy."""

from typing import Any

import equinox as eqx
import numpy as np

import jax
import jax.numpy as jnp
from ricci import precision

X = np.random.RandomState(0).normal(size=(4, 8), scale=300).astype(np.float16)
KEY = jax.random.key(0)


class Network(eqx.Module):
    """Two layers in float16 with a norm by hand before them."""

    first: eqx.nn.Linear
    last: eqx.nn.Linear

    def __init__(self) -> None:
        self.first = eqx.nn.Linear(8, 16, key=KEY, dtype=jnp.float16)
        self.last = eqx.nn.Linear(16, 2, key=KEY, dtype=jnp.float16)

    def __call__(self, x: Any) -> Any:
        square = jnp.mean(x * x)  # cause
        x = x * jax.lax.rsqrt(square + 1e-3)
        return self.last(jnp.tanh(self.first(x)))


def loss(model: Network, x: Any) -> Any:
    """Return the mean square of the model's results."""
    return jnp.mean(jax.vmap(model)(x).astype(jnp.float32) ** 2)


def on(run: Any) -> Any:
    """Return a program that runs the tool."""
    return lambda: (precision(run)(Network(), X), Network.__call__)


gradient = eqx.filter_value_and_grad(loss)

PROGRAMS = {
    "plain": on(loss),
    "jit": on(eqx.filter_jit(loss)),
    "gradient": on(gradient),
    "jitted gradient": on(eqx.filter_jit(gradient)),
    "checkpoint": on(eqx.filter_jit(eqx.filter_value_and_grad(eqx.filter_checkpoint(loss)))),
}
