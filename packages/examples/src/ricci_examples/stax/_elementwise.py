"""Layers that apply a function to each element, or along the last axis; they have no parameters."""

from collections.abc import Callable
from typing import Any

import ricci_nn as nn
import ricci_numpy as jnp

from ._types import Layer

__all__ = [
    "Elu",
    "Exp",
    "Gelu",
    "LeakyRelu",
    "LogSoftmax",
    "Relu",
    "Selu",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Tanh",
    "elementwise",
    "logsoftmax",
]

logsoftmax: Callable[..., Any] = nn.log_softmax


def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """A layer that applies a function that preserves the shape.

    Args:
      fun: called with the inputs.
      **fun_kwargs: passed to it.

    Returns:
      A pair ``(init, apply)``.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.example_libraries import stax
      >>> init, apply = stax.elementwise(jnp.clip, max=2.0)
      >>> print(apply((), jnp.arange(4.0)))
      [0. 1. 2. 2.]
    """

    def init_fun(rng: Any, input_shape: Any) -> tuple[Any, Any]:
        return input_shape, ()

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return fun(inputs, **fun_kwargs)

    return init_fun, apply_fun


Tanh: Layer = elementwise(jnp.tanh)
Relu: Layer = elementwise(nn.relu)
Exp: Layer = elementwise(jnp.exp)
LogSoftmax: Layer = elementwise(nn.log_softmax, axis=-1)
Softmax: Layer = elementwise(nn.softmax, axis=-1)
Softplus: Layer = elementwise(nn.softplus)
Sigmoid: Layer = elementwise(nn.sigmoid)
Elu: Layer = elementwise(nn.elu)
LeakyRelu: Layer = elementwise(nn.leaky_relu)
Selu: Layer = elementwise(nn.selu)
Gelu: Layer = elementwise(nn.gelu)
