"""A perceptron whose batch is sharded over the devices, by jit and arrays on a mesh."""

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

STEPS = 8


def init(key, sizes):
    keys = jax.random.split(key, len(sizes) - 1)
    return [
        {"w": jax.random.normal(k, (m, n)) / m**0.5, "b": jnp.zeros(n)}
        for k, m, n in zip(keys, sizes[:-1], sizes[1:], strict=True)
    ]


def predict(layers, x):
    for layer in layers[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return x @ layers[-1]["w"] + layers[-1]["b"]


def loss_of(layers, x, labels):
    scores = jax.nn.log_softmax(predict(layers, x))
    return -jnp.mean(jnp.take_along_axis(scores, labels[:, None], axis=1))


@jax.jit
def step(layers, x, labels):
    loss, gradient = jax.value_and_grad(loss_of)(layers, x, labels)
    return jax.tree.map(lambda p, g: p - 0.1 * g, layers, gradient), loss


def run():
    mesh = jax.make_mesh((jax.device_count(),), ("batch",), axis_types=(AxisType.Auto,))
    whole, divided = NamedSharding(mesh, P()), NamedSharding(mesh, P("batch"))
    key, data = jax.random.split(jax.random.key(0))
    layers = jax.device_put(init(key, (32, 64, 64, 10)), whole)
    x = jax.device_put(jax.random.normal(data, (64, 32)), divided)
    labels = jax.device_put(jnp.arange(64) % 10, divided)
    compiled = step.lower(layers, x, labels).compile()
    losses = []
    for _ in range(STEPS):
        layers, loss = step(layers, x, labels)
        losses.append(loss)
    assert x.sharding == divided
    assert layers[0]["w"].is_fully_replicated
    return losses, {"step": compiled}
