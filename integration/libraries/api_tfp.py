"""TensorFlow Probability on JAX: distributions, bijectors, chains, optimizers and functions."""

from tensorflow_probability.substrates import jax as tfp

import jax
import jax.numpy as jnp

tfd, tfb, tfm = tfp.distributions, tfp.bijectors, tfp.math

KEY = jax.random.PRNGKey(0)
X = jnp.array([0.1, 0.4, 0.7])
LOWER = jnp.array([[1.0, 0.0, 0.0], [0.3, 0.9, 0.0], [-0.2, 0.1, 1.2]])
SIMPLEX = jnp.array([0.2, 0.3, 0.5])

DISTRIBUTIONS = {
    "Bates": (lambda p: tfd.Bates(3, 0.0, 1.0 + p), X),
    "Beta": (lambda p: tfd.Beta(1.0 + p, 2.0), X),
    "BetaBinomial": (lambda p: tfd.BetaBinomial(4.0, 1.0 + p, 2.0), jnp.array([0.0, 2.0, 4.0])),
    "Bernoulli": (lambda p: tfd.Bernoulli(logits=p), jnp.array([0, 1, 1])),
    "Binomial": (lambda p: tfd.Binomial(5.0, logits=p), jnp.array([0.0, 2.0, 5.0])),
    "Categorical": (lambda p: tfd.Categorical(logits=p), jnp.int32(2)),
    "Cauchy": (lambda p: tfd.Cauchy(p, 1.5), X),
    "Chi2": (lambda p: tfd.Chi2(2.0 + p), X),
    "ContinuousBernoulli": (lambda p: tfd.ContinuousBernoulli(logits=p), X),
    "Dirichlet": (lambda p: tfd.Dirichlet(1.0 + p), SIMPLEX),
    "DirichletMultinomial": (
        lambda p: tfd.DirichletMultinomial(4.0, 1.0 + p),
        jnp.array([1.0, 2.0, 1.0]),
    ),
    "DoublesidedMaxwell": (lambda p: tfd.DoublesidedMaxwell(p, 1.5), X),
    "ExponentiallyModifiedGaussian": (
        lambda p: tfd.ExponentiallyModifiedGaussian(p, 1.0, 0.7),
        X,
    ),
    "Exponential": (lambda p: tfd.Exponential(1.0 + p), X),
    "Gamma": (lambda p: tfd.Gamma(1.0 + p, 2.0), X),
    "GeneralizedNormal": (lambda p: tfd.GeneralizedNormal(p, 1.0, 1.5), X),
    "GeneralizedPareto": (lambda p: tfd.GeneralizedPareto(0.0, 1.0, p), X),
    "Geometric": (lambda p: tfd.Geometric(logits=p), jnp.array([0.0, 1.0, 3.0])),
    "Gumbel": (lambda p: tfd.Gumbel(p, 1.5), X),
    "HalfCauchy": (lambda p: tfd.HalfCauchy(0.0, 1.0 + p), X),
    "HalfNormal": (lambda p: tfd.HalfNormal(1.0 + p), X),
    "HalfStudentT": (lambda p: tfd.HalfStudentT(3.0, 0.0, 1.0 + p), X),
    "InverseGamma": (lambda p: tfd.InverseGamma(2.5 + p, 2.0), X),
    "InverseGaussian": (lambda p: tfd.InverseGaussian(1.0 + p, 2.0), X),
    "JohnsonSU": (lambda p: tfd.JohnsonSU(0.3, 1.1, p, 1.5), X),
    "Kumaraswamy": (lambda p: tfd.Kumaraswamy(1.0 + p, 2.0), X),
    "LKJ": (lambda p: tfd.LKJ(3, 1.0 + p[0]), 0.5 * jnp.eye(3) + 0.5),
    "Laplace": (lambda p: tfd.Laplace(p, 1.5), X),
    "LogLogistic": (lambda p: tfd.LogLogistic(p, 0.5), X),
    "LogNormal": (lambda p: tfd.LogNormal(p, 0.5), X),
    "Logistic": (lambda p: tfd.Logistic(p, 1.5), X),
    "LogitNormal": (lambda p: tfd.LogitNormal(p, 1.5), X),
    "MixtureSameFamily": (
        lambda p: tfd.MixtureSameFamily(tfd.Categorical(logits=p), tfd.Normal(p, 1.0)),
        jnp.float32(0.4),
    ),
    "Moyal": (lambda p: tfd.Moyal(p, 1.5), X),
    "Multinomial": (lambda p: tfd.Multinomial(4.0, logits=p), jnp.array([1.0, 2.0, 1.0])),
    "MultivariateNormalTriL": (lambda p: tfd.MultivariateNormalTriL(p, LOWER), X),
    "MultivariateStudentTLinearOperator": (
        lambda p: tfd.MultivariateStudentTLinearOperator(
            4.0, p, tfp.tf2jax.linalg.LinearOperatorLowerTriangular(LOWER)
        ),
        X,
    ),
    "NegativeBinomial": (lambda p: tfd.NegativeBinomial(3.0, logits=p), jnp.array([0.0, 1.0, 4.0])),
    "Normal": (lambda p: tfd.Normal(p, 1.5), X),
    "NormalInverseGaussian": (lambda p: tfd.NormalInverseGaussian(p, 1.0, 0.3, 1.0), X),
    "OneHotCategorical": (lambda p: tfd.OneHotCategorical(logits=p), jnp.eye(3)[1]),
    "Pareto": (lambda p: tfd.Pareto(2.0 + p, 0.05), X),
    "PlackettLuce": (lambda p: tfd.PlackettLuce(1.0 + p), jnp.array([1, 0, 2])),
    "Poisson": (lambda p: tfd.Poisson(log_rate=p), jnp.array([0.0, 1.0, 4.0])),
    "PowerSpherical": (lambda p: tfd.PowerSpherical(X / jnp.linalg.norm(X), 1.0 + p[0]), X * 1.23),
    "ProbitBernoulli": (lambda p: tfd.ProbitBernoulli(probits=p), jnp.array([0, 1, 1])),
    "RelaxedBernoulli": (lambda p: tfd.RelaxedBernoulli(0.5, logits=p), X),
    "SinhArcsinh": (lambda p: tfd.SinhArcsinh(p, 1.0, 0.2, 1.1), X),
    "SkewedTwoPiece": (lambda p: tfd.TwoPieceNormal(p, 1.0, 1.5), X),
    "StudentT": (lambda p: tfd.StudentT(3.0, p, 1.5), X),
    "Triangular": (lambda p: tfd.Triangular(-1.0, 1.0 + p, 0.2), X),
    "TruncatedCauchy": (lambda p: tfd.TruncatedCauchy(p, 1.0, -1.0, 2.0), X),
    "TruncatedNormal": (lambda p: tfd.TruncatedNormal(p, 1.0, -1.0, 2.0), X),
    "Uniform": (lambda p: tfd.Uniform(0.0, 1.0 + p), X),
    "VonMises": (lambda p: tfd.VonMises(p, 2.0), X),
    "VonMisesFisher": (lambda p: tfd.VonMisesFisher(X / jnp.linalg.norm(X), 1.0 + p[0]), X * 1.23),
    "Weibull": (lambda p: tfd.Weibull(1.0 + p, 1.5), X),
    "WishartTriL": (lambda p: tfd.WishartTriL(4.0 + p[0], LOWER), LOWER @ LOWER.T),
    "Zipf": (lambda p: tfd.Zipf(1.5 + p), jnp.array([1.0, 2.0, 4.0])),
    "HiddenMarkovModel": (
        lambda p: tfd.HiddenMarkovModel(
            tfd.Categorical(logits=p), tfd.Categorical(logits=LOWER), tfd.Normal(X, 0.5), 4
        ),
        jnp.array([0.1, 0.5, 0.7, 0.2]),
    ),
    "GaussianProcess": (
        lambda p: tfd.GaussianProcess(
            tfm.psd_kernels.MaternFiveHalves(1.0 + p[0]), X[:, None], jitter=1e-3
        ),
        X,
    ),
    "LinearGaussianStateSpaceModel": (
        lambda p: tfd.LinearGaussianStateSpaceModel(
            4, 0.9 * jnp.eye(1), tfd.MultivariateNormalDiag(p[:1], jnp.ones(1)), jnp.eye(1),
            tfd.MultivariateNormalDiag(jnp.zeros(1), 0.5 * jnp.ones(1)),
            tfd.MultivariateNormalDiag(jnp.zeros(1), jnp.ones(1)),
        ),
        jnp.array([[0.1], [0.5], [0.7], [0.2]]),
    ),
}  # fmt: skip
MOMENTS = ("mean", "variance", "mode", "entropy", "cdf", "survival_function")
BIJECTORS = {
    "Ascending": tfb.Ascending,
    "CorrelationCholesky": tfb.CorrelationCholesky,
    "Cumsum": tfb.Cumsum,
    "Exp": tfb.Exp,
    "Expm1": tfb.Expm1,
    "FillScaleTriL": tfb.FillScaleTriL,
    "FillTriangular": tfb.FillTriangular,
    "GompertzCDF": lambda: tfb.GompertzCDF(0.5, 1.5),
    "GumbelCDF": tfb.GumbelCDF,
    "IteratedSigmoidCentered": tfb.IteratedSigmoidCentered,
    "KumaraswamyCDF": lambda: tfb.KumaraswamyCDF(1.5, 2.0),
    "MoyalCDF": tfb.MoyalCDF,
    "NormalCDF": tfb.NormalCDF,
    "Permute": lambda: tfb.Permute([2, 0, 1]),
    "Power": lambda: tfb.Power(1.5),
    "RationalQuadraticSpline": lambda: tfb.RationalQuadraticSpline(
        jnp.full((3, 2), 1.0), jnp.full((3, 2), 1.0), jnp.full((3, 1), 0.7), 0.0
    ),
    "Reciprocal": tfb.Reciprocal,
    "ScaleMatvecTriL": lambda: tfb.ScaleMatvecTriL(LOWER),
    "Shift": lambda: tfb.Shift(1.0),
    "Sigmoid": tfb.Sigmoid,
    "Sinh": tfb.Sinh,
    "SinhArcsinh": lambda: tfb.SinhArcsinh(0.2, 1.1),
    "SoftClip": lambda: tfb.SoftClip(-1.0, 1.0),
    "SoftmaxCentered": tfb.SoftmaxCentered,
    "Softplus": tfb.Softplus,
    "Softsign": tfb.Softsign,
    "Split": lambda: tfb.Split(3),
    "Tanh": tfb.Tanh,
    "WeibullCDF": lambda: tfb.WeibullCDF(1.5, 2.0),
    "Chain": lambda: tfb.Chain([tfb.Tanh(), tfb.Scale(0.5), tfb.Shift(X)]),
}
SPECIAL = (
    "bessel_ive bessel_iv_ratio bessel_kve betainc betaincinv lbeta "
    "log_bessel_ive owens_t lambertw erfcinv igammainv igammacinv log_gamma_correction "
    "log_gamma_difference atan_difference dawsn"
).split()


