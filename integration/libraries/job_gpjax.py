"""A sparse Gaussian process on the diabetes data with GPJax: its collapsed bound, then its fit."""

import gpjax as gpx
import optax
from flax import nnx

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)

STEPS = 60
QUALITY = {"explained_variance": 0.4}


def train(data):
    x = jnp.asarray(data["patients"], float)
    y = jnp.asarray(data["progression"], float)[:, None]
    rows, unseen, truth = gpx.Dataset(x[:300], y[:300]), x[300:], y[300:, 0]
    kernel = gpx.kernels.Matern52(lengthscale=jnp.full(10, 4.0)) + gpx.kernels.Linear()
    prior = gpx.gps.Prior(kernel=kernel, mean_function=gpx.mean_functions.Constant())
    posterior = prior * gpx.likelihoods.Gaussian(num_datapoints=rows.n, obs_stddev=jnp.array(0.7))
    guide = gpx.variational_families.CollapsedVariationalGaussian(
        posterior=posterior, inducing_inputs=x[:300:10]
    )
    graph, free, fixed = nnx.split(guide, gpx.parameters.Parameter, ...)
    transforms = gpx.parameters.DEFAULT_BIJECTION
    free = gpx.parameters.transform(free, transforms, inverse=True)
    optimizer = optax.adam(2e-2)
    moments = optimizer.init(free)

    def model(free):
        return nnx.merge(graph, gpx.parameters.transform(free, transforms), fixed)

    @jax.jit
    def step(free, moments):
        bound = lambda free: -gpx.objectives.collapsed_elbo(model(free), rows) / rows.n
        loss, gradient = jax.value_and_grad(bound)(free)
        updates, moments = optimizer.update(gradient, moments)
        return optax.apply_updates(free, updates), moments, loss

    for _ in range(STEPS):
        free, moments, loss = step(free, moments)
        yield loss
    mean = model(free).predict(unseen, rows).mean
    return {"explained_variance": 1 - jnp.mean((mean - truth) ** 2) / jnp.var(truth)}
