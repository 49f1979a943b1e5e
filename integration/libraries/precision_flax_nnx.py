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


class Attention(nnx.Module):
    """An attention whose scores are stored in bfloat16."""

    def __init__(self) -> None:
        self.query, self.key = (nnx.Linear(8, 32, rngs=nnx.Rngs(i)) for i in range(2))

    def __call__(self, x: Any) -> Any:
        x = x.astype(jnp.float32)
        scores = (self.query(x) @ self.key(x).T).astype(jnp.bfloat16)  # cause
        weights = nnx.softmax(scores.astype(jnp.float32) / 2)
        return weights @ x


class RootMeanSquare(nnx.Module):
    """A norm by hand in float16, whose squares are too small for it."""

    def __init__(self) -> None:
        self.scale = nnx.Param(jnp.linspace(0.5, 1.5, 8))

    def __call__(self, x: Any) -> Any:
        x = (x.astype(jnp.float32) * 2e-4).astype(jnp.float16)
        square = (x * x).astype(jnp.float32).mean(-1, keepdims=True)  # cause
        return x.astype(jnp.float32) * jax.lax.rsqrt(square + 1e-10) * self.scale


class Averages(nnx.Module):
    """A layer with the moving average of its results, which is stored in bfloat16."""

    def __init__(self) -> None:
        self.layer = nnx.Linear(8, 8, rngs=nnx.Rngs(0))
        self.average = nnx.BatchStat(jnp.ones(8, jnp.bfloat16))

    def __call__(self, x: Any) -> Any:
        y = self.layer(x.astype(jnp.float32))
        for i in range(40):
            old = self.average[...].astype(jnp.float32)
            new = 0.997 * old + 0.003 * (y.mean(0) + 0.01 * i)
            self.average[...] = new.astype(jnp.bfloat16)  # cause
        return y - self.average[...]


class Evidence(nnx.Module):
    """A loss by the logarithm of a sum of exponentials without a shift, in float16."""

    def __init__(self) -> None:
        self.layer = nnx.Linear(8, 16, rngs=nnx.Rngs(3))

    def __call__(self, x: Any) -> Any:
        logits = self.layer(x.astype(jnp.float32)) * 3 - 14
        e = jnp.exp(logits.astype(jnp.float16)).astype(jnp.float32)  # cause
        return jnp.log(e.sum(-1) + 1e-30) - logits[:, 0]


def on_model(make: type[Any]) -> Callable[[], Any]:
    """Return a program that runs the tool on a jitted model."""
    return lambda: (precision(nnx.jit(lambda model, x: model(x)))(make(), X), make.__call__)


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
    "attention": on_model(Attention),
    "root mean square": on_model(RootMeanSquare),
    "averages": on_model(Averages),
    "evidence": on_model(Evidence),
}
