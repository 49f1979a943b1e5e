"""A layer of equinox with low-rank adapters of quax, normalized by a norm of 0."""

from typing import Any

import equinox as eqx
import numpy as np
import quax
import quax.examples.lora as lora
from planted_cases import cases

import jax
import jax.numpy as jnp

LAYER = lora.loraify(
    eqx.nn.Linear(4, 3, key=jax.random.key(0)), rank=2, scale=0.1, key=jax.random.key(1)
)


def normalized(x: Any) -> Any:
    """Return vectors of length 1."""
    return x / jnp.linalg.norm(x)  # cause


def forward(x: Any) -> Any:
    """Return the sum of a layer's outputs."""
    return quax.quaxify(lambda layer, x: layer(normalized(x)).sum())(LAYER, x)


X = np.ones(4, np.float32)
PROGRAMS = cases(forward, normalized, "div", healthy=(X,), planted=(X * 0,))
