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

logsoftmax = nn.log_softmax


def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """A layer that applies a function of an array which keeps its shape.

    Args:
      fun: called with the inputs.
      **fun_kwargs: passed on to it.

    Example:
      >>> init, apply = elementwise(jnp.clip, max=2.0)
      >>> print(apply((), jnp.arange(4.0)))
      [0. 1. 2. 2.]
    """

    def init_fun(rng: Any, input_shape: Any) -> tuple[Any, Any]:
        return input_shape, ()

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return fun(inputs, **fun_kwargs)

    return init_fun, apply_fun


Tanh = elementwise(jnp.tanh)
Relu = elementwise(nn.relu)
Exp = elementwise(jnp.exp)
LogSoftmax = elementwise(nn.log_softmax, axis=-1)
Softmax = elementwise(nn.softmax, axis=-1)
Softplus = elementwise(nn.softplus)
Sigmoid = elementwise(nn.sigmoid)
Elu = elementwise(nn.elu)
LeakyRelu = elementwise(nn.leaky_relu)
Selu = elementwise(nn.selu)
Gelu = elementwise(nn.gelu)
