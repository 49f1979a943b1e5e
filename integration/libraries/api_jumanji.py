"""Jumanji: environments stepped by scripted actions, one by one, by scan and over batches."""

import jumanji
from jumanji.wrappers import VmapAutoResetWrapper

import jax
import jax.numpy as jnp

NAMES = ("Game2048-v1", "Snake-v1", "TSP-v1", "Knapsack-v1", "Minesweeper-v0")


def episode(name, steps=5):
    environment = jumanji.make(name)
    state, start = jax.jit(environment.reset)(jax.random.key(0))
    shape = environment.action_spec.generate_value()

    def step(state, key):
        action = jax.random.randint(key, jnp.shape(shape), 0, 3).astype(shape.dtype)
        state, timestep = environment.step(state, action)
        return state, (timestep.reward, timestep.discount)

    state, rewards = jax.lax.scan(step, state, jax.random.split(jax.random.key(1), steps))
    return start.observation, rewards


def batch():
    environment = VmapAutoResetWrapper(jumanji.make("Snake-v1"))
    state, _ = environment.reset(jax.random.split(jax.random.key(0), 3))
    return environment.step(state, jnp.array([0, 1, 2]))[1].observation


CASES = {name: lambda n=name: episode(n) for name in NAMES} | {"batch": batch}
