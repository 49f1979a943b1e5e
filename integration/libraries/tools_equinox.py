"""A transformer of equinox, trained by optax under `eqx.filter_jit`."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import optax
from tool_model import LAYERS, WIDTH, Model, data

import jax
import jax.numpy as jnp


class Block(eqx.Module):
    """Attention and an MLP, each with a norm before it; the activation is a leaf."""

    norms: list[eqx.nn.LayerNorm]
    attention: eqx.nn.MultiheadAttention
    up: eqx.nn.Linear
    down: eqx.nn.Linear
    activation: Callable[..., Any]

    def __init__(self, key: Any) -> None:
        keys = jax.random.split(key, 3)
        self.norms = [eqx.nn.LayerNorm(WIDTH) for _ in range(2)]
        self.attention = eqx.nn.MultiheadAttention(2, WIDTH, key=keys[0])
        self.up = eqx.nn.Linear(WIDTH, 2 * WIDTH, key=keys[1])
        self.down = eqx.nn.Linear(2 * WIDTH, WIDTH, key=keys[2])
        self.activation = jax.nn.gelu

    def __call__(self, x: Any) -> Any:
        h = jax.vmap(self.norms[0])(x)
        x = x + self.attention(h, h, h)
        h = jax.vmap(self.up)(jax.vmap(self.norms[1])(x))
        return x + jax.vmap(self.down)(self.activation(h))


class Transformer(eqx.Module):
    """Blocks behind a logarithm."""

    drop: eqx.nn.Dropout
    blocks: list[Block]

    def __init__(self, key: Any) -> None:
        self.drop = eqx.nn.Dropout(0.1)
        self.blocks = [Block(k) for k in jax.random.split(key, LAYERS)]

    def __call__(self, x: Any, key: Any) -> Any:
        x = jnp.log(x)  # cause
        x = self.drop(x, key=key)
        for block in self.blocks:
            x = block(x)
        return x


@eqx.filter_value_and_grad
def loss(model: Transformer, key: Any, x: Any, y: Any) -> Any:
    """Return the mean square error; all examples drop the same values."""
    return jnp.mean((jax.vmap(model, in_axes=(0, None))(x, key) - y) ** 2)


OPTIMIZER = optax.adam(1e-2, eps=1e-2)


@eqx.filter_jit
def step(model: Transformer, moments: Any, key: Any, x: Any, y: Any) -> Any:
    """Return the model and the moments after a step, and the loss."""
    value, grads = loss(model, key, x, y)
    updates, moments = OPTIMIZER.update(grads, moments)
    return eqx.apply_updates(model, updates), moments, value


@eqx.filter_jit
def fails(*arguments: Any) -> Any:
    """Raise an error after the model was called."""
    raise ArithmeticError(f"after {step(*arguments)}")


def arguments(rows: int) -> tuple[Any, ...]:
    """Return a new model and the optimizer's state with a batch."""
    model = Transformer(jax.random.key(0))
    moments = OPTIMIZER.init(eqx.filter(model, eqx.is_inexact_array))
    return model, moments, jax.random.key(1), *data(rows)


def state(arguments: tuple[Any, ...]) -> Any:
    """Return the arrays in the model and the moments."""
    return eqx.filter(arguments[:2], eqx.is_array)


MODEL = Model(arguments, step, fails, Transformer.__call__, state, (None, None, None, 0, 0))
