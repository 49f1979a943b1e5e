"""Where the extremes of arrays are."""

from operator import index
from typing import Any

import ricci_lax as lax
from ricci_ir import (
    python_scalar_dtype,
)

from ._creation import asarray
from ._promotion import (
    operands,
)
from ._reductions import keep_axes, no_out, reduced_axes


def _where_extreme(name: str, a: Any, axis: Any, out: Any, keepdims: Any, find: Any) -> Any:
    no_out(name, out)
    (a,) = operands(name, a)
    a = asarray(a)
    shape = a.shape
    if axis is None:
        along = a if len(shape) == 1 else lax.reshape(a, (a.size,))
        axis = 0
    else:
        along = a
        (axis,) = reduced_axes(name, index(axis), len(shape))
    if along.shape[axis] == 0:
        raise ValueError(f"{name}: an array of shape {shape} has no elements to choose from.")
    result = find.bind(along, axes=(axis,), index_dtype=python_scalar_dtype(int))
    if not keepdims:
        return result
    axes = (axis,) if along is a and len(shape) else tuple(range(len(shape)))
    return keep_axes(result, axes)


def argmax(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """The index of the first largest element; of a NaN, if there is one.

    Args:
      a: an array.
      axis: the axis to search; without it, the index is into the flattened array.
      out: not supported.
      keepdims: whether the axis stays, with size 1.

    Raises:
      TypeError: if ``a`` is no array.
      ValueError: if there are no elements, or the axis is out of bounds.

    Example:
      >>> import ricci_numpy as jnp
      >>> int(jnp.argmax(jnp.array([3, 5, 4])))
      1

    Source: numpy.argmax.
    """
    return _where_extreme("argmax", a, axis, out, keepdims, lax.argmax_p)


def argmin(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """The index of the first smallest element; see ``argmax``.

    Example:
      >>> import ricci_numpy as jnp
      >>> int(jnp.argmin(jnp.array([3, 5, 2])))
      2

    Source: numpy.argmin.
    """
    return _where_extreme("argmin", a, axis, out, keepdims, lax.argmin_p)
