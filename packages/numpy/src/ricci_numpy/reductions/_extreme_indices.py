"""The indices of the largest and the smallest elements."""

from collections.abc import Callable
from operator import index
from typing import Any

import ricci_lax as lax
from ricci_ir import Array, ArrayLike, Primitive, dispatched, inlined, python_scalar_dtype
from ricci_numpy._promotion import no_out, operands
from ricci_numpy.arrays._creation import asarray

from ._reduced_axes import keep_axes, reduced_axes

__all__ = ["argmax", "argmin"]


def index_of_extreme(
    name: str,
    a: ArrayLike,
    axis: int | None,
    out: None,
    keepdims: bool | None,
    step: Callable[..., Array],
) -> Array:
    """The index of an extreme, after the checks of ``argmax``.

    Args:
      name: the function, for messages.
      a, axis, out, keepdims: its arguments; see ``argmax``.
      step: finds the index in an array, given ``axis`` and ``keepdims``.
    """
    no_out(name, out)
    (a,) = operands(name, a)
    a = asarray(a)
    shape = a.shape
    if axis is not None:
        (axis,) = reduced_axes(name, index(axis), len(shape))
    if not (a.size if axis is None else shape[axis]):
        raise ValueError(
            f"{name}: an empty array, of shape {shape}, has no elements to choose from."
        )
    return step(a, axis=axis, keepdims=bool(keepdims))


def _index(a: Array, find: Primitive, *, axis: int | None, keepdims: bool) -> Array:
    # Without an axis the index is that of the flattened array.
    along = a if axis is not None or a.ndim == 1 else lax.reshape(a, (a.size,))
    result = find.bind(along, axes=(axis or 0,), index_dtype=python_scalar_dtype(int))
    if not keepdims:
        return result
    return keep_axes(result, tuple(range(a.ndim)) if axis is None else (axis,))


@inlined("argmax")
def _argmax(a: Array, **settings: Any) -> Array:
    return _index(a, lax.argmax_p, **settings)


@inlined("argmin")
def _argmin(a: Array, **settings: Any) -> Array:
    return _index(a, lax.argmin_p, **settings)


@dispatched("axis", "out", "keepdims")
def argmax(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """The index of the first largest element; of a NaN, if there is one.

    Args:
      a: an array.
      axis: the axis to search; without it, the index is into the flattened array.
      out: not supported.
      keepdims: whether the axis stays, with size 1.

    Returns:
      An array of integers of the shape of ``a`` without the axis.

    Raises:
      TypeError: if ``a`` is not an array.
      ValueError: if there are no elements, or the axis is out of bounds.

    Among equal elements the first counts. The index has no gradient; ``nn.softmax`` is a
    differentiable replacement.

    Example:
      >>> import ricci.numpy as jnp
      >>> x = jnp.array([[3, 5, 5], [4, 1, 2]])
      >>> jnp.argmax(x, axis=1).tolist()
      [1, 0]
      >>> index = jnp.argmax(x)
      >>> int(index), [int(i) for i in jnp.unravel_index(index, x.shape)]
      (1, [0, 1])

    See also:
      ``max``; ``lax.top_k``, the largest few.

    Source: numpy.argmax.
    """
    return index_of_extreme("argmax", a, axis, out, keepdims, _argmax)


@dispatched("axis", "out", "keepdims")
def argmin(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """The index of the first smallest element; see ``argmax``.

    Args:
      a, axis, out, keepdims: as for ``argmax``.

    Returns:
      An array of integers of the shape of ``a`` without the axis.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.argmin(jnp.array([[3, 5, 3], [4, 1, 2]]), axis=1).tolist()
      [0, 1]

    Source: numpy.argmin.
    """
    return index_of_extreme("argmin", a, axis, out, keepdims, _argmin)
