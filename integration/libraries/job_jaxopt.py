"""Penalties of a classifier of iris chosen by the gradient through its fit: jaxopt's solvers."""

import jaxopt

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)

STEPS = 40
QUALITY = {"accuracy": 0.9, "mixture_sums_to_one": 0.999}


def logits_of(weights, features):
    return features @ weights["w"] + weights["b"]


def penalised(weights, penalties, features, labels):
    loss = jaxopt.loss.multiclass_logistic_loss
    fit = jax.vmap(loss)(labels, logits_of(weights, features)).mean()
    return fit + 0.5 * jnp.sum(jnp.exp(penalties)[:, None] * weights["w"] ** 2)


def train(data):
    order = jax.random.permutation(jax.random.key(1), 150)
    features, labels = jnp.asarray(data["flowers"], float)[order], data["species"][order]
    train, held = slice(0, 75), slice(75, 150)
    start = {"w": jnp.zeros((4, 3)), "b": jnp.zeros(3)}
    inner = jaxopt.LBFGS(penalised, maxiter=60, tol=1e-8, implicit_diff=True)
    simplex = jaxopt.ProjectedGradient(
        lambda shares, scores: jnp.sum((scores @ shares - 1) ** 2),
        projection=jaxopt.projection.projection_simplex,
        maxiter=30,
    )

    def held_loss(penalties):
        weights = inner.run(start, penalties, features[train], labels[train]).params
        logits = logits_of(weights, features[held])
        return jax.vmap(jaxopt.loss.multiclass_logistic_loss)(labels[held], logits).mean(), weights

    @jax.jit
    def step(penalties):
        (loss, weights), slope = jax.value_and_grad(held_loss, has_aux=True)(penalties)
        scores = jax.nn.softmax(logits_of(weights, features[held]))
        shares = simplex.run(jnp.ones(3) / 3, None, scores).params
        return penalties - 2.0 * slope, loss, weights, shares

    penalties = jnp.full(4, -3.0)
    for _ in range(STEPS):
        penalties, loss, weights, shares = step(penalties)
        yield loss + shares[0]
    predicted = logits_of(weights, features[held]).argmax(1)
    accuracy = (predicted == labels[held]).mean()
    return {"accuracy": accuracy, "mixture_sums_to_one": shares.sum()}
