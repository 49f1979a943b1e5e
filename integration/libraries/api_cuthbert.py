"""Cuthbert: filters and smoothers of state spaces, and their building blocks."""

from cuthbert import filter as run_filter
from cuthbert import smoother as run_smoother
from cuthbert.gaussian import kalman
from cuthbertlib.linalg import symmetric_inv_sqrt, tria
from cuthbertlib.stats import multivariate_normal

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)

STEPS = 6
F, Q = jnp.array([[1.0, 0.1], [0.0, 0.95]]), 0.3 * jnp.eye(2)
H, R = jnp.array([[1.0, 0.0]]), 0.5 * jnp.eye(1)
SEEN = jnp.sin(jnp.arange(STEPS + 1.0))[:, None]


INPUTS = jnp.arange(STEPS)
MODEL = kalman.build_filter(
    jnp.zeros(2),
    jnp.eye(2),
    lambda inputs: (F, jnp.zeros(2), Q),
    lambda inputs: (H, jnp.zeros(1), R, SEEN[inputs]),
)


def filter_states(parallel):
    return run_filter(MODEL, INPUTS, MODEL.init_prepare(), parallel=parallel)


def filtered(parallel):
    states = filter_states(parallel)
    return states.mean, states.chol_cov, states.log_normalizing_constant


def smoothed():
    backwards = kalman.build_smoother(lambda inputs: (F, jnp.zeros(2), Q))
    states = run_smoother(backwards, filter_states(parallel=False), model_inputs=INPUTS)
    return states.mean, states.chol_cov


CASES = {
    "filter": lambda: filtered(parallel=False),
    "parallel filter": lambda: filtered(parallel=True),
    "smoother": smoothed,
    "triangular": lambda: tria(F @ Q),
    "inverse root": lambda: symmetric_inv_sqrt(F @ F.T),
    "density": lambda: multivariate_normal.logpdf(SEEN[:2, 0], jnp.zeros(2), F @ Q),
    "density of integers": lambda: multivariate_normal.logpdf(jnp.arange(2), 0, jnp.eye(2)),
    "gradient": lambda: jax.grad(lambda x: multivariate_normal.logpdf(x, jnp.zeros(2), F @ Q))(
        SEEN[:2, 0]
    ),
}