def sampled(make):
    found = make(X).sample(4, seed=KEY)
    return found, jax.jit(lambda key: make(X).sample(2, seed=key))(KEY)


def density(make, at):
    value = lambda p: jnp.sum(make(p).log_prob(at))
    return make(X).log_prob(at), jax.grad(value)(X), jax.jit(jax.vmap(value))(jnp.stack([X, 2 * X]))


def moments(make, at):
    found = make(X)
    values = []
    for name in MOMENTS:
        method = getattr(found, name)
        try:
            values.append(method(at) if name in ("cdf", "survival_function") else method())
        except (NotImplementedError, ValueError) as error:
            values.append(type(error).__name__)
    return values


def mapped(make):
    bijector = make()
    y = bijector.forward(X + 0.1)
    slope = jax.jacobian(lambda x: jax.tree.leaves(bijector.forward(x))[0])(X)
    return y, bijector.inverse(y), bijector.forward_log_det_jacobian(X + 0.1), slope


def special(name):
    function = getattr(tfm, name, None) or getattr(tfm.special, name)
    count = 3 if name.startswith("betainc") else 2
    for arguments in ([X + 0.1], [X + 0.1, X], [X + 0.2, X + 0.3, X]):
        try:
            value = function(*arguments)
        except TypeError:
            continue
        slope = jax.grad(lambda *x: jnp.sum(jax.tree.leaves(function(*x))[0]))(*arguments)
        return value, slope, count
    raise TypeError(name)


