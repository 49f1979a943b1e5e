"""Chains of blackjax, and the adaptation of their step size."""

from typing import Any

import blackjax
from blackjax.mcmc import integrators

import jax
import jax.numpy as jnp


def density(position: Any) -> Any:
    """Return a log density."""
    return -0.5 * jnp.sum(position**2)


def chain(key: Any, integrator: Any = integrators.velocity_verlet) -> Any:
    """Return the log densities of five draws of NUTS."""
    sampler = blackjax.nuts(density, 0.1, jnp.ones(3), integrator=integrator)
    state = sampler.init(jnp.ones(3))
    draw = lambda state, key: (sampler.step(key, state)[0], state.logdensity)
    return jax.lax.scan(draw, state, jax.random.split(key, 5))[1]


def one_step() -> Any:
    """Return a state after a jitted step of Hamiltonian Monte Carlo."""
    sampler = blackjax.hmc(density, 0.1, jnp.ones(3), 4, integrator=integrators.mclachlan)
    return jax.jit(sampler.step)(jax.random.key(0), sampler.init(jnp.ones(3)))[0]


def adapted() -> Any:
    """Return an adapted step size."""
    adaptation = blackjax.window_adaptation(blackjax.nuts, density)
    (state, parameters), _ = adaptation.run(jax.random.key(0), jnp.ones(2), 20)
    return state.position, parameters["step_size"]


def change_coefficients() -> None:
    """Change the coefficients of an integrator."""
    integrators.mclachlan_coefficients[0] = integrators.mclachlan_coefficients[4] = 0.3
    integrators.mclachlan_coefficients[2] = 0.4


PROGRAMS = {
    "chain": lambda: jax.jit(chain)(jax.random.key(1)),
    "step": one_step,
    "adaptation": adapted,
}
VALUE = "step", change_coefficients
EDIT = "step", "blackjax/mcmc/integrators.py", "b1 = 0.1931833275037836", "b1 = 0.3"
