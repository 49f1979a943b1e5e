"""Models of flax linen with a planted cause of a NaN."""

from collections.abc import Callable
from typing import Any

import flax.linen as nn
import numpy as np

import jax
import jax.numpy as jnp
from ricci.debug import find_nan

X = np.ones((2, 3), np.float32)


class Dense(nn.Module):
    """Two layers with a norm between them, and a root of negative numbers."""

    @nn.compact
    def __call__(self, x: Any) -> Any:
        x = nn.LayerNorm()(nn.gelu(nn.Dense(4)(x)))
        y = nn.Dense(2)(x) - 50.0
        return jnp.sqrt(y)  # cause


class Rematted(nn.Module):
    """The same, computed again in the backward pass."""

    @nn.compact
    def __call__(self, x: Any) -> Any:
        return nn.remat(Dense)()(x).sum()


class Scanned(nn.Module):
    """A layer that is applied three times."""

    @nn.compact
    def __call__(self, x: Any) -> Any:
        def body(_: Any, carry: Any, __: Any) -> Any:
            y = nn.Dense(3)(carry) - 50.0
            return jnp.sqrt(y), None  # cause

        options: dict[str, Any] = {"variable_broadcast": "params", "split_rngs": {"params": False}}
        return nn.scan(body, length=3, **options)(self, x, None)[0]


def on(module: nn.Module, holder: type, transform: Callable[..., Any]) -> Callable[[], Any]:
    """Return a program that finds the NaN of a module."""

    def program() -> Any:
        params = module.init(jax.random.key(0), X)
        return find_nan(transform(module.apply), params, X), "sqrt", holder.__call__

    return program


def gradient(apply: Callable[..., Any]) -> Callable[..., Any]:
    """Return the value and gradient of a model's sum."""
    return jax.value_and_grad(lambda *args: apply(*args).sum())


PROGRAMS = {
    "plain": on(Dense(), Dense, lambda f: f),
    "jit": on(Dense(), Dense, jax.jit),
    "gradient": on(Dense(), Dense, lambda f: jax.jit(gradient(f))),
    "remat": on(Rematted(), Dense, lambda f: jax.jit(gradient(f))),
    "scan": on(Scanned(), Scanned, jax.jit),
    "gradient of scan": on(Scanned(), Scanned, gradient),
}
