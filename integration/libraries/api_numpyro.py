"""NumPyro: distributions, effect handlers, predictions, variational inference, NUTS."""

import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro import handlers
from numpyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO, log_likelihood
from numpyro.infer.autoguide import AutoMultivariateNormal, AutoNormal
from numpyro.infer.util import initialize_model, log_density

import jax
import jax.numpy as jnp

KEY = jax.random.key(11)
X = jnp.linspace(-1.0, 1.0, 12)
Y = 0.5 + 1.5 * X + 0.1 * jnp.sin(9 * X)


def model(x, y=None):
    shift = numpyro.sample("shift", dist.Normal(0.0, 1.0))
    slope = numpyro.sample("slope", dist.Normal(0.0, 1.0))
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))
    with numpyro.plate("rows", x.shape[0]):
        return numpyro.sample("y", dist.Normal(shift + slope * x, noise), obs=y)


def of_distribution(d):
    x = d.sample(KEY, (3,))
    return x, d.log_prob(x), d.mean, d.variance


def traced():
    trace = handlers.trace(handlers.seed(model, KEY)).get_trace(X)
    return {name: site["value"] for name, site in trace.items() if site["type"] == "sample"}


def density():
    params = {"shift": jnp.array(0.2), "slope": jnp.array(1.0), "noise": jnp.array(0.3)}
    value, _ = log_density(model, (X, Y), {}, params)
    return value, jax.grad(lambda p: log_density(model, (X, Y), {}, p)[0])(params)


def varied(guide, steps=5):
    svi = SVI(model, guide(model), numpyro.optim.Adam(0.05), Trace_ELBO(num_particles=2))
    result = svi.run(KEY, steps, X, Y, progress_bar=False)
    return result.losses, result.params


def sampled():
    # Thirty steps make a difference in the last place of float32 one in the third digit, and
    # `linspace` and the derivative of a division differ there. In float64 the chains agree.
    with jax.enable_x64(True):
        x = jnp.linspace(-1.0, 1.0, 12)
        mcmc = MCMC(NUTS(model), num_warmup=20, num_samples=10, progress_bar=False)
        mcmc.run(KEY, x, 0.5 + 1.5 * x + 0.1 * jnp.sin(9 * x))
        return mcmc.get_samples()


def potential(params):
    """The model's potential energy over unconstrained parameters, without a division."""
    x = np.linspace(-1, 1, 12, dtype=np.float32)  # NumPy's points are the same on both sides
    z = (0.5 + 1.5 * x - params["shift"] - params["slope"] * x) * jnp.exp(-params["noise"])
    prior = params["shift"] ** 2 + params["slope"] ** 2 + jnp.exp(2 * params["noise"])
    return (jnp.sum(z**2) + prior) / 2 + 11 * params["noise"]


def sampled_narrow():
    mcmc = MCMC(NUTS(potential_fn=potential), num_warmup=20, num_samples=10, progress_bar=False)
    start = {"shift": jnp.float32(0.4), "slope": jnp.float32(-1.4), "noise": jnp.float32(-1.6)}
    mcmc.run(KEY, init_params=start)
    return mcmc.get_samples()


def predicted():
    draws = {"shift": X[:4], "slope": 2 * X[:4], "noise": jnp.full(4, 0.5)}
    return Predictive(model, draws)(KEY, X), log_likelihood(model, draws, X, Y)


def discrete():
    def mixture(y):
        weights = numpyro.sample("weights", dist.Dirichlet(jnp.ones(2)))
        with numpyro.plate("rows", len(y)):
            parts = dist.Normal(jnp.array([-1.0, 1.0]), 0.5)
            numpyro.sample("y", dist.MixtureSameFamily(dist.Categorical(weights), parts), obs=y)

    return log_density(mixture, (Y,), {}, {"weights": jnp.array([0.3, 0.7])})[0]


def correlated():
    d = dist.LKJCholesky(3, 1.5)
    x = d.sample(KEY, (3,))
    return x, d.log_prob(x)


def initialized():
    info = initialize_model(KEY, model, model_args=(X, Y))
    return info.param_info.z, info.potential_fn(info.param_info.z)


SCALE = jnp.array([[1.0, 0.3], [0.3, 2.0]])
DISTRIBUTIONS = {
    "normal": lambda: dist.Normal(jnp.arange(3.0), 2.0),
    "gamma": lambda: dist.Gamma(jnp.array([0.5, 3.0]), 2.0),
    "beta": lambda: dist.Beta(2.0, jnp.array([0.7, 3.0])),
    "Student's t": lambda: dist.StudentT(5.0, 1.0, 2.0),
    "multivariate normal": lambda: dist.MultivariateNormal(jnp.zeros(2), SCALE),
    "low rank": lambda: dist.LowRankMultivariateNormal(
        jnp.zeros(3), jnp.ones((3, 1)), jnp.arange(1.0, 4.0)
    ),
    "Poisson": lambda: dist.Poisson(jnp.array([0.5, 4.0])),
    "binomial": lambda: dist.Binomial(10, jnp.array([0.2, 0.7])),
    "negative binomial": lambda: dist.NegativeBinomial2(3.0, 2.0),
    "categorical": lambda: dist.CategoricalProbs(jnp.array([0.2, 0.3, 0.5])),
    "truncated normal": lambda: dist.TruncatedNormal(0.5, 1.0, low=0.0, high=2.0),
    "Dirichlet": lambda: dist.Dirichlet(jnp.array([1.0, 2.0, 3.0])),
    "transformed": lambda: dist.LogNormal(0.0, jnp.array([0.5, 1.0])),
}
CASES = {
    **{name: lambda d=d: of_distribution(d()) for name, d in DISTRIBUTIONS.items()},
    "LKJ": correlated,
    "trace": traced,
    "log density": density,
    "log density, jitted": lambda: jax.jit(density)(),
    "mixture": discrete,
    "initialize": initialized,
    "predict": predicted,
    "SVI, mean field": lambda: varied(AutoNormal),
    "SVI, full covariance": lambda: varied(AutoMultivariateNormal),
    "NUTS, float64": sampled,
    "NUTS, a potential without divisions": sampled_narrow,
}
