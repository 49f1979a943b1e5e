"""A classifier of digits that is stopped and restored several times: orbax's checkpoint manager."""

import tempfile

import orbax.checkpoint as ocp

import jax
import jax.numpy as jnp

STEPS, EVERY = 120, 30
QUALITY = {"accuracy": 0.9, "restored_equal": 1.0}


def loss_of(parameters, images, labels):
    logits = jnp.tanh(images @ parameters["w1"]) @ parameters["w2"]
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()


@jax.jit
def step(state, images, labels):
    loss, gradient = jax.value_and_grad(loss_of)(state["parameters"], images, labels)
    velocity = jax.tree.map(lambda v, g: 0.9 * v - 0.3 * g, state["velocity"], gradient)
    parameters = jax.tree.map(jnp.add, state["parameters"], velocity)
    return {"parameters": parameters, "velocity": velocity, "key": state["key"]}, loss


def equal(one, other):
    data = lambda x: jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(bool((data(x) == data(y)).all()) and x.sharding == y.sharding for x, y in pairs)


def train(data):
    images = jnp.asarray(data["images"].reshape(-1, 64))
    labels = jnp.asarray(data["labels"])
    keys = jax.random.split(jax.random.key(0), 3)
    parameters = {
        "w1": jax.random.normal(keys[0], (64, 48)) / 8,
        "w2": jax.random.normal(keys[1], (48, 10)) / 8,
    }
    velocity = jax.tree.map(jnp.zeros_like, parameters)
    state = {"parameters": parameters, "velocity": velocity, "key": keys[2]}
    state = jax.device_put(state, jax.sharding.SingleDeviceSharding(jax.devices()[0]))
    same = []
    with (
        tempfile.TemporaryDirectory() as folder,
        ocp.CheckpointManager(folder, options=ocp.CheckpointManagerOptions(max_to_keep=2)) as kept,
    ):
        for index in range(STEPS):
            rows = slice(index % 11 * 128, (index % 11 + 1) * 128)
            state, loss = step(state, images[rows], labels[rows])
            yield loss
            if index % EVERY == EVERY - 1:
                kept.save(index, args=ocp.args.StandardSave(state))
                kept.wait_until_finished()
                restored = kept.restore(index, args=ocp.args.StandardRestore(state))
                same.append(equal(state, restored))
                state = restored
        same.append(len(kept.all_steps()) == 2)
    hidden = jnp.tanh(images[1408:] @ state["parameters"]["w1"])
    predicted = (hidden @ state["parameters"]["w2"]).argmax(1)
    return {"accuracy": (predicted == labels[1408:]).mean(), "restored_equal": all(same)}
