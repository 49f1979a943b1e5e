"""Rectifiers: activations that suppress negative elements, sharply or smoothly.

Each is a composite, one call in jaxprs, or has a custom derivative rule. The identity
is here as well.
"""

from collections.abc import Callable
from typing import Any

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, composite, dispatched, get_aval

__all__ = ["celu", "elu", "identity", "leaky_relu", "relu", "relu6", "selu", "softplus"]
__all__ += ["sparse_plus", "squareplus"]


def typed_composite[**P](name: str) -> Callable[[Callable[P, Array]], Callable[P, Array]]:
    """``composite`` for a public function, preserving its type."""
    decorator: Any = composite(name)
    return decorator


def _tangent_where(g: Array, condition: Array) -> Array:
    """Select a tangent where a condition holds, else 0."""
    return lax.select(condition, g, lax.full_like(g, 0))


@lax.custom_jvp
@typed_composite("relu")
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


@lax.custom_jvp
@typed_composite("relu6")
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


@composite("identity")
def _identity(x: Array) -> Array:
    return x


def identity(x: ArrayLike) -> Array:
    """Return ``x`` unchanged, as an array.

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


@dispatched()
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
    # Halved first, since twice the largest number, the derivative of the square, is infinite.
    middle = lax.integer_pow(jnp.divide(jnp.add(x, 1.0), 2), 2)
    return jnp.where(low, 0.0, jnp.where(high, x, middle))


@dispatched()
def sparse_plus(x: ArrayLike) -> Array:
    """A variant of ``softplus``: 0 up to -1, ``x`` from 1 on, (x + 1)² / 4 between.

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


@composite("elu")
def _elu(x: Array, alpha: Array | float = 1.0) -> Array:
    # Where x is positive, expm1 is applied to 0: for a large x its derivative is infinite, and
    # infinity times the 0 of the selection is NaN (the double-where fix).
    chosen = jnp.greater(x, 0)
    safe = jnp.where(jnp.greater(x, 0), 0.0, x)
    return jnp.where(chosen, x, jnp.multiply(alpha, jnp.expm1(safe)))


def _is_default(value: object, default: float) -> bool:
    """Whether a parameter has its default; it is then a constant, not an operand."""
    return type(value) is float and value == default


@dispatched()
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


@dispatched()
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


@composite("celu")
def _celu(x: Array, alpha: Array | float = 1.0) -> Array:
    positive = jnp.maximum(x, 0.0)
    negative = jnp.expm1(jnp.divide(jnp.minimum(x, 0.0), alpha))
    return jnp.add(positive, jnp.multiply(alpha, negative))


@dispatched()
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


@dispatched()
def selu(x: ArrayLike) -> Array:
    """The scaled exponential linear unit: an ``elu`` that preserves mean 0 and variance 1.

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


@composite("squareplus")
def _squareplus(x: Array, b: Array | int = 4) -> Array:
    return jnp.divide(jnp.add(x, jnp.sqrt(jnp.add(jnp.square(x), b))), 2)


@dispatched()
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
