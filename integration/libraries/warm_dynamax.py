"""Likelihoods and smoothed states of dynamax's models."""

from typing import Any

import dynamax.utils.utils
from dynamax.hidden_markov_model import GaussianHMM
from dynamax.linear_gaussian_ssm import LinearGaussianSSM

import jax
import jax.numpy as jnp

LINEAR = LinearGaussianSSM(2, 1)
OBSERVED = jnp.sin(jnp.arange(8.0))[:, None]
PARAMETERS = LINEAR.initialize(jax.random.key(0))[0]
HIDDEN = GaussianHMM(2, 1)
HIDDEN_PARAMETERS = HIDDEN.initialize(jax.random.key(0))[0]


def likelihood(parameters: Any, observed: Any) -> Any:
    """Return the log likelihood of a linear model."""
    return LINEAR.marginal_log_prob(parameters, observed)


def change_symmetry() -> None:
    """Change a function by which covariances are computed."""
    dynamax.linear_gaussian_ssm.inference.symmetrize = lambda a: 0.75 * a


PROGRAMS = {
    "gradient": lambda: jax.jit(jax.value_and_grad(likelihood))(PARAMETERS, OBSERVED),
    "method": lambda: jax.jit(LINEAR.smoother)(PARAMETERS, OBSERVED),
    "hidden": lambda: jax.jit(HIDDEN.smoother)(HIDDEN_PARAMETERS, OBSERVED),
    "hidden, likelihood": lambda: jax.jit(HIDDEN.marginal_log_prob)(HIDDEN_PARAMETERS, OBSERVED),
}
VALUE = "method", change_symmetry
EDIT = (
    "hidden",
    "dynamax/hidden_markov_model/inference.py",
    "return u / c, c",
    "return u / (c + 1), c",
)
