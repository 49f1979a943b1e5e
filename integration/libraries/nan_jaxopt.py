"""A fit by jaxopt's L-BFGS, whose loss takes a root below 0."""

from typing import Any

import jaxopt
import numpy as np
from planted_cases import cases

import jax.numpy as jnp


def loss(weights: Any, x: Any, y: Any) -> Any:
    """Return the error of a model of roots."""
    roots = jnp.sqrt(x)  # cause
    return jnp.mean((roots @ weights - y) ** 2)


def fit(x: Any, y: Any) -> Any:
    """Take five steps."""
    return jaxopt.LBFGS(loss, maxiter=5).run(jnp.zeros(2), x, y).params


X = np.arange(1, 9, dtype=np.float32).reshape(4, 2)
Y = np.ones(4, np.float32)
PROGRAMS = cases(fit, loss, "sqrt", healthy=(X, Y), planted=(X - 3, Y))
