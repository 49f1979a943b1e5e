"""Types of results before anything is computed, and values on the host after."""

from typing import Any, NamedTuple, assert_type

import numpy as np

import ricci
import ricci.numpy as jnp
from ricci import Array, ShapeDtypeStruct


class Layer(NamedTuple):
    weights: Array
    bias: Array


def apply(layer: Layer, x: Array) -> Array:
    return jnp.tanh(x @ layer.weights + layer.bias)


def init(key: Array) -> dict[str, Array]:
    return {"weights": ricci.random.normal(key, (9, 9)), "bias": jnp.zeros(9)}


def split(x: Array) -> list[Array]:
    return [x[:1], x[1:]]


def both(layer: Layer) -> tuple[Layer, Array]:
    return layer, layer.bias


def main() -> None:
    layer, x = Layer(jnp.eye(2), jnp.ones(2)), jnp.ones((3, 2))
    assert_type(ricci.eval_shape(apply, layer, x), ShapeDtypeStruct)
    assert_type(
        ricci.eval_shape(ricci.jit(apply), layer, ShapeDtypeStruct((3, 2), jnp.float32)).shape,
        tuple[int, ...],
    )
    assert_type(ricci.eval_shape(init, ricci.random.key(0))["bias"], ShapeDtypeStruct)
    assert_type(ricci.eval_shape(split, x), list[ShapeDtypeStruct])
    # No annotation says that arrays in other containers become types.
    assert_type(ricci.eval_shape(both, layer), Any)
    assert_type(ricci.device_get(x), np.ndarray)
    assert_type(ricci.device_get({"x": x}), dict[str, np.ndarray])
    assert_type(ricci.device_get([x]), list[np.ndarray])
    assert_type(ricci.device_get((x, x)), tuple[np.ndarray, np.ndarray])
    assert_type(ricci.device_get((x, x, x)), tuple[np.ndarray, ...])
    # Its fields are declared as arrays.
    assert_type(ricci.device_get(layer), Any)
