"""A transformer block in Flax Linen that predicts the next byte of this project's documents."""

import flax.linen as nn
import optax
from flax.training.train_state import TrainState

import jax
import jax.numpy as jnp

STEPS = 80
LENGTH = 48
QUALITY = {"gain_over_frequencies": 0.5}


class Transformer(nn.Module):
    width: int = 64

    @nn.compact
    def __call__(self, tokens, deterministic=False):
        place = self.param("place", nn.initializers.normal(0.02), (LENGTH, self.width))
        x = nn.Embed(128, self.width)(tokens) + place
        mask = nn.make_causal_mask(tokens)
        attend = nn.MultiHeadDotProductAttention(
            num_heads=4, dropout_rate=0.1, deterministic=deterministic
        )
        x = x + attend(nn.LayerNorm()(x), mask=mask)
        y = nn.gelu(nn.Dense(4 * self.width)(nn.LayerNorm()(x)))
        x = x + nn.Dropout(0.1, deterministic=deterministic)(nn.Dense(self.width)(y))
        return nn.Dense(128)(nn.LayerNorm()(x))


@jax.jit
def step(state, tokens, key):
    def loss_of(parameters):
        rngs = {"dropout": jax.random.fold_in(key, state.step)}
        logits = state.apply_fn({"params": parameters}, tokens[:, :-1], rngs=rngs)
        return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()

    loss, gradient = jax.value_and_grad(loss_of)(state.params)
    return state.apply_gradients(grads=gradient), loss


def train(data):
    text = jnp.asarray(data["text"].clip(max=127), jnp.int32)
    model = Transformer()
    init, drop = jax.random.split(jax.random.key(4))
    parameters = model.init(init, jnp.zeros((1, LENGTH), jnp.int32), deterministic=True)["params"]
    state = TrainState.create(
        apply_fn=model.apply, params=parameters, tx=optax.adamw(optax.linear_schedule(0, 4e-3, 20))
    )
    losses = []
    for index in range(STEPS):
        starts = (jnp.arange(24) * 577 + index * 331) % (len(text) - LENGTH - 1)
        state, loss = step(state, text[starts[:, None] + jnp.arange(LENGTH + 1)], drop)
        losses.append(loss)
        yield loss
    share = jnp.bincount(text, length=128) / len(text)
    entropy = -jnp.sum(jnp.where(share > 0, share * jnp.log(share), 0.0))
    return {"gain_over_frequencies": entropy - jnp.stack(losses[-10:]).mean()}
