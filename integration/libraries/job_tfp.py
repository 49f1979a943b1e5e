"""Robust regression of the diabetes data with TensorFlow Probability on JAX: a fit, then HMC."""

import optax
from tensorflow_probability.substrates import jax as tfp

import jax
import jax.numpy as jnp

tfd, tfb = tfp.distributions, tfp.bijectors

STEPS = 120
QUALITY = {"explained_variance": 0.4, "acceptance": 0.4}


def model(x):
    def parts():
        scale = yield tfd.HalfNormal(1.0, name="scale")
        weights = yield tfd.Sample(tfd.Normal(0.0, 0.5), x.shape[1], name="weights")
        mean = jnp.einsum("nd,...d->...n", x, weights)
        noise = tfd.StudentT(5.0, mean, jnp.asarray(scale)[..., None])
        yield tfd.Independent(noise, 1, name="y")

    return tfd.JointDistributionCoroutineAutoBatched(parts)


def surrogate(p):
    width = jax.nn.softplus(p["width"])
    return tfd.JointDistributionSequential(
        [
            tfd.TransformedDistribution(tfd.Normal(p["mean"][0], width[0]), tfb.Softplus()),
            tfd.MultivariateNormalDiag(p["mean"][1:], width[1:]),
        ]
    )


def train(data):
    x, y = jnp.asarray(data["patients"]), jnp.asarray(data["progression"])
    joint, unseen, truth = model(x[:300]), x[300:], y[300:]
    target = lambda scale, weights: joint.log_prob(scale, weights, y[:300])
    p = {"mean": jnp.zeros(11), "width": jnp.full(11, -2.0)}
    optimizer = optax.adam(2e-2)
    moments = optimizer.init(p)

    def loss_of(p, key):
        guide = surrogate(p)
        draws = guide.sample(16, seed=key)
        return (guide.log_prob(draws) - jax.vmap(target)(*draws)).mean() / 300

    @jax.jit
    def step(p, moments, key):
        loss, gradient = jax.value_and_grad(loss_of)(p, key)
        updates, moments = optimizer.update(gradient, moments)
        return optax.apply_updates(p, updates), moments, loss

    keys = jax.random.split(jax.random.key(4), STEPS + 1)
    for key in keys[:-1]:
        p, moments, loss = step(p, moments, key)
        yield loss
    hmc = tfp.mcmc.TransformedTransitionKernel(
        tfp.mcmc.HamiltonianMonteCarlo(target, step_size=0.012, num_leapfrog_steps=4),
        [tfb.Softplus(), tfb.Identity()],
    )
    start = [jax.nn.softplus(p["mean"][0]), p["mean"][1:]]
    (_, weights), accepted = jax.jit(
        lambda key: tfp.mcmc.sample_chain(
            60, start, kernel=hmc, seed=key, trace_fn=lambda _, r: r.inner_results.is_accepted
        )
    )(keys[-1])
    error = jnp.mean((unseen @ weights.mean(0) - truth) ** 2)
    return {"explained_variance": 1 - error / jnp.var(truth), "acceptance": accepted.mean()}
