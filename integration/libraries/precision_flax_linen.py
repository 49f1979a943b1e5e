"""Models of flax linen with a planted line that loses accuracy."""

from typing import Any

import flax.linen as nn
import ml_dtypes
import numpy as np

import jax
import jax.numpy as jnp
from ricci import precision

X = np.random.RandomState(0).normal(size=(4, 8)).astype(ml_dtypes.bfloat16)


class Network(nn.Module):
    """Two layers in bfloat16, and a softmax by hand over many numbers between them."""

    @nn.compact
    def __call__(self, x: Any) -> Any:
        x = nn.Dense(512, dtype=jnp.bfloat16)(x)
        e = jnp.exp(x)

        def add(total: Any, column: Any) -> Any:
            return total + column, None  # cause

        total, _ = jax.lax.scan(add, jnp.zeros(x.shape[0], x.dtype), e.T)
        return nn.Dense(2, dtype=jnp.bfloat16)(e / total[:, None])


MODEL = Network()
PARAMS = MODEL.init(jax.random.key(0), X)


def loss(params: Any, x: Any) -> Any:
    """Return the mean square of the model's results."""
    return jnp.mean(MODEL.apply(params, x).astype(jnp.float32) ** 2)


class Centred(nn.Module):
    """A norm by hand, whose mean is stored in bfloat16, over numbers far from 0."""

    @nn.compact
    def __call__(self, x: Any) -> Any:
        h = nn.Dense(48, dtype=jnp.float32)(x) + 60.0
        mean = h.mean(-1, keepdims=True)
        square = (h * h).mean(-1, keepdims=True).astype(jnp.bfloat16)  # cause
        variance = jnp.abs(square.astype(jnp.float32) - mean * mean)
        return nn.Dense(2, dtype=jnp.float32)((h - mean) * jax.lax.rsqrt(variance + 1e-3))


class Positions(nn.Module):
    """An attention with distances of positions, which are stored in float16."""

    @nn.compact
    def __call__(self, x: Any) -> Any:
        position = (jnp.arange(4) * 0.7 + 4000).astype(jnp.float16)  # cause
        apart = position[:, None].astype(jnp.float32) - position[None].astype(jnp.float32)
        q, k = nn.Dense(16)(x), nn.Dense(16)(x)
        weights = nn.softmax(q.astype(jnp.float32) @ k.T.astype(jnp.float32) / 4 - jnp.abs(apart))
        return weights @ x.astype(jnp.float32)


class Stream(nn.Module):
    """Residual layers, whose sum is stored in bfloat16."""

    @nn.compact
    def __call__(self, x: Any) -> Any:
        first = x = x * 4
        for _ in range(16):
            h = nn.gelu(nn.Dense(8, dtype=jnp.float32)(x))
            x = (x.astype(jnp.float32) + h / 64).astype(jnp.bfloat16)  # cause
        return x.astype(jnp.float32) - first.astype(jnp.float32)


def on_model(model: nn.Module) -> Any:
    """Return a program that runs the tool on a jitted model."""

    def program() -> Any:
        x = X.astype(np.float32)
        params = model.init(jax.random.key(0), x)
        return precision(jax.jit(model.apply))(params, x), type(model).__call__

    return program


def on(run: Any) -> Any:
    """Return a program that runs the tool."""
    return lambda: (precision(run)(PARAMS, X), Network.__call__)


PROGRAMS = {
    "plain": on(loss),
    "jit": on(jax.jit(loss)),
    "gradient": on(jax.value_and_grad(loss)),
    "jitted gradient": on(jax.jit(jax.value_and_grad(loss))),
    "centred": on_model(Centred()),
    "positions": on_model(Positions()),
    "stream": on_model(Stream()),
}
