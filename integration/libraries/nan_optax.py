"""optax's L-BFGS with its line search, on a function that divides 0 by 0."""

from typing import Any

import optax
from planted_cases import cases

import jax
import jax.numpy as jnp


def ratio(weights: Any, counts: Any) -> Any:
    """Return the distance from the counts' shares."""
    shares = counts / counts.sum()  # cause
    return jnp.sum((jax.nn.softmax(weights) - shares) ** 2)


def fit(counts: Any) -> Any:
    """Take three steps."""
    function = lambda weights: ratio(weights, counts)
    optimizer = optax.lbfgs()
    value_and_grad = optax.value_and_grad_from_state(function)

    def step(carry: Any, _: None) -> Any:
        weights, state = carry
        value, grad = value_and_grad(weights, state=state)
        updates, state = optimizer.update(
            grad, state, weights, value=value, grad=grad, value_fn=function
        )
        return (optax.apply_updates(weights, updates), state), value

    weights = jnp.array([0.1, 0.2, 0.3])
    return jax.lax.scan(step, (weights, optimizer.init(weights)), length=3)[1]


COUNTS = jnp.array([1.0, 2.0, 3.0])
PROGRAMS = cases(fit, ratio, "div", healthy=(COUNTS,), planted=(COUNTS * 0,))
