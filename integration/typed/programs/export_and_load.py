"""A traced function as bytes, which another program loads; sizes may be symbolic."""

from typing import assert_type

import ricci
import ricci.numpy as jnp
from ricci import Array, export


@ricci.jit
def predict(weights: Array, x: Array) -> Array:
    return jnp.tanh(x @ weights)


def save() -> bytes:
    (batch,) = export.symbolic_shape("batch")
    x = ricci.ShapeDtypeStruct((batch, 3), jnp.float32)
    weights = ricci.ShapeDtypeStruct((3, 2), jnp.float32)
    exported = export.export(predict, platforms=["cpu"])(weights, x)
    assert exported.platforms == ("cpu",)
    return bytes(exported.serialize(vjp_order=1))


def main() -> None:
    loaded = export.deserialize(bytearray(save()))
    assert_type(loaded, export.Exported)
    weights = jnp.ones((3, 2))
    for size in (1, 4):
        assert loaded.call(weights, jnp.ones((size, 3))).shape == (size, 2)

    def total(weights: Array) -> Array:
        return loaded.call(weights, jnp.ones((2, 3))).sum()

    assert ricci.grad(total)(weights).shape == (3, 2)
