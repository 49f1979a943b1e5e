"""Dynamax: hidden Markov models and linear Gaussian state spaces: filtered, smoothed, fitted."""

from dynamax.hidden_markov_model import (
    CategoricalHMM,
    GaussianHMM,
    PoissonHMM,
    hmm_filter,
    hmm_posterior_mode,
    hmm_smoother,
    parallel_hmm_smoother,
)
from dynamax.linear_gaussian_ssm import LinearGaussianConjugateSSM, LinearGaussianSSM
from dynamax.nonlinear_gaussian_ssm import (
    ParamsNLGSSM,
    extended_kalman_filter,
    unscented_kalman_smoother,
)
from dynamax.nonlinear_gaussian_ssm.inference_ukf import UKFHyperParams

import jax
import jax.numpy as jnp

INITIAL = jnp.array([0.6, 0.4])
TRANSITION = jnp.array([[0.9, 0.1], [0.2, 0.8]])
LIKELIHOODS = jnp.sin(jnp.arange(20.0)).reshape(10, 2)
SERIES = jnp.cumsum(jnp.sin(jnp.arange(40.0)).reshape(20, 2), axis=0)


def sampled(model, steps=15):
    params, _ = model.initialize(jax.random.PRNGKey(0))
    return params, *model.sample(params, jax.random.PRNGKey(1), steps)


def fitted_by_em():
    model = GaussianHMM(2, 2)
    params, properties = model.initialize(jax.random.PRNGKey(0))
    params, lps = model.fit_em(params, properties, SERIES, num_iters=4, verbose=False)
    return jax.tree.leaves(params), lps


def fitted_by_gradient():
    model = GaussianHMM(2, 2)
    params, properties = model.initialize(jax.random.PRNGKey(0))
    params, losses = model.fit_sgd(params, properties, SERIES[None], num_epochs=5)
    return jax.tree.leaves(params), losses


def linear():
    model = LinearGaussianSSM(3, 2)
    params, _ = model.initialize(jax.random.PRNGKey(0))
    smoothed = model.smoother(params, SERIES)
    return smoothed.marginal_loglik, smoothed.smoothed_means, smoothed.smoothed_covariances


def linear_fitted():
    model = LinearGaussianSSM(2, 2)
    params, properties = model.initialize(jax.random.PRNGKey(0))
    params, lps = model.fit_em(params, properties, SERIES[None], num_iters=3, verbose=False)
    return jax.tree.leaves(params), lps


def nonlinear():
    return ParamsNLGSSM(
        initial_mean=jnp.zeros(2),
        initial_covariance=jnp.eye(2),
        dynamics_function=lambda z: jnp.sin(z) + 0.1 * z[::-1],
        dynamics_covariance=0.1 * jnp.eye(2),
        emission_function=lambda z: z**2 + z,
        emission_covariance=0.2 * jnp.eye(2),
    )


def mode():
    return hmm_posterior_mode(INITIAL, TRANSITION, LIKELIHOODS)


def loss(logits):
    return hmm_filter(INITIAL, jax.nn.softmax(logits), LIKELIHOODS).marginal_loglik


CASES = {
    "filter": lambda: jax.tree.leaves(hmm_filter(INITIAL, TRANSITION, LIKELIHOODS)),
    "filter's gradient": lambda: jax.jit(jax.grad(loss))(jnp.log(TRANSITION)),
    "smoother": lambda: jax.tree.leaves(hmm_smoother(INITIAL, TRANSITION, LIKELIHOODS)),
    "parallel smoother": lambda: jax.tree.leaves(
        parallel_hmm_smoother(INITIAL, TRANSITION, LIKELIHOODS)
    ),
    "posterior mode": mode,
    "categorical, sampled": lambda: jax.tree.leaves(sampled(CategoricalHMM(3, 1, 4))),
    "Poisson, sampled": lambda: jax.tree.leaves(sampled(PoissonHMM(2, 2))),
    "Gaussian, by expectation and maximization": fitted_by_em,
    "Gaussian, by gradient": fitted_by_gradient,
    "linear Gaussian": linear,
    "linear Gaussian, fitted": linear_fitted,
    "linear Gaussian, sampled": lambda: jax.tree.leaves(
        sampled(LinearGaussianConjugateSSM(2, 2))[1:]
    ),
    "extended Kalman filter": lambda: jax.tree.leaves(extended_kalman_filter(nonlinear(), SERIES)),
    "unscented smoother": lambda: jax.tree.leaves(
        unscented_kalman_smoother(nonlinear(), SERIES, UKFHyperParams())
    ),
}
