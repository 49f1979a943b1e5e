"""Activations that multiply elements by gates between 0 and 1."""

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, composite
from ricci_numpy.authoring import operands, to_inexact

from ._rectifiers import softplus
from ._sigmoids import hard_sigmoid, sigmoid

__all__ = ["gelu", "glu", "hard_silu", "hard_swish", "mish", "silu", "swish"]


@composite("silu")
def _silu(x: Array) -> Array:
    return jnp.multiply(x, sigmoid(x))


def silu(x: ArrayLike) -> Array:
    """The sigmoid linear unit x · sigmoid(x), also called swish.

    Args:
      x: an array of floats.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: for integers.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.silu(np.float32([0.0, 1.0]))
      Array([0.       , 0.7310...], dtype=float32)

    Source: Elfwing, Uchibe and Doya, "Sigmoid-weighted linear units for neural network function
    approximation in reinforcement learning", 2017.
    """
    return _silu(x)


swish = silu


@composite("mish")
def _mish(x: Array) -> Array:
    return jnp.multiply(x, jnp.tanh(softplus(x)))


def mish(x: ArrayLike) -> Array:
    """x · tanh(softplus(x)).

    Args:
      x: an array of real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.mish(np.float32([0.0, 1.0]))
      Array([0.       , 0.8650...], dtype=float32)

    Source: Misra, "Mish: a self regularized non-monotonic activation function", 2019.
    """
    return _mish(x)


def gelu(x: ArrayLike, approximate: bool = True) -> Array:
    """The Gaussian error linear unit: ``x`` times the normal distribution function of ``x``.

    Args:
      x: an array of real numbers.
      approximate: whether the distribution function is approximated with tanh, which is faster.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    The default is the approximation; the exact form differs from it by less than 0.001. Use the
    form with which the weights were trained.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> x = jnp.array([-1.0, 0.0, 2.0])
      >>> ricci.nn.gelu(x).round(2)
      Array([-0.16     ,  0.       ,  1.9499999], dtype=float32)
      >>> bool(jnp.allclose(ricci.nn.gelu(x), ricci.nn.gelu(x, approximate=False), atol=1e-3))
      True

    See also:
      ``silu``, ``relu``.

    Source: Hendrycks and Gimpel, "Gaussian error linear units", 2016.
    """
    array: Array = to_inexact(x, "gelu")
    if approximate:
        root = np.sqrt(2 / np.pi).astype(array.dtype)
        inner = jnp.add(array, jnp.multiply(0.044715, lax.integer_pow(array, 3)))
        cdf = jnp.multiply(0.5, jnp.add(1.0, jnp.tanh(jnp.multiply(root, inner))))
        return jnp.multiply(array, cdf)
    root = np.sqrt(0.5).astype(array.dtype)
    half = jnp.multiply(0.5, array)
    tail = lax.erfc(jnp.multiply(jnp.negative(array), root))
    return jnp.array(jnp.multiply(half, tail), dtype=array.dtype)


@composite("glu")
def _glu(x: Array, *, axis: int) -> Array:
    half = x.shape[axis] // 2
    a, b = lax.split(x, (half, half), axis=axis)
    return jnp.multiply(a, sigmoid(b))


def glu(x: ArrayLike, axis: int = -1) -> Array:
    """The gated linear unit: the first half along an axis times the sigmoid of the second.

    Args:
      x: an array of floats.
      axis: the axis that is split.

    Returns:
      An array of half the size along the axis.

    Raises:
      AssertionError: if the axis has an odd size.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.glu(np.float32([1.0, 2.0, 0.0, 0.0]))
      Array([0.5, 1. ], dtype=float32)

    Source: Dauphin, Fan, Auli and Grangier, "Language modeling with gated convolutional
    networks", 2016.
    """
    array: Array = jnp.asarray(operands("glu", x)[0])
    if array.shape[axis] % 2:
        raise AssertionError(
            f"glu: axis {axis} is split into two equal halves, so its size must be even, but the "
            f"shape is {array.shape}."
        )
    return _glu(array, axis=axis % array.ndim)


@composite("hard_silu")
def _hard_silu(x: Array) -> Array:
    return jnp.multiply(x, hard_sigmoid(x))


def hard_silu(x: ArrayLike) -> Array:
    """x · hard_sigmoid(x), also called hard swish.

    Args:
      x: an array of real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.hard_silu(np.float32([-5.0, 1.5, 5.0]))
      Array([-0.   ,  1.125,  5.   ], dtype=float32)

    Source: Howard et al., "Searching for MobileNetV3", 2019.
    """
    return _hard_silu(x)


hard_swish = hard_silu
