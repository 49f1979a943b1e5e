"""Equinox on eight devices: the batch in shares, the model on each, constrained by filter_shard."""

import equinox as eqx
import optax

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

jax.config.update("jax_num_cpu_devices", 8)

STEPS = 80
QUALITY = {"accuracy": 0.9, "replicated": 1.0}


def loss_of(model, images, labels):
    logits = jax.vmap(model)(images)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def train(data):
    images = data["images"].reshape(-1, 64)
    labels = data["labels"]
    mesh = jax.make_mesh((8,), ("batch",), axis_types=(AxisType.Auto,))
    divided, whole = NamedSharding(mesh, P("batch")), NamedSharding(mesh, P())
    model = eqx.nn.MLP(64, 10, 64, 2, key=jax.random.key(7))
    optimizer = optax.adam(3e-3)
    state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))

    @eqx.filter_jit(donate="all")
    def step(model, state, images, labels):
        model, state = eqx.filter_shard((model, state), whole)
        images, labels = eqx.filter_shard((images, labels), divided)
        loss, gradient = eqx.filter_value_and_grad(loss_of)(model, images, labels)
        updates, state = optimizer.update(gradient, state)
        model = eqx.apply_updates(model, updates)
        model, state = eqx.filter_shard((model, state), whole)
        return model, state, loss

    model, state = eqx.filter_shard((model, state), whole)
    for index in range(STEPS):
        rows = slice(index % 11 * 128, (index % 11 + 1) * 128)
        batch = eqx.filter_shard((images[rows], labels[rows]), divided)
        model, state, loss = step(model, state, *batch)
        yield loss
    predicted = jax.vmap(model)(jnp.asarray(images[1408:])).argmax(1)
    weights = jax.tree.leaves(eqx.filter(model, eqx.is_array))
    return {
        "accuracy": (predicted == labels[1408:]).mean(),
        "replicated": all(w.sharding.is_equivalent_to(whole, w.ndim) for w in weights),
    }
