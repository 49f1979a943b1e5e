"""A masked autoregressive flow of flowjax on the logarithms of data, some of them below 0."""

from typing import Any

import equinox as eqx
import numpy as np
from flowjax.distributions import Normal
from flowjax.flows import masked_autoregressive_flow
from planted_cases import cases

import jax
import jax.numpy as jnp

FLOW = masked_autoregressive_flow(
    jax.random.key(0), base_dist=Normal(jnp.zeros(2)), flow_layers=2, nn_width=8
)
ARRAYS, STATIC = eqx.partition(FLOW, eqx.is_inexact_array)


def logarithms(x: Any) -> Any:
    """Return the logarithms of the data."""
    return jnp.log(x)  # cause


def loss(x: Any) -> Any:
    """Return the negative log likelihood with its gradient."""
    negative = lambda arrays: -eqx.combine(arrays, STATIC).log_prob(logarithms(x)).mean()
    return jax.value_and_grad(negative)(ARRAYS)


X = np.array([[0.5, 1.5], [2.5, 0.7]], np.float32)
PROGRAMS = cases(loss, logarithms, "log", healthy=(X,), planted=(X - 1,))
