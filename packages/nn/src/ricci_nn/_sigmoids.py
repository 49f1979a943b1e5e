"""Bounded activations: sigmoids, their piecewise linear forms, and their logarithms."""

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, composite
from ricci_lax import custom_jvp

from ._rectifiers import relu6, softplus, typed_composite

__all__ = [
    "hard_sigmoid",
    "hard_tanh",
    "log1mexp",
    "log_sigmoid",
    "sigmoid",
    "soft_sign",
    "sparse_sigmoid",
    "tanh",
]


def sigmoid(x: ArrayLike) -> Array:
    """The logistic function 1 / (1 + exp(-x)).

    Args:
      x: an array of floats or complex numbers.

    Returns:
      An array of the shape of ``x``, of a float or complex dtype.

    Raises:
      TypeError: for integers.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.sigmoid(np.float32([0.0, 2.0]))
      Array([0.5     , 0.8807...], dtype=float32)

    See also:
      ``log_sigmoid``, which is accurate for small probabilities.
    """
    return lax.logistic(x)


def tanh(x: ArrayLike, /) -> Array:
    """The hyperbolic tangent.

    Args:
      x: an array of floats or complex numbers.

    Returns:
      An array of the shape of ``x``.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.tanh(np.float32(0.5))
      Array(0.4621..., dtype=float32)
    """
    return jnp.tanh(x)


@composite("sparse_sigmoid")
def _sparse_sigmoid(x: Array) -> Array:
    return jnp.multiply(0.5, jnp.clip(jnp.add(x, 1.0), 0.0, 2.0))


def sparse_sigmoid(x: ArrayLike) -> Array:
    """The derivative of ``sparse_plus``: (x + 1) / 2 clipped to [0, 1].

    Args:
      x: an array of real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.sparse_sigmoid(np.float32([-2.0, 0.0, 3.0]))
      Array([0. , 0.5, 1. ], dtype=float32)

    Source: Martins and Astudillo, "From softmax to sparsemax", 2016.
    """
    return _sparse_sigmoid(x)


@composite("soft_sign")
def _soft_sign(x: Array) -> Array:
    return jnp.divide(x, jnp.add(jnp.abs(x), 1))


def soft_sign(x: ArrayLike) -> Array:
    """A smooth form of the sign: x / (|x| + 1).

    Args:
      x: an array of real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.soft_sign(np.float32([-1.0, 3.0]))
      Array([-0.5 ,  0.75], dtype=float32)
    """
    return _soft_sign(x)


@composite("log_sigmoid")
def _log_sigmoid(x: Array) -> Array:
    return jnp.negative(softplus(jnp.negative(x)))


def log_sigmoid(x: ArrayLike) -> Array:
    """The logarithm of the sigmoid, -softplus(-x).

    Args:
      x: an array of real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.log_sigmoid(np.float32(0.0))
      Array(-0.6931..., dtype=float32)
    """
    return _log_sigmoid(x)


@composite("hard_tanh")
def _hard_tanh(x: Array) -> Array:
    return jnp.where(jnp.greater(x, 1), 1, jnp.where(jnp.less(x, -1), -1, x))


def hard_tanh(x: ArrayLike) -> Array:
    """``x`` clipped to [-1, 1], a piecewise linear ``tanh``.

    Args:
      x: an array of real numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.hard_tanh(np.float32([-3.0, 0.5, 3.0]))
      Array([-1. ,  0.5,  1. ], dtype=float32)
    """
    return _hard_tanh(x)


@composite("hard_sigmoid")
def _hard_sigmoid(x: Array) -> Array:
    return jnp.divide(relu6(jnp.add(x, 3.0)), 6.0)


def hard_sigmoid(x: ArrayLike) -> Array:
    """A piecewise linear sigmoid: relu6(x + 3) / 6.

    Args:
      x: an array of real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.hard_sigmoid(np.float32([-5.0, 0.0, 5.0]))
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    return _hard_sigmoid(x)


@custom_jvp
@typed_composite("log1mexp")
def log1mexp(x: ArrayLike) -> Array:
    """log(1 - exp(-x)) for positive ``x``, accurate near 0 and for large ``x``.

    Args:
      x: an array of real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.log1mexp(np.float32(1.0))
      Array(-0.4586..., dtype=float32)

    Source: Mächler, "Accurately computing log(1 - exp(-|a|))", 2012.
    """
    is_near = jnp.less(x, jnp.log(2.0))
    near = jnp.log(jnp.negative(jnp.expm1(jnp.negative(x))))
    far = jnp.log1p(jnp.negative(jnp.exp(jnp.negative(x))))
    return jnp.where(is_near, near, far)


log1mexp.defjvps(lambda g, y, x: jnp.divide(g, jnp.expm1(x)))
