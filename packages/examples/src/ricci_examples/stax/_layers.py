"""Layers of one input: dense, batch normalization, dropout, reshaping and elementwise."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Literal

import ricci_nn as nn
import ricci_numpy as jnp
import ricci_random as random
from ricci_nn.initializers import Initializer, glorot_normal, normal, ones, zeros

from ._combinators import Layer, stateless

__all__ = ["BatchNorm", "Dense", "Dropout", "Elu", "Exp", "Flatten", "Gelu", "Identity"]
__all__ += ["LeakyRelu", "LogSoftmax", "Relu", "Selu", "Sigmoid", "Softmax", "Softplus", "Tanh"]
__all__ += ["elementwise", "glorot", "logsoftmax", "randn"]

glorot = glorot_normal
randn = normal
_weights, _biases = glorot_normal(), normal()


def Dense(out_dim: int, W_init: Initializer = _weights, b_init: Initializer = _biases) -> Layer:
    """A dense layer, ``inputs @ W + b``, along the last axis; its parameters are ``(W, b)``.

    Args:
      out_dim: the number of outputs.
      W_init, b_init: the initializers of the weights ``(in_dim, out_dim)`` and the biases.

    Returns:
      A pair ``(init, apply)``.

    Example:
      >>> import ricci
      >>> from ricci.example_libraries import stax
      >>> init, apply = stax.Dense(3)
      >>> shape, (W, b) = init(ricci.random.key(0), (-1, 2))
      >>> shape, W.shape, b.shape
      ((-1, 3), (2, 3), (3,))
    """

    def init_fun(rng: Any, input_shape: Any) -> tuple[Any, Any]:
        for_W, for_b = random.split(rng)
        W, b = W_init(for_W, (input_shape[-1], out_dim)), b_init(for_b, (out_dim,))
        return (*input_shape[:-1], out_dim), (W, b)

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        W, b = params
        return jnp.dot(inputs, W) + b

    return init_fun, apply_fun


def BatchNorm(
    axis: int | Sequence[int] = (0, 1, 2),
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Initializer = zeros,
    gamma_init: Initializer = ones,
) -> Layer:
    """Normalize inputs to mean 0 and variance 1 over a batch, then scale and shift by parameters.

    Mean and variance are those of the batch, in training and otherwise.

    Args:
      axis: the axes over which mean and variance are taken; the others have parameters.
      epsilon: added to the variance.
      center, scale: whether there are parameters ``beta``, which is added, and ``gamma``, which is
        a factor; one that is left out is ``()`` among the parameters ``(beta, gamma)``.
      beta_init, gamma_init: their initializers.

    Returns:
      A pair ``(init, apply)``.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.example_libraries import stax
      >>> init, apply = stax.BatchNorm(axis=0)
      >>> shape, params = init(ricci.random.key(0), (2, 1))
      >>> print(apply(params, jnp.array([[1.0], [3.0]])).round(2).ravel())
      [-1.  1.]

    Source: Ioffe and Szegedy, "Batch normalization", 2015.
    """
    axes = axis if isinstance(axis, Sequence) else (axis,)

    def init_fun(rng: Any, input_shape: Any) -> tuple[Any, Any]:
        # Examples and positions, the axes of the statistics, share their parameters.
        shape = tuple(n for i, n in enumerate(input_shape) if i not in axes)
        for_beta, for_gamma = random.split(rng)
        beta = beta_init(for_beta, shape) if center else ()
        gamma = gamma_init(for_gamma, shape) if scale else ()
        return input_shape, (beta, gamma)

    def apply_fun(params: Any, x: Any, **kwargs: Any) -> Any:
        beta, gamma = params
        z = nn.standardize(x, axes, epsilon=epsilon)
        along = tuple(None if i in axes else slice(None) for i in range(x.ndim))
        if scale:
            z = gamma[along] * z
        return z + beta[along] if center else z

    return init_fun, apply_fun


def Dropout(rate: float, mode: Literal["train"] | str = "train") -> Layer:
    """Set random inputs to zero, and scale the others by the inverse of their probability.

    Args:
      rate: the probability that an input is not set to zero.
      mode: ``"train"``; with any other the inputs are returned unchanged.

    Returns:
      A pair ``(init, apply)``.

    Raises:
      ValueError: if ``apply_fun`` is called without a key as ``rng``.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.example_libraries import stax
      >>> init, apply = stax.Dropout(0.5)
      >>> print(apply((), jnp.ones(4), rng=ricci.random.key(0)))
      [0. 0. 2. 2.]
    """

    def init_fun(rng: Any, input_shape: Any) -> tuple[Any, Any]:
        return input_shape, ()

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rng = kwargs.get("rng")
        if rng is None:
            raise ValueError(
                "Dropout: apply_fun needs a random key to choose the inputs: call "
                "apply_fun(params, inputs, rng=key), of the layer or of the network around it."
            )
        if mode != "train":
            return inputs
        # As in JAX's stax, ``rate`` is the fraction that stays. The division leaves the expected
        # value the same.
        return jnp.where(random.bernoulli(rng, rate, inputs.shape), inputs / rate, 0)

    return init_fun, apply_fun


def _same(x: Any) -> Any:
    return x


Flatten: Layer = stateless(
    lambda shape: (shape[0], prod(shape[1:])),
    lambda inputs: jnp.reshape(inputs, (inputs.shape[0], -1)),
)
Identity: Layer = stateless(_same, _same)

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
    return stateless(_same, lambda inputs: fun(inputs, **fun_kwargs))


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
