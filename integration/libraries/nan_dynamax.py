"""The likelihood of a linear Gaussian model in dynamax, whose noise is a root below 0."""

from typing import Any

from dynamax.linear_gaussian_ssm import LinearGaussianSSM
from planted_cases import cases

import jax
import jax.numpy as jnp

MODEL = LinearGaussianSSM(2, 1)
OBSERVED = jnp.sin(jnp.arange(8.0))[:, None]
PARAMETERS = MODEL.initialize(jax.random.key(0))[0]


def noise(variance: Any) -> Any:
    """Return the covariance of the dynamics."""
    return jnp.eye(2) * jnp.sqrt(variance)  # cause


def likelihood(variance: Any, observed: Any) -> Any:
    """Return the value and the gradient of the log likelihood."""

    def loss(variance: Any) -> Any:
        dynamics = PARAMETERS.dynamics._replace(cov=noise(variance))
        return -MODEL.marginal_log_prob(PARAMETERS._replace(dynamics=dynamics), observed)

    return jax.value_and_grad(loss)(variance)


PROGRAMS = cases(likelihood, noise, "sqrt", healthy=(0.2, OBSERVED), planted=(-0.2, OBSERVED))
