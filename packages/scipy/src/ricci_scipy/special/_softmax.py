"""Softmax and its logarithm, over all axes by default."""

from ricci_ir import Array, ArrayLike
from ricci_numpy import authoring

__all__ = ["log_softmax", "softmax"]


def softmax(x: ArrayLike, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """exp(x), scaled to sum up to 1.

    Args:
      x: an array of real numbers.
      axis: an axis or several; ``None`` for all.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> import numpy as np
      >>> special.softmax(np.float32([0.0, 0.0]))
      Array([0.5, 0.5], dtype=float32)
    """
    return authoring.softmax(x, axis)


def log_softmax(x: ArrayLike, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """The logarithm of ``softmax``, without overflow.

    Args:
      x: an array of real numbers.
      axis: an axis or several; ``None`` for all.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> import numpy as np
      >>> special.log_softmax(np.float32([0.0, 0.0]))
      Array([-0.6931..., -0.6931...], dtype=float32)
    """
    return authoring.log_softmax(x, axis)
