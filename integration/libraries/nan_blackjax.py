"""A chain of blackjax's NUTS, whose density takes the logarithm of a number below 0."""

from typing import Any

import blackjax
import numpy as np
from planted_cases import cases

import jax
import jax.numpy as jnp


def density(position: Any, rates: Any) -> Any:
    """Return the log density of a Gamma-like model in its logarithm."""
    weights = jnp.log(rates)  # cause
    return jnp.sum(weights * position - jnp.exp(position)) - 0.5 * jnp.sum(position**2)


def chain(rates: Any) -> Any:
    """Return the log densities of three draws."""
    sampler = blackjax.nuts(lambda x: density(x, rates), 0.1, np.ones(3, np.float32))
    state = sampler.init(jnp.zeros(3))
    draw = lambda state, key: (sampler.step(key, state)[0], state.logdensity)
    return jax.lax.scan(draw, state, jax.random.split(jax.random.key(1), 3))[1]


RATES = np.array([0.5, 1.5, 2.5], np.float32)
PROGRAMS = cases(chain, density, "log", healthy=(RATES,), planted=(RATES - 1,))
