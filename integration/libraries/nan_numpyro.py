"""A regression in numpyro, fitted by variational inference, whose scale is a root below 0."""

from typing import Any

import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal
from planted_cases import cases

import jax
import jax.numpy as jnp

X = np.linspace(-1, 1, 12, dtype=np.float32)


def regression(x: Any, y: Any, spread: Any) -> None:
    """Observe a line with a noise whose variance is passed."""
    slope = numpyro.sample("slope", dist.Normal(0.0, 1.0))
    offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
    scale = jnp.sqrt(spread)  # cause
    numpyro.sample("y", dist.Normal(slope * x + offset, scale), obs=y)


def fit(x: Any, y: Any, spread: Any) -> Any:
    """Take three steps."""
    inference = SVI(regression, AutoNormal(regression), numpyro.optim.Adam(1e-2), Trace_ELBO())
    state = inference.init(jax.random.key(0), x, y, 1.0)
    update = lambda _, state: inference.update(state, x, y, spread)[0]
    return jax.lax.fori_loop(0, 3, update, state).optim_state


# The stack of numpyro's handlers is a list that all threads share.
PROGRAMS = cases(
    fit, regression, "sqrt", healthy=(X, 2 * X, 0.5), planted=(X, 2 * X, -0.5), threads=False
)
