"""Models of flax nnx with a planted cause of a NaN; they must be as before afterwards."""

from collections.abc import Callable
from typing import Any

import numpy as np
import optax
from flax import nnx

import jax
import jax.numpy as jnp
from ricci import check, memory_plan
from ricci.debug import find_nan
from ricci.parallel import communication, plan

X = np.ones((2, 3), np.float32)


class Network(nnx.Module):
    """Two layers whose result is below 0, and a count of the calls."""

    def __init__(self) -> None:
        rngs = nnx.Rngs(0)
        self.first = nnx.Linear(3, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.last = nnx.Linear(4, 2, rngs=rngs)
        self.calls = nnx.Variable(jnp.zeros(()))

    def __call__(self, x: Any) -> Any:
        self.calls[...] += 1
        x = self.drop(self.norm(jnp.tanh(self.first(x))))
        y = self.last(x) - 100.0
        return jnp.log(y)  # cause


def loss(model: Network, x: Any) -> Any:
    """Return the sum of the model's results."""
    return jnp.sum(model(x))


def step(model: Network, optimizer: Any, x: Any) -> Any:
    """Train the model, and return the loss."""
    value, grads = nnx.value_and_grad(loss)(model, x)
    optimizer.update(model, grads)
    return value


def fail(model: Network, x: Any) -> Any:
    """Raise an error after the model was called."""
    raise ArithmeticError(loss(model, x))


def leaves(*parts: Any) -> list[np.ndarray]:
    """Return the numbers that models and optimizers hold."""
    arrays = jax.tree.leaves([nnx.state(part) for part in parts])
    keys = [jnp.issubdtype(x.dtype, jax.dtypes.prng_key) for x in arrays]
    return [np.asarray(x) for x, key in zip(arrays, keys, strict=True) if not key]


def unchanged(run: Callable[[Network, Any], Any]) -> Callable[[], Any]:
    """Return a program that runs a tool on a model, and checks that the model is as before."""

    def program() -> Any:
        model = Network()
        optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
        before = leaves(model, optimizer)
        found = run(model, optimizer)
        for old, new in zip(before, leaves(model, optimizer), strict=True):
            np.testing.assert_array_equal(old, new)
        model(X)  # it works as before
        return found, "log", Network.__call__

    return program


def after_tools(model: Network, optimizer: Any) -> Any:
    """Run the other tools on a step before `find_nan`."""
    for fun in (step, nnx.jit(step)):
        assert not check(fun)(model, optimizer, X)
        assert memory_plan(fun, model, optimizer, X).peak_bytes > 0
        assert plan(fun, model, optimizer, X).devices == 1
        assert len(communication(fun)(model, optimizer, X)) == 0
    return find_nan(loss, model, X)


def after_failure(model: Network, optimizer: Any) -> Any:
    """Run tools on functions that fail half-way."""
    for fun in (fail, nnx.jit(fail), lambda m, x: fail(model, x)):
        assert check(fun)(model, X)[0].code == "RC001"
        for tool in (find_nan, memory_plan):
            try:
                tool(fun, model, X)
            except Exception:  # noqa: BLE001 (which error it is does not matter)
                continue
            raise AssertionError("an error is expected")
    return find_nan(loss, model, X)


PROGRAMS = {
    "plain": unchanged(lambda model, _: find_nan(loss, model, X)),
    "jit": unchanged(lambda model, _: find_nan(nnx.jit(loss), model, X)),
    "gradient": unchanged(lambda model, _: find_nan(nnx.value_and_grad(loss), model, X)),
    "jitted gradient": unchanged(
        lambda model, _: find_nan(nnx.jit(nnx.value_and_grad(loss)), model, X)
    ),
    "remat": unchanged(
        lambda model, _: find_nan(nnx.jit(nnx.value_and_grad(nnx.remat(loss))), model, X)
    ),
    "step": unchanged(lambda *parts: find_nan(step, *parts, X)),
    "jitted step": unchanged(lambda *parts: find_nan(nnx.jit(step), *parts, X)),
    "closed over": unchanged(lambda model, _: find_nan(model, X)),
    "split": unchanged(
        lambda model, _: find_nan(
            jax.jit(lambda state, x: nnx.merge(nnx.graphdef(model), state)(x)), nnx.state(model), X
        )
    ),
    "after other tools": unchanged(after_tools),
    "after failures": unchanged(after_failure),
}
