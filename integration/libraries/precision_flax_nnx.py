"""Models of flax nnx with a planted line that loses accuracy; they must be as before afterwards."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import optax
from flax import nnx

import jax
import jax.numpy as jnp
from ricci import precision

X = np.random.RandomState(0).normal(size=(4, 8)).astype(ml_dtypes.bfloat16)


class Network(nnx.Module):
    """Two layers in bfloat16 with a norm by hand between them, and a count of the calls."""

    def __init__(self) -> None:
        rngs = nnx.Rngs(0)
        types = {"dtype": jnp.bfloat16, "rngs": rngs}
        self.first = nnx.Linear(8, 32, **types)
        self.last = nnx.Linear(32, 2, **types)
        self.calls = nnx.Variable(jnp.zeros(()))

    def __call__(self, x: Any) -> Any:
        self.calls[...] += 1
        x = jnp.tanh(self.first(x)) + 8
        variance = (x * x).mean(1, keepdims=True) - x.mean(1, keepdims=True) ** 2  # cause
        x = (x - x.mean(1, keepdims=True)) * jax.lax.rsqrt(jnp.abs(variance) + 0.01)
        return self.last(x)


def loss(model: Network, x: Any) -> Any:
    """Return the mean square of the model's results."""
    return jnp.mean(model(x).astype(jnp.float32) ** 2)


def step(model: Network, optimizer: Any, x: Any) -> Any:
    """Train the model, and return the loss."""
    value, grads = nnx.value_and_grad(loss)(model, x)
    optimizer.update(model, grads)
    return value


def unchanged(run: Callable[[Network, Any], Any]) -> Callable[[], Any]:
    """Return a program that runs the tool on a model, and checks that the model is as before."""

    def program() -> Any:
        model = Network()
        optimizer = nnx.Optimizer(model, optax.sgd(1e-3), wrt=nnx.Param)
        before = [np.asarray(x) for x in jax.tree.leaves(nnx.state(model))]
        report = run(model, optimizer)
        after = [np.asarray(x) for x in jax.tree.leaves(nnx.state(model))]
        for old, new in zip(before, after, strict=True):
            np.testing.assert_array_equal(old, new)
        model(X)  # it works as before
        return report, Network.__call__

    return program


PROGRAMS = {
    "plain": unchanged(lambda model, _: precision(loss, model, X)),
    "jit": unchanged(lambda model, _: precision(nnx.jit(loss))(model, X)),
    "gradient": unchanged(lambda model, _: precision(nnx.value_and_grad(loss), model, X)),
    "jitted gradient": unchanged(
        lambda model, _: precision(nnx.jit(nnx.value_and_grad(loss)), model, X)
    ),
    "step": unchanged(lambda *parts: precision(step, *parts, X)),
    "jitted step": unchanged(lambda *parts: precision(nnx.jit(step), *parts, X)),
}
