"""Properties of an array: its rank, shape and size, and its values if it is not traced."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ricci_ir import ArrayLike, Axis, ConcretizationTypeError, Tracer
from ricci_numpy._promotion import operands

__all__ = ["ndim", "shape", "size"]


def concrete_values(x: ArrayLike, advice: str) -> np.ndarray:
    """Values of an array, for functions whose result has a size that depends on them.

    Raises:
      ConcretizationTypeError: if ``x`` is traced; the message is ``advice``.
    """
    value = x.concrete() if isinstance(x, Tracer) else x
    if value is None:
        raise ConcretizationTypeError(x, advice)
    return np.asarray(value)


def _shape(name: str, a: Any) -> tuple[int, ...]:
    if hasattr(a, "shape"):  # a ShapeDtypeStruct has one, too
        return tuple(a.shape)
    try:
        (a,) = operands(name, a)
    except TypeError:  # as in NumPy, other objects such as None count as scalars
        pass
    return np.shape(a)


def ndim(a: ArrayLike) -> int:
    """The number of dimensions of an array.

    An object that is not an array, such as ``None``, counts as a scalar.

    Args:
      a: an array, a scalar, or any value.

    Returns:
      A Python int.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.ndim(jnp.ones((2, 3)))
      2

    Source: numpy.ndim.
    """
    return len(_shape("ndim", a))


def shape(a: ArrayLike) -> tuple[int, ...]:
    """The sizes of an array along each dimension.

    An object that is not an array, such as ``None``, counts as a scalar.

    Args:
      a: an array, a scalar, or any value.

    Returns:
      A tuple of ints.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.shape(jnp.ones((2, 3)))
      (2, 3)

    Source: numpy.shape.
    """
    return _shape("shape", a)


def size(a: ArrayLike, axis: Axis = None) -> int:
    """The number of elements of an array, in total or along axes.

    Args:
      a: an array or scalar.
      axis: an int or a sequence of ints.

    Returns:
      A Python int.

    Raises:
      ValueError: if an axis is out of bounds.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.size(jnp.ones((2, 3)), 1)
      3

    Source: numpy.size.
    """
    sizes = _shape("size", a)
    if axis is not None:
        axes = axis if isinstance(axis, Iterable) else (axis,)
        if not all(-len(sizes) <= i < len(sizes) for i in axes):
            raise ValueError(
                f"size: axis {axis} is out of bounds for an array of {len(sizes)} dimensions."
            )
        sizes = tuple(sizes[i] for i in axes)
    count = 1
    for n in sizes:
        count *= n
    return count
