"""A transformer of flax linen, trained by optax in a `TrainState`."""

from typing import Any

import optax
from flax import linen as nn
from flax.training.train_state import TrainState
from tool_model import LAYERS, WIDTH, Model, data

import jax
import jax.numpy as jnp


class Block(nn.Module):
    """Attention and an MLP, each with a norm before it."""

    @nn.compact
    def __call__(self, x: Any) -> Any:
        x = x + nn.MultiHeadDotProductAttention(num_heads=2)(nn.LayerNorm()(x))
        h = nn.gelu(nn.Dense(2 * WIDTH)(nn.LayerNorm()(x)))
        return x + nn.Dense(WIDTH)(h)


class Transformer(nn.Module):
    """Blocks behind a logarithm and a norm with running statistics."""

    @nn.compact
    def __call__(self, x: Any) -> Any:
        x = jnp.log(x)  # cause
        x = nn.BatchNorm(use_running_average=False)(x)
        x = nn.Dropout(0.1, deterministic=False)(x)
        for _ in range(LAYERS):
            x = Block()(x)
        return x


class State(TrainState):
    """The state of training, with running statistics and a random key."""

    statistics: Any
    key: Any


@jax.jit
def step(state: State, x: Any, y: Any) -> Any:
    """Return the state after a step, and the loss."""
    key, drop = jax.random.split(state.key)

    def loss(params: Any) -> Any:
        variables = {"params": params, "batch_stats": state.statistics}
        options = {"rngs": {"dropout": drop}, "mutable": ["batch_stats"]}
        out, changed = state.apply_fn(variables, x, **options)
        return jnp.mean((out - y) ** 2), changed["batch_stats"]

    (value, statistics), grads = jax.value_and_grad(loss, has_aux=True)(state.params)
    return state.apply_gradients(grads=grads, statistics=statistics, key=key), value


@jax.jit
def fails(state: State, x: Any, y: Any) -> Any:
    """Raise an error after the model was called."""
    raise ArithmeticError(f"after {step(state, x, y)}")


MODULE, OPTIMIZER = Transformer(), optax.adam(1e-2, eps=1e-2)


def arguments(rows: int) -> tuple[Any, ...]:
    """Return a new state with a batch."""
    x, y = data(rows)
    variables = MODULE.init({"params": jax.random.key(0), "dropout": jax.random.key(1)}, x[:2])
    state = State.create(
        apply_fn=MODULE.apply,
        params=variables["params"],
        tx=OPTIMIZER,
        statistics=variables["batch_stats"],
        key=jax.random.key(2),
    )
    return state, x, y


MODEL = Model(
    arguments, step, fails, Transformer.__call__, lambda arguments: arguments[0], (None, 0, 0)
)
