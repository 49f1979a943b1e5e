"""A program written for JAX, on the drop-in."""

from functools import partial
from typing import assert_type

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import expit
from jax.tree_util import tree_map
from jax.typing import ArrayLike


@partial(jax.jit, static_argnames=["units"])
def predict(params: dict[str, jax.Array], x: jax.Array, units: int = 1) -> jax.Array:
    return expit(x @ params["w"] + params["b"]).reshape(-1, units)


def loss(params: dict[str, jax.Array], x: jax.Array, y: jax.Array) -> jax.Array:
    p = predict(params, x)[:, 0]
    return -jnp.mean(y * jnp.log(p) + (1 - y) * jnp.log1p(-p))


def double(x: ArrayLike) -> jax.Array:
    return jnp.multiply(x, 2)


def main() -> None:
    params = {"w": jnp.zeros(2), "b": jnp.zeros(())}
    x = jax.random.normal(jax.random.PRNGKey(0), (16, 2))
    y = (x[:, 0] > 0).astype(jnp.float32)
    value, grads = jax.value_and_grad(loss)(params, x, y)
    assert_type(value, jax.Array)
    params = tree_map(lambda p, g: p - 0.1 * g, params, grads)
    assert float(loss(params, x, y)) < float(value)
    total, _ = lax.scan(lambda c, r: (c + r.sum(), None), jnp.zeros(()), x)
    assert total.shape == ()
    assert_type(jax.vmap(jax.jit(double))(x), jax.Array)
    assert jnp.linalg.norm(x).shape == jax.nn.relu(jnp.zeros(())).shape
