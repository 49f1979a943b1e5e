"""Window functions: weights that fall off towards both ends."""

from collections.abc import Callable
from operator import index

import numpy as np

import ricci_lax as lax
from ricci_ir import Array, ArrayLike, python_scalar_dtype
from ricci_numpy._promotion import strong_constant
from ricci_numpy.arrays._filling import ones
from ricci_numpy.ufuncs._binary import divide, multiply, subtract
from ricci_numpy.ufuncs._signals import i0

__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser"]


def _weights(M: int, weights: Callable[[Array, int], Array]) -> Array:
    size = index(M)
    if size <= 1:
        return ones(size)
    return weights(lax.iota(python_scalar_dtype(float), size), size)


def _cosine(n: Array, size: int, turns: int = 1) -> Array:
    angle = lax.div(multiply(2 * np.pi * turns, n), strong_constant(n.dtype, size - 1))
    return lax.cos(angle)


def bartlett(M: int) -> Array:
    """A triangle of ``M`` weights that starts and ends with 0.

    Args:
      M: how many.

    Returns:
      A vector of floats.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.bartlett(5).tolist()
      [0.0, 0.5, 1.0, 0.5, 0.0]

    Source: numpy.bartlett.
    """

    def weights(n: Array, size: int) -> Array:
        distance = lax.abs(subtract(multiply(2.0, n), float(size - 1)))
        return subtract(1.0, divide(distance, float(size - 1)))

    return _weights(M, weights)


def hanning(M: int) -> Array:
    """A raised cosine of ``M`` weights that starts and ends with 0.

    Args:
      M: how many.

    Returns:
      A vector of floats.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.hanning(3).tolist()
      [0.0, 1.0, 0.0]

    Source: numpy.hanning.
    """
    return _weights(M, lambda n, size: multiply(0.5, subtract(1.0, _cosine(n, size))))


def hamming(M: int) -> Array:
    """A raised cosine of ``M`` weights on a pedestal of 0.08.

    Args:
      M: how many.

    Returns:
      A vector of floats.

    Example:
      >>> import ricci.numpy as jnp
      >>> [round(w, 2) for w in jnp.hamming(3).tolist()]
      [0.08, 1.0, 0.08]

    Source: numpy.hamming.
    """
    return _weights(M, lambda n, size: subtract(0.54, multiply(0.46, _cosine(n, size))))


def blackman(M: int) -> Array:
    """A sum of cosines of ``M`` weights, with little leakage.

    Args:
      M: how many.

    Returns:
      A vector of floats.

    Example:
      >>> import ricci.numpy as jnp
      >>> round(float(jnp.blackman(3)[1]), 4)
      1.0

    Source: numpy.blackman.
    """

    def weights(n: Array, size: int) -> Array:
        first = subtract(0.42, multiply(0.5, _cosine(n, size)))
        return lax.add(first, multiply(0.08, _cosine(n, size, 2)))

    return _weights(M, weights)


def kaiser(M: int, beta: ArrayLike) -> Array:
    """A window of ``M`` weights made of Bessel functions; larger ``beta`` makes it narrower.

    Args:
      M: how many.
      beta: the shape; 0 gives a rectangle.

    Returns:
      A vector of floats.

    Example:
      >>> import ricci.numpy as jnp
      >>> round(float(jnp.kaiser(3, 14.0)[1]), 3)
      1.0

    Source: numpy.kaiser.
    """

    def weights(n: Array, size: int) -> Array:
        half = 0.5 * (size - 1)
        place = divide(subtract(n, half), half)
        return divide(i0(multiply(beta, lax.sqrt(subtract(1.0, lax.square(place))))), i0(beta))

    return _weights(M, weights)
