"""Activation functions: what a neural network applies to each element between its layers.

Each is a composite, one call for a program, or has a derivative rule of its own.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, composite, get_aval
from ricci_lax import custom_jvp
from ricci_numpy.authoring import operands, to_inexact


def _composite[**P](name: str) -> Callable[[Callable[P, Array]], Callable[P, Array]]:
    """``composite`` for a public function, whose type is kept."""
    made: Any = composite(name)
    return made


def _tangent_where(g: Array, condition: Array) -> Array:
    """A tangent where a condition holds, 0 elsewhere."""
    return lax.select(condition, g, lax.full_like(g, 0))


@custom_jvp
@_composite("relu")
def relu(x: ArrayLike) -> Array:
    """The positive part of ``x``: max(x, 0). Its derivative at 0 is 0.

    Args:
      x: an array of real numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> ricci.nn.relu(jnp.array([-1.0, 0.0, 2.0])).tolist()
      [0.0, 0.0, 2.0]
      >>> float(ricci.grad(ricci.nn.relu)(0.0)), float(ricci.grad(lambda x: jnp.maximum(x, 0))(0.0))
      (0.0, 0.5)

    See also:
      ``gelu``, ``silu``, ``leaky_relu``.

    Source: Glorot, Bordes and Bengio, "Deep sparse rectifier neural networks", 2011.
    """
    return jnp.maximum(x, 0)


relu.defjvps(lambda g, y, x: _tangent_where(g, jnp.greater(x, 0)))


@custom_jvp
@_composite("relu6")
def relu6(x: ArrayLike) -> Array:
    """The positive part of ``x``, at most 6. Its derivative at 0 and at 6 is 0.

    Args:
      x: an array of real numbers.

    Returns:
      An array of the shape and dtype of ``x``.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.relu6(np.float32([-1.0, 2.0, 9.0]))
      Array([0., 2., 6.], dtype=float32)

    Source: Howard et al., "MobileNets", 2017.
    """
    return jnp.minimum(jnp.maximum(x, 0), 6.0)


relu6.defjvps(lambda g, y, x: _tangent_where(g, lax.bitwise_and(jnp.greater(x, 0), jnp.less(x, 6))))


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
      ``log_sigmoid``, which does not lose small probabilities.
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


@composite("identity")
def _identity(x: Array) -> Array:
    return x


def identity(x: ArrayLike) -> Array:
    """``x`` itself, as an array.

    Args:
      x: an array or a scalar.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if ``x`` is neither an array nor a scalar.

    Example:
      >>> import ricci
      >>> ricci.nn.identity(3)
      Array(3, dtype=int32, weak_type=True)
    """
    try:
        get_aval(x)
    except TypeError:
        raise TypeError(
            f"identity requires an array or a scalar, got {x!r} of type {type(x).__name__}."
        ) from None
    return _identity(x)


@composite("softplus")
def _softplus(x: Array) -> Array:
    return jnp.logaddexp(x, 0)


def softplus(x: ArrayLike) -> Array:
    """A smooth form of ``relu``: log(1 + exp(x)).

    Args:
      x: an array of real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.softplus(np.float32(0.0))
      Array(0.6931..., dtype=float32)

    Source: Dugas et al., "Incorporating second-order functional knowledge for better option
    pricing", 2001.
    """
    return _softplus(x)


@composite("sparse_plus")
def _sparse_plus(x: Array) -> Array:
    x = jnp.asarray(x)
    low, high = jnp.less_equal(x, -1.0), jnp.greater_equal(x, 1.0)
    middle = jnp.divide(lax.integer_pow(jnp.add(x, 1.0), 2), 4)
    return jnp.where(low, 0.0, jnp.where(high, x, middle))


def sparse_plus(x: ArrayLike) -> Array:
    """A form of ``softplus`` that is exactly 0 up to -1: ``x`` from 1 on, (x + 1)² / 4 between.

    Args:
      x: an array of real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.sparse_plus(np.float32([-2.0, 0.0, 3.0]))
      Array([0.  , 0.25, 3.  ], dtype=float32)

    Source: Martins and Astudillo, "From softmax to sparsemax", 2016.
    """
    return _sparse_plus(x)


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


@composite("elu")
def _elu(x: Array, alpha: Array | float = 1.0) -> Array:
    # Where x is positive, expm1 is given 0 instead. For a large x its derivative is infinite, and
    # infinity times the 0 of the selection is NaN.
    chosen = jnp.greater(x, 0)
    safe = jnp.where(jnp.greater(x, 0), 0.0, x)
    return jnp.where(chosen, x, jnp.multiply(alpha, jnp.expm1(safe)))


def _is_default(value: object, default: float) -> bool:
    """Whether a parameter was left out; it is then part of the program, not an operand."""
    return type(value) is float and value == default


def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """The exponential linear unit: x where positive, alpha (exp(x) - 1) elsewhere.

    Args:
      x: an array of real numbers.
      alpha: a scalar or array.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.elu(np.float32([-1.0, 2.0]))
      Array([-0.6321...,  2.        ], dtype=float32)

    Source: Clevert, Unterthiner and Hochreiter, "Fast and accurate deep network learning by
    exponential linear units", 2015.
    """
    return _elu(x) if _is_default(alpha, 1.0) else _elu(x, alpha)


@composite("leaky_relu")
def _leaky_relu(x: Array, negative_slope: Array | float = 1e-2) -> Array:
    return jnp.where(jnp.greater_equal(x, 0), x, jnp.multiply(negative_slope, x))


def leaky_relu(x: ArrayLike, negative_slope: ArrayLike = 1e-2) -> Array:
    """``x`` where positive, ``negative_slope`` times ``x`` elsewhere.

    Args:
      x: an array of real numbers.
      negative_slope: a scalar or array.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.leaky_relu(np.float32([-1.0, 2.0]))
      Array([-0.01,  2.  ], dtype=float32)

    Source: Maas, Hannun and Ng, "Rectifier nonlinearities improve neural network acoustic
    models", 2013.
    """
    return _leaky_relu(x) if _is_default(negative_slope, 1e-2) else _leaky_relu(x, negative_slope)


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


@composite("celu")
def _celu(x: Array, alpha: Array | float = 1.0) -> Array:
    positive = jnp.maximum(x, 0.0)
    negative = jnp.expm1(jnp.divide(jnp.minimum(x, 0.0), alpha))
    return jnp.add(positive, jnp.multiply(alpha, negative))


def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """The continuously differentiable ``elu``: alpha (exp(x / alpha) - 1) where negative.

    Args:
      x: an array of real numbers.
      alpha: a scalar or array.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.celu(np.float32([-1.0, 2.0]))
      Array([-0.6321...,  2.        ], dtype=float32)

    Source: Barron, "Continuously differentiable exponential linear units", 2017.
    """
    return _celu(x) if _is_default(alpha, 1.0) else _celu(x, alpha)


@composite("selu")
def _selu(x: Array) -> Array:
    return jnp.multiply(
        1.0507009873554804934193349852946, elu(x, 1.6732632423543772848170429916717)
    )


def selu(x: ArrayLike) -> Array:
    """The scaled exponential linear unit: an ``elu`` that keeps mean 0 and variance 1 over layers.

    Args:
      x: an array of real numbers.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.selu(np.float32([-1.0, 2.0]))
      Array([-1.1113...,  2.1014...], dtype=float32)

    Source: Klambauer, Unterthiner, Mayr and Hochreiter, "Self-normalizing neural networks", 2017.
    """
    return _selu(x)


def gelu(x: ArrayLike, approximate: bool = True) -> Array:
    """The Gaussian error linear unit: ``x`` times the normal distribution function of ``x``.

    Args:
      x: an array of real numbers.
      approximate: whether the distribution function is approximated with tanh, which is faster.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    The default is the approximation; the exact form differs from it by less than 0.001. Weights
    that were trained with one want the same one.

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
      axis: the axis that is halved.

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


@composite("squareplus")
def _squareplus(x: Array, b: Array | int = 4) -> Array:
    return jnp.divide(jnp.add(x, jnp.sqrt(jnp.add(jnp.square(x), b))), 2)


def squareplus(x: ArrayLike, b: ArrayLike = 4) -> Array:
    """A smooth form of ``relu`` without exponentials: (x + sqrt(x² + b)) / 2.

    Args:
      x: an array of real numbers.
      b: the smoothness, a scalar or array: with 0 it is ``relu``.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.squareplus(np.float32([0.0, 1.5]))
      Array([1., 2.], dtype=float32)

    Source: Barron, "Squareplus: a softplus-like algebraic rectifier", 2021.
    """
    return _squareplus(x) if type(b) is int and b == 4 else _squareplus(x, b)


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


@custom_jvp
@_composite("log1mexp")
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
