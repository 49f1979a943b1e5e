"""Slices at a computed position along one axis: reading and replacing them."""

import ricci_ir as ir
from ricci_lax.structure._broadcasting import expand_dims
from ricci_lax.structure._operand_types import array_aval, canonical_axis, shape_of
from ricci_lax.structure._reshaping import squeeze

from ._dynamic_slicing import dynamic_slice, dynamic_update_slice

__all__ = ["dynamic_index_in_dim", "dynamic_slice_in_dim"]
__all__ += ["dynamic_update_index_in_dim", "dynamic_update_slice_in_dim"]


def _along(axis: int, ndim: int, start: ir.ArrayLike) -> list[ir.ArrayLike]:
    """``start`` at one axis, and zeros of its dtype at the others."""
    aval = array_aval(start)
    indices: list[ir.ArrayLike] = [ir.exact_scalar(0, aval.dtype)] * ndim
    indices[axis] = start
    return indices


def dynamic_slice_in_dim(
    operand: ir.ArrayLike,
    start_index: ir.ArrayLike,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> ir.Array:
    """A part of an array, of fixed size, at a computed position along one axis.

    Args:
      operand: an array of any dtype.
      start_index: where the part starts, an integer scalar. It is moved to lie within the array.
      slice_size: its size along the axis.
      axis: the axis.
      allow_negative_indices: whether a negative position counts from the end.

    Returns:
      An array of the operand's shape, but for ``slice_size`` along the axis.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> x = jnp.arange(6).reshape(2, 3)
      >>> lax.dynamic_slice_in_dim(x, 1, 2, axis=1).tolist()
      [[1, 2], [4, 5]]
    """
    shape = shape_of(operand)
    axis = canonical_axis(axis, len(shape))
    sizes = (*shape[:axis], ir.as_size(slice_size), *shape[axis + 1 :])
    indices = _along(axis, len(shape), start_index)
    return dynamic_slice(operand, indices, sizes, allow_negative_indices=allow_negative_indices)


def dynamic_update_slice_in_dim(
    operand: ir.ArrayLike,
    update: ir.ArrayLike,
    start_index: ir.ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> ir.Array:
    """An array with a part of it, at a computed position along one axis, replaced.

    Args:
      operand: an array of any dtype.
      update: the part, of the same dtype and rank.
      start_index: where it starts, an integer scalar. It is moved to lie within the array.
      axis: the axis.
      allow_negative_indices: whether a negative position counts from the end.

    Returns:
      An array of the operand's shape and dtype.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> x = jnp.zeros((2, 3), int)
      >>> lax.dynamic_update_slice_in_dim(x, jnp.array([[7], [8]]), 1, axis=1).tolist()
      [[0, 7, 0], [0, 8, 0]]
    """
    ndim = len(shape_of(operand))
    indices = _along(canonical_axis(axis, ndim), ndim, start_index)
    return dynamic_update_slice(
        operand, update, indices, allow_negative_indices=allow_negative_indices
    )


@ir.composite("dynamic_index_in_dim")
def _dynamic_index(operand, i, *, axis, keepdims, negative):
    part = dynamic_slice_in_dim(operand, i, 1, axis, allow_negative_indices=negative)
    return part if keepdims else squeeze(part, (axis,))


@ir.dispatched(*("axis", "keepdims", "allow_negative_indices"), integers=("index",))
def dynamic_index_in_dim(
    operand: ir.ArrayLike,
    index: ir.ArrayLike,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> ir.Array:
    """One computed position of an array along an axis.

    Args:
      operand: an array of any dtype.
      index: an integer scalar; it is moved into bounds.
      axis: the axis.
      keepdims: whether the result keeps the axis, with size 1.
      allow_negative_indices: whether a negative position counts from the end.

    Returns:
      An array of the operand's shape, with size 1 along the axis, or without it.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> x = jnp.arange(6).reshape(2, 3)
      >>> lax.dynamic_index_in_dim(x, 2, axis=1, keepdims=False).tolist()
      [2, 5]
    """
    axis = canonical_axis(axis, len(shape_of(operand)))
    negative = bool(allow_negative_indices)
    return _dynamic_index(operand, index, axis=axis, keepdims=bool(keepdims), negative=negative)


@ir.composite("dynamic_update_index_in_dim")
def _dynamic_update_index(operand, update, i, *, axis, negative):
    if len(shape_of(update)) != len(shape_of(operand)):
        update = expand_dims(update, (axis,))
    return dynamic_update_slice_in_dim(operand, update, i, axis, allow_negative_indices=negative)


@ir.dispatched("axis", "allow_negative_indices", integers=("index",))
def dynamic_update_index_in_dim(
    operand: ir.ArrayLike,
    update: ir.ArrayLike,
    index: ir.ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> ir.Array:
    """An array with one computed position along an axis replaced.

    Args:
      operand: an array of any dtype.
      update: the value to write, of the same dtype; with or without the axis.
      index, axis, allow_negative_indices: as in ``dynamic_index_in_dim``.

    Returns:
      An array of the operand's shape and dtype.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> x = jnp.zeros((2, 3), int)
      >>> lax.dynamic_update_index_in_dim(x, jnp.array([1, 2, 3]), 1, axis=0).tolist()
      [[0, 0, 0], [1, 2, 3]]
    """
    axis = canonical_axis(axis, len(shape_of(operand)))
    negative = bool(allow_negative_indices)
    return _dynamic_update_index(operand, update, index, axis=axis, negative=negative)
