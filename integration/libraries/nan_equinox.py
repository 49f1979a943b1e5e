"""Models of equinox with a planted cause of a NaN."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import numpy as np

import jax
import jax.numpy as jnp
from ricci import check, memory_plan
from ricci.debug import find_nan

X = np.ones((2, 3), np.float32)
KEY = jax.random.key(0)


class Layer(eqx.Module):
    """A layer that divides its results by 0; it has a leaf that is not an array."""

    linear: eqx.nn.Linear
    norm: eqx.nn.LayerNorm
    activation: Callable[..., Any]

    def __init__(self) -> None:
        self.linear = eqx.nn.Linear(3, 4, key=KEY)
        self.norm = eqx.nn.LayerNorm(4)
        self.activation = jax.nn.relu

    def __call__(self, x: Any) -> Any:
        y = self.activation(self.norm(self.linear(x)))
        total = jnp.sum(y * 0)
        return y / total  # cause


def loss(model: Layer, x: Any) -> Any:
    """Return the sum of the model's results."""
    return jnp.sum(jax.vmap(model)(x))


def on(run: Callable[..., Any]) -> Callable[[], Any]:
    """Return a program that finds the NaN of the model, after the other tools ran on it."""

    def program() -> Any:
        assert not check(run)(Layer(), X)
        assert memory_plan(run, Layer(), X).peak_bytes > 0
        return find_nan(run, Layer(), X), "div", Layer.__call__

    return program


gradient = eqx.filter_value_and_grad(loss)

PROGRAMS = {
    "plain": on(loss),
    "jit": on(eqx.filter_jit(loss)),
    "gradient": on(gradient),
    "jitted gradient": on(eqx.filter_jit(gradient)),
    "checkpoint": on(eqx.filter_jit(eqx.filter_value_and_grad(eqx.filter_checkpoint(loss)))),
    "vmap": on(eqx.filter_jit(lambda model, x: eqx.filter_vmap(model)(x))),
}