def target(x):
    return -0.5 * jnp.sum(x**2) - 0.1 * jnp.sum(x**4)


def chain(kernel):
    return jax.jit(
        lambda key: tfp.mcmc.sample_chain(
            5, X, kernel=kernel, num_burnin_steps=2, seed=key, trace_fn=None
        )
    )(KEY)


KERNELS = {
    "HamiltonianMonteCarlo": lambda: tfp.mcmc.HamiltonianMonteCarlo(target, 0.1, 3),
    "NoUTurnSampler": lambda: tfp.mcmc.NoUTurnSampler(target, 0.2, max_tree_depth=4),
    "RandomWalkMetropolis": lambda: tfp.mcmc.RandomWalkMetropolis(target),
    "MetropolisAdjustedLangevinAlgorithm": lambda: tfp.mcmc.MetropolisAdjustedLangevinAlgorithm(
        target, 0.1
    ),
    "SliceSampler": lambda: tfp.mcmc.SliceSampler(target, 0.5, 5),
    "DualAveraging": lambda: tfp.mcmc.DualAveragingStepSizeAdaptation(
        tfp.mcmc.HamiltonianMonteCarlo(target, 0.1, 3), 4
    ),
    "SimpleStepSizeAdaptation": lambda: tfp.mcmc.SimpleStepSizeAdaptation(
        tfp.mcmc.HamiltonianMonteCarlo(target, 0.1, 3), 4
    ),
}


