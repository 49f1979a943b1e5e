"""Train a small network, with metrics beside the loss."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_type

import ricci
import ricci.numpy as np
from ricci import Array, nn, random, tree


@ricci.tree_util.register_dataclass
@dataclass(frozen=True)
class Layer:
    weights: Array
    bias: Array


type Network = list[Layer]


def initialize(key: Array, sizes: Sequence[int]) -> Network:
    network: Network = []
    for inner, outer in zip(sizes[:-1], sizes[1:], strict=True):
        key, used = random.split(key)
        weights: Array = random.normal(used, (inner, outer)) / np.sqrt(inner)
        network.append(Layer(weights, np.zeros(outer)))
    return network


def apply(network: Network, x: Array) -> Array:
    for layer in network[:-1]:
        x = nn.relu(x @ layer.weights + layer.bias)
    last = network[-1]
    return x @ last.weights + last.bias


def loss(network: Network, x: Array, y: Array) -> tuple[Array, dict[str, Array]]:
    error = apply(network, x) - y
    return (error**2).mean(), {"largest": abs(error).max()}


@ricci.jit
def train(network: Network, x: Array, y: Array) -> tuple[Network, Array, dict[str, Array]]:
    (value, metrics), gradient = ricci.value_and_grad(loss, has_aux=True)(network, x, y)
    assert_type(value, Array)
    assert_type(metrics, dict[str, Array])
    network = tree.map(lambda p, g: p - 0.05 * g, network, gradient)
    return network, value, metrics


def main() -> None:
    key = random.key(0)
    x = random.normal(key, (32, 3))
    y = x.sum(axis=1, keepdims=True)
    network = initialize(key, (3, 8, 1))
    first = float(loss(network, x, y)[0])
    network, value, metrics = train(network, x, y)
    for _ in range(20):
        network, value, metrics = train(network, x, y)
    assert float(value) < first
    assert metrics["largest"].shape == ()
