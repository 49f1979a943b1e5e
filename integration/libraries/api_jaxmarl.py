"""jaxmarl, gymnax, xminigrid and flashbax: environments under scan and vmap, replay buffers."""

import flashbax
import gymnax
import jaxmarl
import xminigrid

import jax
import jax.numpy as jnp

KEY = jax.random.PRNGKey(0)


def rollout(name):
    env, params = gymnax.make(name)

    def step(carry, key):
        observation, state = carry
        action = env.action_space(params).sample(key)
        observation, state, reward, done, _ = env.step(key, state, action, params)
        return (observation, state), (observation, reward, done)

    keys = jax.random.split(KEY, 30)
    one = lambda key: jax.lax.scan(step, env.reset(key, params), keys)[1]
    return jax.jit(jax.vmap(one))(jax.random.split(KEY, 3))


def several_agents(name):
    env = jaxmarl.make(name)
    _, state = env.reset(KEY)
    actions = {agent: env.action_space(agent).sample(KEY) for agent in env.agents}
    observations, state, rewards, *_ = env.step(KEY, state, actions)
    return observations, rewards


def grid():
    env, params = xminigrid.make("MiniGrid-Empty-8x8")
    first = jax.jit(env.reset)(params, KEY)
    after = jax.jit(env.step)(params, first, jnp.asarray(1))
    return after.observation, after.reward


def buffer():
    flat = flashbax.make_flat_buffer(64, 4, 4)
    state = flat.init({"x": jnp.zeros(3)})
    for i in range(10):
        state = jax.jit(flat.add)(state, {"x": jnp.full(3, float(i))})
    return flat.sample(state, KEY).experience


def prioritised():
    buffer = flashbax.make_prioritised_trajectory_buffer(
        add_batch_size=2,
        sample_batch_size=4,
        sample_sequence_length=3,
        period=1,
        min_length_time_axis=4,
        max_size=64,
    )
    state = buffer.init({"x": jnp.zeros(3)})
    state = buffer.add(state, {"x": jnp.arange(30.0).reshape(2, 5, 3)})
    sample = buffer.sample(state, KEY)
    return sample.experience, sample.probabilities


CASES = {
    "CartPole": lambda: rollout("CartPole-v1"),
    "Acrobot": lambda: rollout("Acrobot-v1"),
    "MountainCar": lambda: rollout("MountainCarContinuous-v0"),
    "simple spread": lambda: several_agents("MPE_simple_spread_v3"),
    "simple tag": lambda: several_agents("MPE_simple_tag_v3"),
    "grid": grid,
    "flat buffer": buffer,
    "prioritised buffer": prioritised,
}
