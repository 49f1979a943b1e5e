"""A transformer of haiku, trained by optax."""

from typing import Any

import haiku as hk
import optax
from tool_model import LAYERS, WIDTH, Model, data

import jax
import jax.numpy as jnp


class Transformer(hk.Module):
    """Blocks behind a logarithm and a norm with running statistics."""

    def __call__(self, x: Any) -> Any:
        x = jnp.log(x)  # cause
        x = hk.BatchNorm(True, True, 0.9)(x, is_training=True)
        x = hk.dropout(hk.next_rng_key(), 0.1, x)
        for _ in range(LAYERS):
            h = hk.LayerNorm(-1, True, True)(x)
            init = hk.initializers.VarianceScaling()
            x = x + hk.MultiHeadAttention(2, WIDTH // 2, w_init=init)(h, h, h)
            h = hk.Linear(2 * WIDTH)(hk.LayerNorm(-1, True, True)(x))
            x = x + hk.Linear(WIDTH)(jax.nn.gelu(h))
        return x


network = hk.transform_with_state(lambda x: Transformer()(x))
OPTIMIZER = optax.adam(1e-2, eps=1e-2)


def loss(params: Any, statistics: Any, key: Any, x: Any, y: Any) -> Any:
    """Return the mean square error, and the statistics."""
    out, statistics = network.apply(params, statistics, key, x)
    return jnp.mean((out - y) ** 2), statistics


@jax.jit
def step(params: Any, statistics: Any, moments: Any, key: Any, x: Any, y: Any) -> Any:
    """Return the parameters, the statistics and the moments after a step, and the loss."""
    gradient = jax.value_and_grad(loss, has_aux=True)
    (value, statistics), grads = gradient(params, statistics, key, x, y)
    updates, moments = OPTIMIZER.update(grads, moments)
    return optax.apply_updates(params, updates), statistics, moments, value


@jax.jit
def fails(*arguments: Any) -> Any:
    """Raise an error after the model was called."""
    raise ArithmeticError(f"after {step(*arguments)}")


def arguments(rows: int) -> tuple[Any, ...]:
    """Return new parameters with their state and a batch."""
    x, y = data(rows)
    params, statistics = network.init(jax.random.key(0), x[:2])
    return params, statistics, OPTIMIZER.init(params), jax.random.key(1), x, y


MODEL = Model(
    arguments,
    step,
    fails,
    Transformer.__call__,
    lambda arguments: arguments[:3],
    (None, None, None, None, 0, 0),
)
