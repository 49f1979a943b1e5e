"""Models of equinox with a planted line that loses accuracy."""

from typing import Any

import equinox as eqx
import numpy as np

import jax
import jax.numpy as jnp
from ricci import precision

X = np.random.RandomState(0).normal(size=(4, 8), scale=300).astype(np.float16)
KEY = jax.random.key(0)


class Network(eqx.Module):
    """Two layers in float16 with a norm by hand before them."""

    first: eqx.nn.Linear
    last: eqx.nn.Linear

    def __init__(self) -> None:
        self.first = eqx.nn.Linear(8, 16, key=KEY, dtype=jnp.float16)
        self.last = eqx.nn.Linear(16, 2, key=KEY, dtype=jnp.float16)

    def __call__(self, x: Any) -> Any:
        square = jnp.mean(x * x)  # cause
        x = x * jax.lax.rsqrt(square + 1e-3)
        return self.last(jnp.tanh(self.first(x)))


def loss(model: Network, x: Any) -> Any:
    """Return the mean square of the model's results."""
    return jnp.mean(jax.vmap(model)(x).astype(jnp.float32) ** 2)


def on(run: Any) -> Any:
    """Return a program that runs the tool."""
    return lambda: (precision(run)(Network(), X), Network.__call__)


class Flow(eqx.Module):
    """Affine layers whose log determinants are added up in bfloat16."""

    layers: list[eqx.nn.Linear]

    def __init__(self) -> None:
        self.layers = [eqx.nn.Linear(4, 8, key=key) for key in jax.random.split(KEY, 24)]

    def __call__(self, x: Any) -> Any:
        log_det = jnp.zeros((), jnp.bfloat16)
        for layer in self.layers:
            shift, scale = jnp.split(jnp.tanh(layer(x[:4])), 2)
            x = jnp.concatenate([x[4:] * jnp.exp(0.125 * scale + 0.25) + shift, x[:4]])
            log_det = (log_det + (0.125 * scale + 0.25).sum()).astype(jnp.bfloat16)  # cause
        return log_det.astype(jnp.float32) - 0.005 * (x * x).sum()


class Dynamics(eqx.Module):
    """An ordinary differential equation, whose state is stored in bfloat16."""

    field: eqx.nn.MLP

    def __init__(self) -> None:
        self.field = eqx.nn.MLP(8, 8, 16, 1, activation=jnp.tanh, key=KEY)

    def __call__(self, y: Any) -> Any:
        def step(y: Any, _: Any) -> Any:
            slope = self.field(y.astype(jnp.float32))
            y = (y + slope / 128).astype(jnp.bfloat16)  # cause
            return y, None

        y, _ = jax.lax.scan(step, y.astype(jnp.bfloat16), length=64)
        return y.astype(jnp.float32)


class Embedding(eqx.Module):
    """The distance of close embeddings, whose unit vectors are stored in float16."""

    table: eqx.nn.Embedding

    def __init__(self) -> None:
        self.table = eqx.nn.Embedding(8, 32, key=KEY)

    def __call__(self, x: Any) -> Any:
        e = self.table.weight @ jnp.ones((32, 32)) + self.table.weight * 0.02
        unit = (e / jnp.linalg.norm(e, axis=1, keepdims=True)).astype(jnp.float16)  # cause
        unit = unit.astype(jnp.float32)
        apart = ((unit[:, None] - unit[None]) ** 2).sum(-1)
        return jnp.log(apart + 1e-6).mean() + x.mean() * 1e-3


def small(model: Any, x: Any) -> Any:
    """Return the model's results for small numbers."""
    return jax.vmap(model)(x.astype(jnp.float32) / 300)


def on_small(model: Any) -> Any:
    """Return a program that runs the tool on a jitted model."""
    return lambda: (precision(eqx.filter_jit(small))(model, X), type(model).__call__)


gradient = eqx.filter_value_and_grad(loss)

PROGRAMS = {
    "plain": on(loss),
    "jit": on(eqx.filter_jit(loss)),
    "gradient": on(gradient),
    "jitted gradient": on(eqx.filter_jit(gradient)),
    "checkpoint": on(eqx.filter_jit(eqx.filter_value_and_grad(eqx.filter_checkpoint(loss)))),
    "flow": on_small(Flow()),
    "dynamics": on_small(Dynamics()),
    "embedding": on_small(Embedding()),
}
