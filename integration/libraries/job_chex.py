"""A denoising autoencoder of digits, its state a chex dataclass, its shapes and values asserted."""

import chex

import jax
import jax.numpy as jnp

STEPS = 150
QUALITY = {"explained_variance": 0.75}


@chex.dataclass(frozen=True)
class State:
    weights: chex.ArrayTree
    velocity: chex.ArrayTree
    key: chex.PRNGKey
    count: chex.Array


def decoded(weights, images):
    code = jax.nn.gelu(images @ weights["encode"] + weights["shift"])
    chex.assert_shape(code, (images.shape[0], 24))
    return jax.nn.sigmoid(code @ weights["decode"] + weights["bias"])


def loss_of(weights, key, images):
    noisy = images + 0.1 * jax.random.normal(key, images.shape)
    output = decoded(weights, noisy)
    chex.assert_equal_shape([output, images])
    return jnp.mean(jnp.sum((output - images) ** 2, axis=1))


@jax.jit
@chex.assert_max_traces(n=1)
def step(state, images):
    chex.assert_rank(images, 2)
    chex.assert_type(images, jnp.float32)
    key, use = jax.random.split(state.key)
    loss, gradient = jax.value_and_grad(loss_of)(state.weights, use, images)
    chex.assert_trees_all_equal_shapes_and_dtypes(gradient, state.weights)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, state.velocity, gradient)
    weights = jax.tree.map(lambda w, v: w - 0.03 * v, state.weights, velocity)
    new = state.replace(weights=weights, velocity=velocity, key=key, count=state.count + 1)
    return new, loss


def train(data):
    images = jnp.asarray(data["images"].reshape(-1, 64))
    key, one, two = jax.random.split(jax.random.PRNGKey(1), 3)
    initializer = jax.nn.initializers.glorot_uniform()
    weights = {
        "encode": initializer(one, (64, 24)),
        "shift": jnp.zeros(24),
        "decode": initializer(two, (24, 64)),
        "bias": jnp.full(64, -1.0),
    }
    zeros = jax.tree.map(jnp.zeros_like, weights)
    state = State(weights=weights, velocity=zeros, key=key, count=jnp.zeros((), jnp.int32))
    for index in range(STEPS):
        state, loss = step(state, images[index % 5 * 256 : (index % 5 + 1) * 256])
        yield loss
    chex.assert_tree_all_finite(state.weights)
    chex.assert_trees_all_equal(state.count, jnp.int32(STEPS))
    left = images[1280:]
    error = jnp.sum((decoded(state.weights, left) - left) ** 2)
    return {"explained_variance": 1 - error / jnp.sum((left - left.mean(0)) ** 2)}
