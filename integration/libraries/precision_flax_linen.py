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


def on(run: Any) -> Any:
    """Return a program that runs the tool."""
    return lambda: (precision(run)(PARAMS, X), Network.__call__)


PROGRAMS = {
    "plain": on(loss),
    "jit": on(jax.jit(loss)),
    "gradient": on(jax.value_and_grad(loss)),
    "jitted gradient": on(jax.jit(jax.value_and_grad(loss))),
}
