"""Distrax: distributions' samples, densities and moments, bijectors, mixtures, divergences."""

from functools import partial

import distrax

import jax
import jax.numpy as jnp

KEY = jax.random.PRNGKey(0)
X = jnp.array([0.1, 0.4, 0.7])
LOGITS = jnp.linspace(-1.0, 1.0, 6).reshape(2, 3)
COUNTS = jnp.array([0, 2, 1])

CONTINUOUS = {
    "Normal": (lambda p: distrax.Normal(p, 1.5), X),
    "LogStddevNormal": (lambda p: distrax.LogStddevNormal(p, 0.2), X),
    "Uniform": (lambda p: distrax.Uniform(0.0, 1.0 + p), X),
    "Laplace": (lambda p: distrax.Laplace(p, 1.5), X),
    "Logistic": (lambda p: distrax.Logistic(p, 1.5), X),
    "Gumbel": (lambda p: distrax.Gumbel(p, 1.5), X),
    "Beta": (lambda p: distrax.Beta(1.0 + p, 2.0), X),
    "Gamma": (lambda p: distrax.Gamma(1.0 + p, 2.0), X),
    "VonMises": (lambda p: distrax.VonMises(p, 2.0), X),
    "LogNormal": (
        lambda p: distrax.Transformed(distrax.Normal(p, 0.3), distrax.Lambda(jnp.exp)),
        X,
    ),
    "Independent": (
        lambda p: distrax.Independent(distrax.Normal(p, 1.0), reinterpreted_batch_ndims=1),
        X,
    ),
    "Dirichlet": (lambda p: distrax.Dirichlet(1.0 + p), jnp.array([0.2, 0.3, 0.5])),
    "MultivariateNormalDiag": (lambda p: distrax.MultivariateNormalDiag(p, 1 + X), X),
    "MultivariateNormalTri": (
        lambda p: distrax.MultivariateNormalTri(p, jnp.tril(jnp.ones((3, 3)))),
        X,
    ),
    "MultivariateNormalFullCovariance": (
        lambda p: distrax.MultivariateNormalFullCovariance(p, jnp.eye(3) * 2 + 0.5),
        X,
    ),
    "MultivariateNormalDiagPlusLowRank": (
        lambda p: distrax.MultivariateNormalDiagPlusLowRank(p, jnp.ones(3), X[:, None]),
        X,
    ),
    "MixtureSameFamily": (
        lambda p: distrax.MixtureSameFamily(
            distrax.Categorical(jnp.zeros(3)), distrax.Normal(p, jnp.ones(3))
        ),
        jnp.float32(0.3),
    ),
    "MixtureOfTwo": (
        lambda p: distrax.MixtureOfTwo(0.3, distrax.Normal(p, 1.0), distrax.Normal(p + 1, 2.0)),
        X,
    ),
}
DISCRETE = {
    "Bernoulli": (lambda p: distrax.Bernoulli(logits=p), jnp.array([0, 1, 1])),
    "Categorical": (lambda p: distrax.Categorical(logits=p), jnp.int32(2)),
    "OneHotCategorical": (lambda p: distrax.OneHotCategorical(logits=p), jnp.eye(3)[1]),
    "Multinomial": (lambda p: distrax.Multinomial(3, logits=p), jnp.array([1.0, 2.0, 0.0])),
    "Softmax": (lambda p: distrax.Softmax(p, 0.7), jnp.int32(1)),
    "Greedy": (lambda p: distrax.Greedy(p), jnp.int32(1)),
    "EpsilonGreedy": (lambda p: distrax.EpsilonGreedy(p, 0.1), jnp.int32(1)),
    "Deterministic": (lambda p: distrax.Deterministic(p), X),
}
MOMENTS = ("mean", "variance", "stddev", "mode", "median", "entropy")
BIJECTORS = {
    "ScalarAffine": lambda: distrax.ScalarAffine(1.0, 2.0),
    "Tanh": distrax.Tanh,
    "Sigmoid": distrax.Sigmoid,
    "Gumbel cdf": distrax.GumbelCDF,
    "Lambda": lambda: distrax.Lambda(jnp.sinh),
    "Chain": lambda: distrax.Chain([distrax.Tanh(), distrax.ScalarAffine(0.5, 2.0)]),
    "Block": lambda: distrax.Block(distrax.Tanh(), 1),
    "DiagAffine": lambda: distrax.DiagLinear(1 + X),
    "TriangularLinear": lambda: distrax.TriangularLinear(jnp.tril(jnp.ones((3, 3)))),
    "UnconstrainedAffine": lambda: distrax.UnconstrainedAffine(jnp.eye(3) + 0.1, X),
    "LowerUpperTriangularAffine": lambda: distrax.LowerUpperTriangularAffine(jnp.eye(3) + 0.1, X),
    "MaskedCoupling": lambda: distrax.MaskedCoupling(
        jnp.array([True, False, True]), lambda x: x * 0.5, lambda p: distrax.ScalarAffine(p, 2.0)
    ),
    "SplitCoupling": lambda: distrax.SplitCoupling(
        1, 1, lambda x: jnp.sum(x), lambda p: distrax.Block(distrax.ScalarAffine(p), 1)
    ),
    "RationalQuadraticSpline": lambda: distrax.RationalQuadraticSpline(
        jnp.linspace(-1.0, 1.0, 13), 0.0, 1.0
    ),
}


