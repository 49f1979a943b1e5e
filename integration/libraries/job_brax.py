"""A policy that balances brax's pendulum, trained by the gradient through the physics."""

import optax
from brax import envs
from brax.training.acme import running_statistics
from brax.training.agents.apg import networks as apg

import jax
import jax.numpy as jnp

STEPS, LENGTH, MANY = 30, 30, 16
QUALITY = {"gain": 0.4}


def leaning(world, lean):
    start = world.reset(jax.random.key(0))
    physics = world.pipeline_init(lean / 2, lean)
    return start.replace(pipeline_state=physics, obs=world._get_obs(physics))


def train(data):
    world = envs.create("inverted_pendulum", backend="spring", auto_reset=False)
    networks = apg.make_apg_networks(
        world.observation_size, world.action_size, hidden_layer_sizes=(16, 16)
    )
    key, one, two = jax.random.split(jax.random.key(6), 3)
    policy = networks.policy_network.init(one)
    scale = running_statistics.init_state(jnp.zeros(world.observation_size))
    push = 0.6 * jax.random.normal(two, (MANY, 1))  # the pole leans, and has to be caught
    lean = jnp.concatenate([jnp.zeros((MANY, 1)), push], axis=1)
    starts = jax.jit(jax.vmap(leaning, (None, 0)), static_argnums=0)(world, lean)
    optimizer = optax.adam(1e-2)
    moments = optimizer.init(policy)

    def loss_of(policy, start):
        def moved(state, _):
            logits = networks.policy_network.apply(scale, policy, state.obs)
            action = networks.parametric_action_distribution.mode(logits)
            state = world.step(state, action)
            return state, jnp.sum(state.obs**2) + 0.01 * jnp.sum(action**2)

        return jax.lax.scan(moved, start, length=LENGTH)[1].mean()

    def over_starts(policy):
        return jax.vmap(loss_of, (None, 0))(policy, starts).mean()

    @jax.jit
    def step(policy, moments):
        loss, slope = jax.value_and_grad(over_starts)(policy)
        updates, moments = optimizer.update(slope, moments)
        return optax.apply_updates(policy, updates), moments, loss

    losses = []
    for _ in range(STEPS):
        policy, moments, loss = step(policy, moments)
        losses.append(loss)
        yield loss
    return {"gain": 1 - losses[-1] / losses[0]}
