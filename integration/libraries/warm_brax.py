"""Steps of brax's pendulum."""

from typing import Any

from brax import envs
from brax.envs import inverted_pendulum

import jax
import jax.numpy as jnp

WORLD = envs.create("inverted_pendulum", backend="spring", auto_reset=False)


def change_observation() -> None:
    """Change a method of the environment's class."""
    inner = inverted_pendulum.InvertedPendulum._get_obs
    inverted_pendulum.InvertedPendulum._get_obs = lambda self, state: 2 * inner(self, state)


def stepped(key: Any) -> Any:
    """Return the observation after two steps."""
    state = WORLD.reset(key)
    for _ in range(2):
        state = WORLD.step(state, jnp.ones(1))
    return state.obs


PROGRAMS = {
    "reset": lambda: jax.jit(WORLD.reset)(jax.random.key(0)).obs,
    "steps": lambda: jax.jit(stepped)(jax.random.key(0)),
}
VALUE = "reset", change_observation
EDIT = (
    "reset",
    "brax/envs/inverted_pendulum.py",
    "(self.sys.q_size(),), minval=-0.01",
    "(self.sys.q_size(),), minval=-0.5",
)
