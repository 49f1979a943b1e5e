"""Local energies of netket, its Monte Carlo states and a step of its driver."""

from typing import Any

import netket as nk
import netket.operator._ising.jax as ising

import jax
import jax.numpy as jnp

HILBERT = nk.hilbert.Spin(s=1 / 2, N=4)
ENERGY = nk.operator.IsingJax(HILBERT, nk.graph.Chain(4), h=1.0)
SAMPLER = nk.sampler.MetropolisLocal(HILBERT, n_chains=8)
MODEL = nk.models.RBM(alpha=1)


def state() -> Any:
    """Return a new state."""
    return nk.vqs.MCState(SAMPLER, MODEL, n_samples=16, seed=1, sampler_seed=2)


STATE = state()


def energies(parameters: Any) -> Any:
    """Return the sum of the local energies of all states."""
    apply = STATE._apply_fun  # read before `all_states` caches numbers in the state's space
    samples = HILBERT.all_states()
    amplitude = lambda x: apply({"params": parameters}, x)
    neighbours, elements = ENERGY.get_conn_padded(samples)
    ratios = jnp.exp(amplitude(neighbours) - amplitude(samples)[:, None])
    return jnp.sum(elements * ratios).real


def elements() -> Any:
    """Return matrix elements."""
    return jax.jit(lambda x: ENERGY.get_conn_padded(x)[1])(HILBERT.all_states())


def expectation() -> Any:
    """Return an energy and its gradient."""
    value, gradient = state().expect_and_grad(ENERGY)
    return value.mean, gradient


def driven() -> Any:
    """Return the parameters after two steps of a driver."""
    here = state()
    driver = nk.driver.VMC(ENERGY, nk.optimizer.Sgd(0.1), variational_state=here)
    driver.run(2, out=(), show_progress=False)
    return here.parameters


def change_elements() -> None:
    """Change a function by which matrix elements are computed."""
    inner = ising._ising_mels_jax
    ising._ising_mels_jax = lambda *args: 2 * inner(*args)


PROGRAMS = {
    "energies": lambda: jax.jit(jax.value_and_grad(energies))(STATE.parameters),
    "elements": elements,
    "samples": lambda: state().samples,
    "expectation": expectation,
    "driver": driven,
}
VALUE = "elements", change_elements
EDIT = "elements", "netket/operator/_ising/jax.py", "at[..., 1:].set(-h)", "at[..., 1:].set(-3 * h)"
