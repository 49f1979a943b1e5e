"""Convolution and correlation of sequences, and window functions."""

from collections.abc import Callable
from operator import index

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_numpy._promotion import promote_args_inexact, strong_constant
from ricci_numpy.arrays._filling import ones
from ricci_numpy.ufuncs._binary import divide, multiply, subtract
from ricci_numpy.ufuncs._signals import i0

__all__ = ["bartlett", "blackman", "convolve", "correlate", "hamming", "hanning", "kaiser"]


@ir.dispatched("mode", "precision", "preferred_element_type")
def convolve(
    a: ir.ArrayLike,
    v: ir.ArrayLike,
    mode: str = "full",
    *,
    precision: lax.PrecisionLike = None,
    preferred_element_type: ir.DTypeLike | None = None,
) -> ir.Array:
    """The discrete convolution of two sequences: sums of products with the second one reversed.

    Args:
      a, v: arrays of rank 1, of sizes n and m; integers are taken as floating.
      mode: ``"full"`` for all n + m - 1 overlaps, ``"same"`` for max(n, m) of them about the
        middle, ``"valid"`` for those where one lies within the other.
      precision: of the products, as in ``ricci_lax.conv_general_dilated``.
      preferred_element_type: the dtype to add up in.

    Returns:
      A vector of the promoted float or complex dtype.

    Raises:
      TypeError: if an operand is not an array or scalar.
      ValueError: if one is empty or not of rank 1, or the mode is another.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.convolve(jnp.array([1.0, 2.0, 3.0]), jnp.array([0.0, 1.0])).tolist()
      [0.0, 1.0, 2.0, 3.0]
      >>> smoothed = jnp.convolve(jnp.array([1.0, 5.0, 3.0]), jnp.ones(2) / 2, mode="valid")
      >>> smoothed.tolist()
      [3.0, 4.0]

    See also:
      ``correlate``; ``scipy.signal.convolve``, of more dimensions.

    Source: numpy.convolve.
    """
    operands = _sequences("convolve", a, v)
    return _convolve(
        *operands,
        mode=mode,
        precision=precision,
        preferred=_checked("convolve", mode, preferred_element_type),
    )


@ir.dispatched("mode", "precision", "preferred_element_type")
def correlate(
    a: ir.ArrayLike,
    v: ir.ArrayLike,
    mode: str = "valid",
    *,
    precision: lax.PrecisionLike = None,
    preferred_element_type: ir.DTypeLike | None = None,
) -> ir.Array:
    """The cross-correlation of two sequences: sums of products with the second one conjugated.

    Args:
      a, v: arrays of rank 1; integers are taken as floating.
      mode, precision, preferred_element_type: as in ``convolve``.

    Returns:
      A vector of the promoted float or complex dtype.

    Raises:
      TypeError: if an operand is not an array or scalar.
      ValueError: if one is empty or not of rank 1, or the mode is another.

    Example:
      >>> import numpy as np
      >>> import ricci.numpy as jnp
      >>> jnp.correlate(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0])).tolist()
      [2.0, 3.0]

    Source: numpy.correlate.
    """
    operands = _sequences("correlate", a, v)
    return _correlate(
        *operands,
        mode=mode,
        precision=precision,
        preferred=_checked("correlate", mode, preferred_element_type),
    )


def _sequences(name: str, a: ir.ArrayLike, v: ir.ArrayLike) -> list[ir.Array]:
    x, y = promote_args_inexact(name, a, v)
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(
            f"{name}: the operands must be of rank 1, got shapes {x.shape} and {y.shape}."
        )
    if not (x.size and y.size):
        raise ValueError(
            f"{name}: the operands must have elements, got shapes {x.shape} and {y.shape}."
        )
    return [x, y]


def _checked(name: str, mode: str, preferred: ir.DTypeLike | None) -> np.dtype | None:
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"mode must be 'full', 'same' or 'valid', got {mode!r}.")
    return None if preferred is None else np.dtype(ir.explicit_dtype(preferred, name))


def _slid(
    x: ir.Array, y: ir.Array, mode: str, precision: lax.PrecisionLike, preferred: np.dtype | None
) -> ir.Array:
    """The sums of products as the shorter ``y`` slides along ``x``."""
    size = y.shape[0]
    # By how many positions the shorter sequence reaches over each end of the longer one.
    padding = {
        "valid": (0, 0),
        "same": (size // 2, size - size // 2 - 1),
        "full": (size - 1, size - 1),
    }[mode]
    # The operands are floating, so a result in integers is converted from a floating one.
    is_integer = preferred is not None and preferred.kind in "iu"
    integer = preferred if is_integer else None
    sums = lax.conv_general_dilated(
        lax.expand_dims(x, (0, 1)),
        lax.expand_dims(y, (0, 1)),
        (1,),
        [padding],
        precision=precision,
        preferred_element_type=preferred if integer is None else None,
    )
    return sums if integer is None else lax.convert_element_type(sums, integer)


@ir.composite("convolve")
def _convolve(
    a: ir.Array, v: ir.Array, *, mode: str, precision: lax.PrecisionLike, preferred: np.dtype | None
) -> ir.Array:
    # Symbolic sizes are not compared: with full padding either operand may slide.
    if mode != "full" or ir.is_static_shape((a.shape[0], v.shape[0])):
        a, v = (v, a) if a.shape[0] < v.shape[0] else (a, v)
    return lax.squeeze(_slid(a, lax.rev(v, (0,)), mode, precision, preferred), (0, 1))


@ir.composite("correlate")
def _correlate(
    a: ir.Array, v: ir.Array, *, mode: str, precision: lax.PrecisionLike, preferred: np.dtype | None
) -> ir.Array:
    v = lax.conj(v) if lax.dtype(v).kind == "c" else v
    if a.shape[0] >= v.shape[0]:
        return lax.squeeze(_slid(a, v, mode, precision, preferred), (0, 1))
    # The shorter operand must slide along the longer one. Exchanging the operands reverses the
    # result.
    turned = lax.rev(_slid(v, a, mode, precision, preferred), (2,))
    return lax.squeeze(turned, (0, 1))


def _weights(M: int, weights: Callable[[ir.Array, int], ir.Array]) -> ir.Array:
    size = index(M)
    if size <= 1:
        return ones(size)
    return weights(lax.iota(ir.python_scalar_dtype(float), size), size)


def _cosine(n: ir.Array, size: int, turns: int = 1) -> ir.Array:
    angle = lax.div(multiply(2 * np.pi * turns, n), strong_constant(n.dtype, size - 1))
    return lax.cos(angle)


def bartlett(M: int) -> ir.Array:
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

    def weights(n: ir.Array, size: int) -> ir.Array:
        distance = lax.abs(subtract(multiply(2.0, n), float(size - 1)))
        return subtract(1.0, divide(distance, float(size - 1)))

    return _weights(M, weights)


def hanning(M: int) -> ir.Array:
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


def hamming(M: int) -> ir.Array:
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


def blackman(M: int) -> ir.Array:
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

    def weights(n: ir.Array, size: int) -> ir.Array:
        first = subtract(0.42, multiply(0.5, _cosine(n, size)))
        return lax.add(first, multiply(0.08, _cosine(n, size, 2)))

    return _weights(M, weights)


def kaiser(M: int, beta: ir.ArrayLike) -> ir.Array:
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

    def weights(n: ir.Array, size: int) -> ir.Array:
        half = 0.5 * (size - 1)
        place = divide(subtract(n, half), half)
        return divide(i0(multiply(beta, lax.sqrt(subtract(1.0, lax.square(place))))), i0(beta))

    return _weights(M, weights)
