"""Densities, chains and variational steps of numpyro."""

from typing import Any

import numpyro
import numpyro.distributions as dist
from numpyro.distributions import continuous
from numpyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal
from numpyro.infer.util import log_density

import jax
import jax.numpy as jnp

DATA = jnp.linspace(-1, 1, 6)


def model(x: Any, y: Any = None) -> None:
    """A regression."""
    slope = numpyro.sample("slope", dist.Normal(0, 1))
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))
    with numpyro.plate("data", len(x)):
        numpyro.sample("y", dist.Normal(slope * x, noise), obs=y)


def density(slope: Any) -> Any:
    """Return a log density."""
    return log_density(model, (DATA, 2 * DATA), {}, {"slope": slope, "noise": 0.5})[0]


def chain() -> Any:
    """Return the draws of NUTS."""
    mcmc = MCMC(NUTS(model), num_warmup=5, num_samples=5, progress_bar=False)
    mcmc.run(jax.random.key(0), DATA, 2 * DATA)
    return mcmc.get_samples()


def variational() -> Any:
    """Return the state and the loss after a step of variational inference."""
    inference = SVI(model, AutoNormal(model), numpyro.optim.Adam(0.1), Trace_ELBO())
    return jax.jit(inference.update)(
        inference.init(jax.random.key(0), DATA, 2 * DATA), DATA, 2 * DATA
    )


def predicted() -> Any:
    """Return predictions."""
    return jax.jit(lambda key, x: Predictive(model, num_samples=3)(key, x)["y"])(
        jax.random.key(1), DATA
    )


def change_density() -> None:
    """Change a method of a distribution."""
    inner = continuous.Normal.log_prob
    continuous.Normal.log_prob = lambda self, value: 2 * inner(self, value)


PROGRAMS = {
    "density": lambda: jax.jit(jax.grad(density))(0.3),
    "chain": chain,
    "variational": variational,
    "predicted": predicted,
}
VALUE = "density", change_density
NORMAL = "numpyro/distributions/continuous.py"
EDIT = (
    "density",
    NORMAL,
    "value_scaled = (value - self.loc) / self.scale",
    "value_scaled = 2 * (value - self.loc)",
)
