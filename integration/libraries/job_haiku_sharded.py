"""Haiku and optax on eight devices: parameters and moments in shares, gradients where they lie."""

import haiku as hk
import optax

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

jax.config.update("jax_num_cpu_devices", 8)

STEPS = 80
QUALITY = {"accuracy": 0.9, "divided": 1.0}


def network(x):
    return hk.nets.MLP([64, 64, 10], activation=jax.nn.relu)(x)


def train(data):
    images = jnp.asarray(data["images"].reshape(-1, 64))
    labels = jnp.asarray(data["labels"])
    mesh = jax.make_mesh((8,), ("shard",), axis_types=(AxisType.Auto,))
    divided = NamedSharding(mesh, P("shard"))
    model = hk.without_apply_rng(hk.transform(network))
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(3e-3))

    def place(leaf):
        return NamedSharding(mesh, P("shard") if leaf.ndim == 2 else P())

    def init(key):
        parameters = model.init(key, jnp.zeros((1, 64)))
        return parameters, optimizer.init(parameters)

    key = jax.random.PRNGKey(10)
    places = jax.tree.map(place, jax.eval_shape(init, key))
    parameters, moments = jax.jit(init, out_shardings=places)(key)

    def loss_of(parameters, images, labels):
        logits = model.apply(parameters, images)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    @jax.jit
    def step(parameters, moments, images, labels):
        loss, gradient = jax.value_and_grad(loss_of)(parameters, images, labels)
        gradient = jax.lax.with_sharding_constraint(gradient, places[0])
        updates, moments = optimizer.update(gradient, moments, parameters)
        parameters = optax.apply_updates(parameters, updates)
        return *jax.lax.with_sharding_constraint((parameters, moments), places), loss

    for index in range(STEPS):
        rows = slice(index % 11 * 128, (index % 11 + 1) * 128)
        batch = jax.device_put((images[rows], labels[rows]), divided)
        parameters, moments, loss = step(parameters, moments, *batch)
        yield loss
    predicted = model.apply(parameters, images[1408:]).argmax(1)
    matrices = [leaf for leaf in jax.tree.leaves((parameters, moments)) if leaf.ndim == 2]
    return {
        "accuracy": (predicted == labels[1408:]).mean(),
        "divided": all(m.addressable_shards[0].data.shape[0] * 8 == len(m) for m in matrices),
    }
