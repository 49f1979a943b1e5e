"""A deep regression of numpyro, whose posterior is fitted by stochastic variational inference."""

from typing import Any

import numpyro
import numpyro.distributions as dist
from numpyro.infer import SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal
from tool_model import LAYERS, WIDTH, Model, data

import jax
import jax.numpy as jnp


def regression(x: Any, y: Any) -> None:
    """Draw the weights of all layers, and observe the targets."""
    x = jnp.log(x)  # cause
    for i in range(LAYERS):
        weights = numpyro.sample(f"w{i}", dist.Normal(0, 0.2).expand([WIDTH, WIDTH]).to_event(2))
        h = (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-3)
        x = x + jnp.tanh(h @ weights)
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))
    numpyro.sample("y", dist.Normal(x, noise).to_event(3), obs=y)


OPTIMIZER = numpyro.optim.Adam(1e-2, eps=1e-2)
INFERENCE = SVI(regression, AutoNormal(regression), OPTIMIZER, Trace_ELBO())


@jax.jit
def step(state: Any, x: Any, y: Any) -> Any:
    """Return the state after a step, and the loss."""
    return INFERENCE.update(state, x, y)


@jax.jit
def fails(*arguments: Any) -> Any:
    """Raise an error after the model was called."""
    raise ArithmeticError(f"after {step(*arguments)}")


def arguments(rows: int) -> tuple[Any, ...]:
    """Return a new state with a batch."""
    return INFERENCE.init(jax.random.key(0), *data(2)), *data(rows)


MODEL = Model(arguments, step, fails, regression, lambda arguments: arguments[0], (None, 0, 0))
