"""Pgx: board games as environments, played in batches under jit and scan."""

import pgx

import jax
import jax.numpy as jnp


def played(name, steps=12, batch=3):
    """Legal actions of random logits, and the observations and rewards."""
    env = pgx.make(name)
    state = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.PRNGKey(1), batch))

    def turn(state, key):
        logits = jax.random.normal(key, state.legal_action_mask.shape)
        action = jnp.argmax(jnp.where(state.legal_action_mask, logits, -jnp.inf), axis=-1)
        keys = jax.random.split(key, batch)
        following = jax.vmap(env.step)(state, action, keys)
        return following, (action, following.rewards, following.terminated)

    keys = jax.random.split(jax.random.PRNGKey(2), steps)
    state, record = jax.jit(lambda s: jax.lax.scan(turn, s, keys))(state)
    return state.observation, state.legal_action_mask, state.current_player, record


def reset():
    env = pgx.make("tic_tac_toe")
    step = jax.jit(pgx.experimental.auto_reset(env.step, env.init))
    state = env.init(jax.random.PRNGKey(0))
    for action in (0, 3, 1, 4, 2, 5):
        state = step(state, action, jax.random.PRNGKey(action))
    return state.observation, state.rewards, state.terminated


CASES = {
    "tic-tac-toe": lambda: played("tic_tac_toe", 8),
    "connect four": lambda: played("connect_four", 20),
    "othello": lambda: played("othello"),
    "hex": lambda: played("hex"),
    "go": lambda: played("go_9x9"),
    "2048": lambda: played("2048"),
    "kuhn poker": lambda: played("kuhn_poker", 4),
    "leduc hold'em": lambda: played("leduc_holdem", 5),
    "animal shogi": lambda: played("animal_shogi"),
    "backgammon": lambda: played("backgammon", 6),
    "reset by itself": reset,
}
