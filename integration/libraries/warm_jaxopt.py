"""Fits by jaxopt's solvers, jitted by themselves and around."""

from typing import Any

import jaxopt
from jaxopt._src import loss as losses

import jax
import jax.numpy as jnp

X = jnp.arange(8.0).reshape(4, 2) / 8
Y = jnp.array([0.0, 1, 1, 0])


def huber(weights: Any, x: Any, y: Any) -> Any:
    """Return a robust error."""
    return jnp.mean(losses.huber_loss(y, x @ weights))


def projected() -> Any:
    """Return a fit on a simplex."""
    solver = jaxopt.ProjectedGradient(huber, jaxopt.projection.projection_simplex, maxiter=4)
    return solver.run(jnp.full(2, 0.5), x=X, y=Y).params


def through_root() -> Any:
    """Return the gradient through a fit by its optimality conditions."""

    def loss(weights: Any, rate: Any) -> Any:
        return huber(weights, X, Y) + rate * jnp.sum(weights**2)

    fit = lambda rate: jaxopt.GradientDescent(loss, maxiter=5).run(jnp.zeros(2), rate).params.sum()
    return jax.jit(jax.grad(fit))(0.5)


def change_loss() -> None:
    """Change the function of a loss."""
    losses.huber_loss = lambda target, pred: jnp.abs(target - pred)


PROGRAMS = {
    "L-BFGS": lambda: jax.jit(lambda w: jaxopt.LBFGS(huber, maxiter=4).run(w, X, Y).params)(Y[:2]),
    "its own jit": lambda: jaxopt.LBFGS(huber, maxiter=4).run(jnp.zeros(2), X, Y).params,
    "projected": projected,
    "implicit": through_root,
}
VALUE = "L-BFGS", change_loss
EDIT = "L-BFGS", "jaxopt/_src/loss.py", "0.5 * abs_diff ** 2)", "2.5 * abs_diff ** 2)"