def rosenbrock(x):
    return (1 - x[0]) ** 2 + 5 * (x[1] - x[0] ** 2) ** 2


def minimized(name):
    start, slope = jnp.array([0.5, -0.5]), jax.value_and_grad(rosenbrock)
    if name == "nelder_mead_minimize":
        found = tfp.optimizer.nelder_mead_minimize(rosenbrock, initial_vertex=start)
    elif name == "differential_evolution_minimize":
        found = tfp.optimizer.differential_evolution_minimize(
            lambda x, y: (1 - x) ** 2 + 5 * (y - x**2) ** 2,
            initial_position=(start[0], start[1]), seed=KEY, max_iterations=20,
        )  # fmt: skip
        return found.num_iterations
    else:
        found = getattr(tfp.optimizer, name)(slope, start, tolerance=1e-4)
    return jnp.round(found.position, 2), found.converged


CASES = {
    **{f"{n}, sample": (lambda m=m: sampled(m)) for n, (m, _) in DISTRIBUTIONS.items()},
    **{f"{n}, density": (lambda m=m, x=x: density(m, x)) for n, (m, x) in DISTRIBUTIONS.items()},
    **{f"{n}, moments": (lambda m=m, x=x: moments(m, x)) for n, (m, x) in DISTRIBUTIONS.items()},
    **{f"{n}, bijector": (lambda m=m: mapped(m)) for n, m in BIJECTORS.items()},
    **{f"special {n}": (lambda n=n: special(n)) for n in SPECIAL},
    **{f"chain {n}": (lambda m=m: chain(m())) for n, m in KERNELS.items()},
    **{
        n: (lambda n=n: minimized(n))
        for n in ("bfgs_minimize", "lbfgs_minimize", "nelder_mead_minimize",
                  "differential_evolution_minimize")
    },
    "divergence": lambda: tfd.kl_divergence(tfd.Normal(X, 1.0), tfd.Normal(0.0, 2.0)),
    "joint": lambda: tfd.JointDistributionSequential(
        [tfd.Normal(0.0, 1.0), lambda x: tfd.Normal(x, 2.0)]
    ).sample(3, seed=KEY),
    "quantiles": lambda: tfp.stats.percentile(X, jnp.array([10.0, 50.0])),
    "correlation": lambda: tfp.stats.auto_correlation(jnp.sin(jnp.arange(9.0))),
    "effective sample size": lambda: tfp.mcmc.effective_sample_size(jnp.sin(jnp.arange(30.0))),
    "interpolation": lambda: tfm.interp_regular_1d_grid(X, 0.0, 1.0, jnp.arange(5.0)),
}  # fmt: skip
