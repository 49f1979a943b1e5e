"""A gated recurrent network in Haiku that predicts the next byte of this project's documents."""

import haiku as hk
import optax

import jax
import jax.numpy as jnp

STEPS = 80
LENGTH = 40
QUALITY = {"gain_over_frequencies": 1.0}


def network(tokens, is_training):
    x = hk.Embed(128, 32)(tokens)
    x = hk.BatchNorm(True, True, 0.9)(x, is_training)
    core = hk.GRU(96)
    x, _ = hk.dynamic_unroll(core, x, core.initial_state(tokens.shape[0]), time_major=False)
    if is_training:
        x = hk.dropout(hk.next_rng_key(), 0.1, x)
    x = hk.LayerNorm(-1, True, True)(x)
    return hk.Linear(128)(x)


def train(data):
    text = jnp.asarray(data["text"].clip(max=127), jnp.int32)
    model = hk.transform_with_state(network)
    init, drop = jax.random.split(jax.random.PRNGKey(5))
    parameters, state = model.init(init, jnp.zeros((1, LENGTH), jnp.int32), True)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-2))
    moments = optimizer.init(parameters)

    def loss_of(parameters, state, key, tokens):
        logits, state = model.apply(parameters, state, key, tokens[:, :-1], True)
        targets = jax.nn.one_hot(tokens[:, 1:], 128)
        return -jnp.mean(jnp.sum(targets * jax.nn.log_softmax(logits), axis=-1)), state

    @jax.jit
    def step(parameters, state, moments, key, tokens):
        gradient_of = jax.value_and_grad(loss_of, has_aux=True)
        (loss, state), gradient = gradient_of(parameters, state, key, tokens)
        updates, moments = optimizer.update(gradient, moments)
        return optax.apply_updates(parameters, updates), state, moments, loss

    losses = []
    for index in range(STEPS):
        starts = (jnp.arange(24) * 577 + index * 331) % (len(text) - LENGTH - 1)
        tokens = text[starts[:, None] + jnp.arange(LENGTH + 1)]
        key = jax.random.fold_in(drop, index)
        parameters, state, moments, loss = step(parameters, state, moments, key, tokens)
        losses.append(loss)
        yield loss
    share = jnp.bincount(text, length=128) / len(text)
    entropy = -jnp.sum(jnp.where(share > 0, share * jnp.log(share), 0.0))
    return {"gain_over_frequencies": entropy - jnp.mean(jnp.array(losses[-10:]))}
