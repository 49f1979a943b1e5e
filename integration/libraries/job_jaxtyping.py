"""A Gaussian process on the diabetes data, its shapes checked by jaxtyping as it is traced."""

from beartype import beartype
from jaxtyping import Array, Float, PyTree, Scalar, jaxtyped

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl

STEPS = 60
QUALITY = {"explained_variance": 0.4}

Rows = Float[Array, "rows features"]
Parameters = PyTree[Float[Array, "..."], "P"]


@jaxtyped(typechecker=beartype)
def kernel(
    p: Parameters, one: Float[Array, "m features"], two: Float[Array, "n features"]
) -> Float[Array, "m n"]:
    scaled_one, scaled_two = one * jnp.exp(p["inverse"]), two * jnp.exp(p["inverse"])
    squares = jnp.sum(scaled_one**2, 1)[:, None] + jnp.sum(scaled_two**2, 1)
    distances = squares - 2 * scaled_one @ scaled_two.T
    return jnp.exp(p["scale"] - jnp.maximum(distances, 0) / 2)


@jaxtyped(typechecker=beartype)
def factor(p: Parameters, x: Rows) -> Float[Array, "rows rows"]:
    noise = jnp.exp(p["noise"]) + 1e-4
    return jsl.cholesky(kernel(p, x, x) + noise * jnp.eye(len(x)), lower=True)


@jaxtyped(typechecker=beartype)
def loss_of(p: Parameters, x: Rows, y: Float[Array, " rows"]) -> Scalar:
    root = factor(p, x)
    half = jsl.solve_triangular(root, y, lower=True)
    return (half @ half / 2 + jnp.sum(jnp.log(jnp.diag(root)))) / len(x)


@jax.jit
@jaxtyped(typechecker=beartype)
def step(p: Parameters, x: Rows, y: Float[Array, " rows"]) -> tuple[Parameters, Scalar]:
    loss, gradient = jax.value_and_grad(loss_of)(p, x, y)
    return jax.tree.map(lambda w, g: w - 0.5 * g, p, gradient), loss


def train(data):
    x, y = jnp.asarray(data["patients"]), jnp.asarray(data["progression"])
    x, y, unseen, truth = x[:300], y[:300], x[300:], y[300:]
    p = {"inverse": jnp.full(10, -1.5), "scale": jnp.array(0.0), "noise": jnp.array(-1.0)}
    for _ in range(STEPS):
        p, loss = step(p, x, y)
        yield loss
    weights = jsl.cho_solve((factor(p, x), True), y)
    error = jnp.mean((kernel(p, unseen, x) @ weights - truth) ** 2)
    return {"explained_variance": 1 - error / jnp.var(truth)}
