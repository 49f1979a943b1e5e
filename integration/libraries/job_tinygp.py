"""Gaussian processes with tinygp: kernels on the diabetes data, a state space on a series."""

import optax
from tinygp import GaussianProcess, kernels, transforms

import jax
import jax.numpy as jnp

STEPS = 60
QUALITY = {"explained_variance": 0.4, "series_closeness": 0.5}


def process(p, x):
    near = transforms.Linear(jnp.exp(p["inverse"]), kernels.Matern52())
    kernel = jnp.exp(p["scale"]) * near + jnp.exp(p["slope"]) * kernels.DotProduct()
    return GaussianProcess(kernel, x, diag=jnp.exp(p["noise"]) + 1e-4)


def series(p, times):
    wave = kernels.quasisep.SHO(omega=jnp.exp(p["omega"]), quality=2.0, sigma=jnp.exp(p["size"]))
    return GaussianProcess(wave, times, diag=jnp.exp(p["error"]) + 1e-4)


def train(data):
    x, y = jnp.asarray(data["patients"]), jnp.asarray(data["progression"])
    x, y, unseen, truth = x[:300], y[:300], x[300:], y[300:]
    times = jnp.arange(200) / 10.0
    clean = jnp.sin(2 * times) + 0.1 * times
    noisy = clean + 0.3 * jax.random.normal(jax.random.key(0), times.shape)
    p = {"inverse": jnp.full(10, -1.5), "noise": jnp.array(-1.0), "scale": jnp.array(0.0)}
    p |= {"slope": jnp.array(-2.0), "omega": jnp.array(0.5), "size": jnp.array(0.0)}
    p |= {"error": jnp.array(-1.0)}
    optimizer = optax.adam(5e-2)
    moments = optimizer.init(p)

    def loss_of(p):
        rows = process(p, x).log_probability(y) / len(x)
        return -rows - series(p, times).log_probability(noisy) / len(times)

    @jax.jit
    def step(p, moments):
        loss, gradient = jax.value_and_grad(loss_of)(p)
        updates, moments = optimizer.update(gradient, moments)
        return optax.apply_updates(p, updates), moments, loss

    for _ in range(STEPS):
        p, moments, loss = step(p, moments)
        yield loss
    error = jnp.mean((process(p, x).condition(y, unseen).gp.loc - truth) ** 2)
    smooth = series(p, times).condition(noisy).gp.loc
    closeness = 1 - jnp.mean((smooth - clean) ** 2) / jnp.mean((noisy - clean) ** 2)
    return {"explained_variance": 1 - error / jnp.var(truth), "series_closeness": closeness}
