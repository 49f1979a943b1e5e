"""A ground state in netket, whose wave function takes a logarithm of a number below 0."""

from typing import Any

import flax.linen as nn
import netket as nk
from planted_cases import cases

import jax
import jax.numpy as jnp


class Jastrow(nn.Module):
    """A wave function of pairs of spins."""

    @nn.compact
    def __call__(self, x: Any) -> Any:
        """Return the logarithms of the amplitudes."""
        kernel = self.param("kernel", nn.initializers.normal(0.01), (4, 4), float)
        pairs = jnp.einsum("...i,ij,...j", x, kernel, x)
        shift = self.param("shift", nn.initializers.ones, (), float)
        return pairs + jnp.log(shift)  # cause


HILBERT = nk.hilbert.Spin(s=1 / 2, N=4)
ENERGY = nk.operator.IsingJax(HILBERT, nk.graph.Chain(4), h=1.0)
STATE = nk.vqs.MCState(nk.sampler.MetropolisLocal(HILBERT, n_chains=4), Jastrow(), n_samples=16)


def energies(parameters: Any) -> Any:
    """Return the local energies of all states with the gradient of their sum."""
    samples = HILBERT.all_states()

    def total(parameters: Any) -> Any:
        amplitude = lambda x: STATE._apply_fun({"params": parameters}, x)
        neighbours, elements = ENERGY.get_conn_padded(samples)
        ratios = jnp.exp(amplitude(neighbours) - amplitude(samples)[:, None])
        return jnp.sum(elements * ratios).real

    return jax.value_and_grad(total)(parameters)


HEALTHY = STATE.parameters
PLANTED = HEALTHY | {"shift": -HEALTHY["shift"]}
PROGRAMS = cases(energies, Jastrow.__call__, "log", healthy=(HEALTHY,), planted=(PLANTED,))
