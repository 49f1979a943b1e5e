"""A convolutional network on digits in equinox, with dropout and optax's Adam."""

import equinox as eqx
import optax

import jax
import jax.numpy as jnp

STEPS = 120
QUALITY = {"accuracy": 0.95}


class Network(eqx.Module):
    layers: list
    dropout: eqx.nn.Dropout
    head: eqx.nn.Linear

    def __init__(self, key):
        one, two, three = jax.random.split(key, 3)
        self.layers = [
            eqx.nn.Conv2d(1, 16, 3, padding=1, key=one),
            jax.nn.relu,
            eqx.nn.MaxPool2d(2, 2),
            eqx.nn.Conv2d(16, 32, 3, padding=1, key=two),
            jax.nn.relu,
            eqx.nn.MaxPool2d(2, 2),
            jnp.ravel,
        ]
        self.dropout = eqx.nn.Dropout(0.1)
        self.head = eqx.nn.Linear(128, 10, key=three)

    def __call__(self, image, key=None):
        x = image[None]
        for layer in self.layers:
            x = layer(x)
        return self.head(self.dropout(x, key=key))


@eqx.filter_value_and_grad
def loss_of(network, images, labels, keys):
    logits = jax.vmap(network)(images, keys)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def train(data):
    images, labels = jnp.asarray(data["images"]), jnp.asarray(data["labels"])
    key, init = jax.random.split(jax.random.key(3))
    network = Network(init)
    optimizer = optax.adam(5e-3)
    state = optimizer.init(eqx.filter(network, eqx.is_array))

    @eqx.filter_jit
    def step(network, state, images, labels, key):
        keys = jax.random.split(key, len(images))
        loss, gradient = loss_of(network, images, labels, keys)
        updates, state = optimizer.update(gradient, state, network)
        return eqx.apply_updates(network, updates), state, loss

    for index in range(STEPS):
        rows = slice(index % 11 * 128, (index % 11 + 1) * 128)
        use = jax.random.fold_in(key, index)
        network, state, loss = step(network, state, images[rows], labels[rows], use)
        yield loss
    network = eqx.nn.inference_mode(network)
    predicted = eqx.filter_jit(jax.vmap(network))(images[1408:]).argmax(1)
    return {"accuracy": (predicted == labels[1408:]).mean()}
