"""A flow of distrax, whose bijector is inverted outside of its range."""

from typing import Any

import distrax
import numpy as np
from planted_cases import cases

import jax
import jax.numpy as jnp


def shifted(x: Any) -> Any:
    """Return the logarithm of the inputs."""
    return jnp.log(x)  # cause


BIJECTOR = distrax.Chain(
    [
        distrax.ScalarAffine(0.5, 2.0),
        distrax.Lambda(
            forward=jnp.exp,
            inverse=shifted,
            forward_log_det_jacobian=lambda x: x,
            inverse_log_det_jacobian=lambda y: -shifted(y),
            event_ndims_in=0,
        ),
    ]
)


def loss(location: Any, y: Any) -> Any:
    """Return the negative log likelihood with its gradient."""

    def negative(location: Any) -> Any:
        flow = distrax.Transformed(distrax.Normal(location, 1.0), BIJECTOR)
        return -flow.log_prob(y).mean()

    return jax.value_and_grad(negative)(location)


Y = np.array([1.5, 2.5, 3.5], np.float32)
PROGRAMS = cases(loss, shifted, "log", healthy=(0.1, Y), planted=(0.1, Y - 2))
