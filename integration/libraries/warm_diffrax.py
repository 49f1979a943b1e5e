"""Differential equations of diffrax, and gradients through them."""

from typing import Any

import diffrax
import equinox as eqx

import jax
import jax.numpy as jnp

Y0 = jnp.array([1.0, 0.5])
END = diffrax.SaveAt(t1=True)


def times() -> Any:
    """Return some times as a library's user names them."""
    return diffrax.SaveAt(ts=jnp.linspace(0, 1, 4))


def solve(y0: Any, rate: Any, saveat: Any) -> Any:
    """Return a solution by an adaptive step size."""
    term = diffrax.ODETerm(lambda t, y, args: -args * jnp.stack([y[1], -y[0]]))
    solution = diffrax.diffeqsolve(
        term,
        diffrax.Tsit5(),
        0,
        1,
        0.1,
        y0,
        rate,
        saveat=saveat,
        stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-6),
        throw=False,
    )
    return solution.ys


def midpoints(y0: Any) -> Any:
    """Return the end of a solution by constant steps."""
    term = diffrax.ODETerm(lambda t, y, args: -y)
    return diffrax.diffeqsolve(term, diffrax.Midpoint(), 0, 1, 0.25, y0, throw=False).ys


def change_tableau() -> None:
    """Change the coefficients of a solver."""
    diffrax.Midpoint.tableau.b_sol[:] = [0.5, 0.5]


PROGRAMS = {
    "adaptive": lambda: eqx.filter_jit(solve)(Y0, 2.0, END),
    "gradient": lambda: jax.jit(jax.grad(lambda y0: solve(y0, 2.0, END).sum()))(Y0),
    "times": lambda: jax.jit(lambda y0: solve(y0, 2.0, times()))(Y0),
    "gradient of times": lambda: jax.jit(jax.grad(lambda y0: solve(y0, 2.0, times()).sum()))(Y0),
    "constant": lambda: jax.jit(midpoints)(Y0),
}
VALUE = "constant", change_tableau
EDIT = (
    "constant",
    "diffrax/_solver/midpoint.py",
    "b_sol=np.array([0.0, 1.0])",
    "b_sol=np.array([0.5, 0.5])",
)
# The times are checked by `error_if` of equinox.
REFUSED = dict.fromkeys(("times", "gradient of times"), "Set EQX_ON_ERROR=nan")
