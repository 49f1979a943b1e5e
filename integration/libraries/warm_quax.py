"""Layers of equinox with low-rank adapters of quax, and a gradient of one."""

from typing import Any

import equinox as eqx
import quax
import quax.examples.lora as lora
from quax.examples.lora import LoraArray

import jax
import jax.numpy as jnp

LAYER = lora.loraify(
    eqx.nn.Linear(4, 3, key=jax.random.key(0)), rank=2, scale=0.1, key=jax.random.key(1)
)
X = jnp.ones(4)


def outputs(layer: Any, x: Any) -> Any:
    """Return the sum of a layer's outputs."""
    return quax.quaxify(lambda layer, x: layer(x).sum())(layer, x)


def gradient() -> Any:
    """Return the gradient with respect to the adapters."""
    return eqx.filter_jit(eqx.filter_grad(outputs))(LAYER, X)


def change_aval() -> None:
    """Change a method that is called when a layer is applied."""
    LoraArray.w = property(lambda self: 2 * self._w)


PROGRAMS = {"forward": lambda: jax.jit(outputs)(LAYER, X), "gradient": gradient}
VALUE = "gradient", change_aval
EDIT = "forward", "quax/examples/lora/_core.py", "return out1 + out3", "return out1 + 2 * out1"
