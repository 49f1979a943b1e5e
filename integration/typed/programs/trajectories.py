"""An initial value problem, and the derivative of where it ends."""

from typing import assert_type

import ricci
import ricci.numpy as jnp
from ricci import Array
from ricci.experimental.ode import odeint


def pendulum(state: Array, time: Array, length: Array) -> Array:
    angle, speed = state
    return jnp.stack([speed, -9.81 / length * jnp.sin(angle)])


@ricci.jit
def end(length: Array, start: Array) -> Array:
    times = jnp.linspace(0.0, 1.0, 5)
    path = odeint(pendulum, start, times, length)
    return path[-1]


def main() -> None:
    start = jnp.array([0.1, 0.0])
    length = jnp.asarray(1.0)
    assert_type(end(length, start), Array)
    assert end(length, start).shape == (2,)
    jacobian = ricci.jacrev(end, argnums=1)(length, start)
    assert jacobian.shape == (2, 2)
