"""PyMC: models compiled by PyTensor's JAX backend: densities, gradients, sampling by NumPyro."""

import numpy as np
import pymc as pm
import pymc.sampling.jax

X = np.linspace(-1.0, 1.0, 20)
Y = 0.5 + 1.5 * X + np.sin(7 * X) / 5


def model():
    with pm.Model() as built:
        slope, offset = pm.Normal("slope", 0, 2), pm.Normal("offset", 0, 2)
        scale = pm.HalfNormal("scale", 1)
        pm.Normal("seen", offset + slope * X, scale, observed=Y)
    return built


def density():
    built = model()
    point = built.initial_point()
    return built.compile_logp(mode="JAX")(point), built.compile_dlogp(mode="JAX")(point)


def sampled():
    with model():
        trace = pm.sampling.jax.sample_numpyro_nuts(
            draws=60, tune=60, chains=2, random_seed=1, progressbar=False, chain_method="vectorized"
        )
    names = ("slope", "offset", "scale")
    return [np.asarray(trace.posterior[name]) for name in names]


CASES = {"density": density, "sampled": sampled}
