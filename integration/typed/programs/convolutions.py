"""A small convolutional network: lax's convolutions and windows, cross entropy, accuracy."""

from dataclasses import dataclass

import ricci
import ricci.numpy as jnp
from ricci import Array, lax, nn, random, tree


@ricci.tree_util.register_dataclass
@dataclass(frozen=True)
class Network:
    kernel: Array
    bias: Array
    head: Array


def initialize(key: Array, classes: int) -> Network:
    first, second = random.split(key)
    initializer = nn.initializers.he_normal(in_axis=-2, out_axis=-1)
    return Network(
        kernel=initializer(first, (3, 3, 1, 4), jnp.float32),
        bias=jnp.zeros(4),
        head=0.1 * random.normal(second, (4 * 4 * 4, classes)),
    )


def logits(network: Network, images: Array) -> Array:
    x = lax.conv_general_dilated(
        images,
        network.kernel,
        window_strides=(1, 1),
        padding="SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )
    x = nn.relu(x + network.bias)
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return x.reshape(len(images), -1) @ network.head


def cross_entropy(network: Network, images: Array, labels: Array) -> Array:
    chosen = nn.one_hot(labels, network.head.shape[1])
    return -(chosen * nn.log_softmax(logits(network, images))).sum(axis=-1).mean()


@ricci.jit
def train(network: Network, images: Array, labels: Array, rate: float = 0.5) -> Network:
    gradient = ricci.grad(cross_entropy)(network, images, labels)
    new: Network = tree.map(lambda p, g: p - rate * g, network, gradient)
    return new


def accuracy(network: Network, images: Array, labels: Array) -> float:
    return float((logits(network, images).argmax(axis=-1) == labels).mean())


def main() -> None:
    labels = jnp.arange(16) % 2
    columns = jnp.arange(8) < 4
    bright = jnp.where(labels[:, None] == 0, columns, ~columns).astype(jnp.float32)
    images = jnp.broadcast_to(bright[:, None, :, None], (16, 8, 8, 1))
    network = initialize(random.key(0), classes=2)
    for _ in range(10):
        network = train(network, images, labels)
    assert accuracy(network, images, labels) == 1.0