def distribution(make, value, parameter):
    def density(p):
        return jnp.sum(make(p).log_prob(value))

    made = make(parameter)
    samples, densities = made.sample_and_log_prob(seed=KEY, sample_shape=(3,))
    moments = {}
    for name in MOMENTS:
        try:
            moments[name] = getattr(made, name)()
        except (NotImplementedError, AttributeError):
            moments[name] = "none"
    return samples, densities, jax.jit(jax.value_and_grad(density))(parameter), moments


def bijector(make):
    function = make()
    forward, there = function.forward_and_log_det(X)
    back, again = function.inverse_and_log_det(forward)
    slope = jax.grad(lambda x: jnp.sum(make().forward_and_log_det(x)[1]))(X)
    return forward, there, back, again, slope


def hidden_markov():
    model = distrax.HMM(
        distrax.Categorical(probs=jnp.ones(2) / 2),
        distrax.Categorical(probs=jnp.array([[0.9, 0.1], [0.2, 0.8]])),
        distrax.Normal(jnp.array([0.0, 1.0]), 1.0),
    )
    seen = jnp.sin(jnp.arange(6.0))
    return model.forward(seen), model.forward_backward(seen), model.viterbi(seen)


def through_jit():
    @jax.jit
    def widened(d):
        return distrax.Normal(d.loc, 2 * d.scale)

    wide = widened(distrax.Normal(X, jnp.ones(3)))
    return wide.scale, jax.vmap(lambda d: d.log_prob(0.0))(wide), wide[1:].loc


CASES = (
    {
        f"distribution {name}": partial(distribution, make, value, X)
        for name, (make, value) in (CONTINUOUS | DISCRETE).items()
    }
    | {f"bijector {name}": partial(bijector, make) for name, make in BIJECTORS.items()}
    | {
        "kl normal": lambda: distrax.Normal(X, 1.0).kl_divergence(distrax.Normal(0.0, 2.0)),
        "kl categorical": lambda: jax.grad(
            lambda l: distrax.Categorical(l).kl_divergence(distrax.Categorical(LOGITS[1]))
        )(LOGITS[0]),
        "kl tri": lambda: distrax.MultivariateNormalDiag(X, 1 + X).kl_divergence(
            distrax.MultivariateNormalTri(X, jnp.eye(3))
        ),
        "cross entropy": lambda: distrax.Normal(X, 1.0).cross_entropy(distrax.Normal(0.0, 2.0)),
        "cdf": lambda: (distrax.Normal(X, 1.0).cdf(0.5), distrax.Normal(X, 1.0).log_cdf(0.5)),
        "joint": lambda: distrax.Joint(
            {"a": distrax.Normal(0.0, 1.0), "b": distrax.Bernoulli(0.5)}
        ).sample_and_log_prob(seed=KEY),
        "quantized": lambda: distrax.Quantized(distrax.Normal(X, 2.0), low=-3, high=3).log_prob(
            COUNTS
        ),
        "clipped": lambda: distrax.ClippedNormal(X, 1.0, -1.0, 1.0).log_prob(
            jnp.array([-1, 0, 1.0])
        ),
        "straight through": lambda: jax.grad(
            lambda l: (
                distrax.straight_through_wrapper(distrax.OneHotCategorical)(l)
                .sample(seed=KEY)
                .dot(X)
            )
        )(LOGITS[0]),
        "hmm": hidden_markov,
        "jit": through_jit,
        "importance": lambda: distrax.importance_sampling_ratios(
            distrax.Categorical(LOGITS), distrax.Categorical(LOGITS * 2), jnp.array([0, 2])
        ),
        "shapes": lambda: (
            distrax.Categorical(LOGITS).batch_shape,
            distrax.MultivariateNormalDiag(X).event_shape,
            str(distrax.Normal(X, 1.0).dtype),
        ),
        "wrong shapes": lambda: distrax.Normal(X, jnp.ones(2)).sample(seed=KEY),
    }
)
