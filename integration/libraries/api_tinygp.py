"""tinygp: every kernel, its algebra, transforms, means, noise, solvers, and their derivatives."""

import tinygp
from tinygp import GaussianProcess, kernels, means, noise, transforms
from tinygp.kernels import quasisep

import jax
import jax.numpy as jnp

X = jnp.array([[0.0, 0.5], [1.0, -0.3], [2.0, 0.9], [-1.5, 0.2]])
Y = jnp.array([0.3, -0.5, 1.2, 0.1])
T = jnp.linspace(0.0, 3.0, 7)
S = jnp.sin(2 * T)

KERNELS = {
    "Constant": kernels.Constant(0.7),
    "DotProduct": kernels.DotProduct(),
    "Polynomial": kernels.Polynomial(order=2.0, scale=1.5, sigma=0.3),
    "Exp": kernels.Exp(scale=1.2),
    "ExpSquared": kernels.ExpSquared(scale=1.2),
    "Matern32": kernels.Matern32(scale=0.8),
    "Matern52": kernels.Matern52(scale=0.8),
    "Cosine": kernels.Cosine(scale=2.0),
    "ExpSineSquared": kernels.ExpSineSquared(scale=2.0, gamma=0.4),
    "RationalQuadratic": kernels.RationalQuadratic(alpha=1.5),
    "L2": kernels.ExpSquared(scale=1.2, distance=kernels.L2Distance()),
    "sum": kernels.ExpSquared() + 0.5,
    "product": 2.0 * kernels.Matern32() * kernels.Cosine(scale=3.0),
    "Linear": transforms.Linear(jnp.array([0.5, 2.0]), kernels.ExpSquared()),
    "Cholesky": transforms.Cholesky(jnp.array([[1.0, 0.0], [0.3, 0.8]]), kernels.Exp()),
    "Subspace": transforms.Subspace(1, kernels.Matern52()),
    "Transform": transforms.Transform(jnp.tanh, kernels.Matern32()),
    "Custom": kernels.Custom(lambda x, y: jnp.exp(-jnp.sum(jnp.abs(x - y)))),
}
SERIES = {
    "Celerite": quasisep.Celerite(1.0, 0.3, 0.5, 1.5),
    "SHO": quasisep.SHO(omega=1.5, quality=2.0, sigma=1.1),
    "overdamped SHO": quasisep.SHO(omega=1.5, quality=0.3),
    "Exp": quasisep.Exp(scale=1.2, sigma=0.8),
    "Matern32": quasisep.Matern32(scale=1.2),
    "Matern52": quasisep.Matern52(scale=1.2),
    "Cosine": quasisep.Cosine(scale=2.0),
    "CARMA": quasisep.CARMA(alpha=jnp.array([1.2, 0.7]), beta=jnp.array([0.9, 0.3])),
    "sum": quasisep.Matern32(scale=1.2) + quasisep.Exp(scale=0.5),
    "product": quasisep.Matern32(scale=1.2) * quasisep.Cosine(scale=2.0),
    "scaled": 0.3 * quasisep.Matern52(scale=0.7),
}


def fitted(kernel, x, y):
    return GaussianProcess(kernel, x, diag=0.1)


def slope(kernel, x, y):
    leaves, tree = jax.tree.flatten(kernel)
    value = lambda leaves: fitted(jax.tree.unflatten(tree, leaves), x, y).log_probability(y)
    if any(callable(leaf) for leaf in leaves):
        return value(leaves)
    return jax.jit(jax.value_and_grad(value))([jnp.asarray(leaf, float) for leaf in leaves])


@jax.jit
def moments(x, y, at, kernel):
    found = fitted(kernel, x, y).condition(y, at)
    return found.log_probability, found.gp.loc, found.gp.variance


def conditioned(kernel, x, y):
    if any(callable(leaf) for leaf in jax.tree.leaves(kernel)):
        return fitted(kernel, x, y).condition(y, x[1:] + 0.05).gp.loc
    return moments(x, y, x[1:] + 0.05, kernel)


WAYS = {"matrix": lambda kernel, x, y: kernel(x, x), "gradient": slope, "condition": conditioned}


def gp(**options):
    return GaussianProcess(kernels.Matern32(scale=0.8), X, **options)


def sampled(**options):
    return gp(**options).sample(jax.random.key(0), (3,))


def conditioned_mean():
    found = gp(diag=0.1, mean=means.Mean(lambda x: x[0])).condition(Y)
    return found.gp.loc, gp(diag=0.1).predict(Y, X + 0.1, return_var=True)


CASES = {
    **{
        f"{name}, {way}": (lambda k=k, f=f: f(k, X, Y))
        for name, k in KERNELS.items()
        for way, f in WAYS.items()
    },
    **{
        f"series {name}, {way}": (lambda k=k, f=f: f(k, T, S))
        for name, k in SERIES.items()
        for way, f in WAYS.items()
    },
    "mean": lambda: gp(diag=0.1, mean=2.0).log_probability(Y),
    "mean function": lambda: gp(diag=0.1, mean=lambda x: x[0]).log_probability(Y),
    "condition on a mean": conditioned_mean,
    "diagonal noise": lambda: gp(noise=noise.Diagonal(jnp.full(4, 0.2))).log_probability(Y),
    "dense noise": lambda: gp(noise=noise.Dense(0.2 * jnp.eye(4))).log_probability(Y),
    "sample": lambda: sampled(diag=0.1),
    "covariance": lambda: (gp(diag=0.1).covariance, gp(diag=0.1).variance),
    "direct solver": lambda: gp(diag=0.1, solver=tinygp.solvers.DirectSolver).log_probability(Y),
}
