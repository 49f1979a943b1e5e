"""Functions that change an array's shape and leave its elements alone."""

from collections.abc import Iterable, Sequence
from math import prod
from operator import index as as_int
from typing import Any, SupportsIndex, overload

import numpy as np

import ricci_lax as lax
from ricci_ir import (
    Array,
    ArrayLike,
    Axis,
    Composite,
    Shape,
    ShapeLike,
    as_array,
    composite,
    is_recording,
)
from ricci_lax.authoring import resolved_by
from ricci_numpy._axes import axis_tuple
from ricci_numpy._promotion import check_arraylike, operands
from ricci_numpy.arrays._filling import as_shape
from ricci_numpy.arrays._selection import broadcast, broadcast_shape, common_sharding

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "expand_dims",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "ravel",
    "reshape",
    "rollaxis",
    "squeeze",
    "swapaxes",
    "transpose",
]


def canonical_axis(axis: SupportsIndex, ndim: int) -> int:
    """An axis counted from the start.

    Raises:
      numpy.exceptions.AxisError: if there is no such axis.
      TypeError: if it is no int.
    """
    number = as_int(axis)
    if not -ndim <= number < ndim:
        raise np.exceptions.AxisError(number, ndim)
    return number + ndim if number < 0 else number


def canonical_axes(
    axes: SupportsIndex | Iterable[SupportsIndex], ndim: int, name: str = "axis"
) -> tuple[int, ...]:
    """Axes, given as an int or a sequence, counted from the start.

    Raises:
      ValueError: if one is given twice, or does not exist.
    """
    axes = axis_tuple(axes)
    found = tuple(canonical_axis(axis, ndim) for axis in axes)
    if len(set(found)) != len(found):
        raise ValueError(f"{name}: {axes} names an axis twice.")
    return found


def _as_array(name: str, x: ArrayLike) -> Any:
    """The operand of the function ``name``, checked."""
    if hasattr(type(x), "aval"):
        return x
    return operands(name, x)[0]


def _inferred(shape: Shape, sizes: Shape) -> Shape:
    """``sizes`` with -1 replaced by the size that keeps the number of elements."""
    if -1 not in sizes:
        return sizes
    if sizes.count(-1) > 1:
        raise TypeError(
            f"reshape: {sizes} leaves several sizes to be worked out; write -1 for one of them at "
            "most."
        )
    known = 1
    for n in sizes:
        if n != -1:
            known *= n
    total = prod(shape)
    if (known == 0 and total) or (known and total % known):
        raise TypeError(
            f"reshape: {total} elements, of shape {shape}, cannot fill shape {sizes}: {known} does "
            f"not divide {total}."
        )
    return tuple((total // known if known else 0) if n == -1 else n for n in sizes)


def _columnwise(a: ArrayLike, own: Shape, sizes: Shape) -> Array:
    """Another shape, the first dimension changing fastest in both."""
    result = lax.reshape(a, sizes[::-1], tuple(range(len(own)))[::-1])
    return lax.transpose(result, tuple(range(len(sizes)))[::-1])


def reshape(
    a: ArrayLike,
    shape: ShapeLike,
    order: str = "C",
    *,
    copy: bool | None = None,
    out_sharding: object = None,
) -> Array:
    """An array's elements in another shape.

    Args:
      a: an array or scalar.
      shape: an int or a sequence of ints; one may be -1 and is then inferred.
      order: ``"C"`` reads and writes with the last dimension changing fastest, ``"F"`` the first.
      copy: ``False`` is refused, since a view cannot be promised.
      out_sharding: the result's sharding.

    Returns:
      An array of the same elements, in the same order.

    Raises:
      TypeError: if the sizes do not fit, or ``a`` is no array.
      NotImplementedError: for ``copy=False`` and orders that depend on memory.
      ValueError: if the sizes do not fit, or the order is unknown.

    Example:
      >>> import ricci.numpy as jnp
      >>> x = jnp.arange(6)
      >>> jnp.reshape(x, (2, -1)).tolist(), x.reshape(3, 2, order="F").tolist()
      ([[0, 1, 2], [3, 4, 5]], [[0, 3], [1, 4], [2, 5]])
      >>> x.reshape(2, 3).reshape(3, 2).tolist()  # no transposition
      [[0, 1], [2, 3], [4, 5]]

    See also:
      ``transpose``, which exchanges dimensions.

    Source: numpy.reshape.
    """
    if copy is False:
        raise NotImplementedError("reshape with copy=False: arrays have no views. Leave it out.")
    a = _as_array("reshape", a)
    own = np.shape(a)
    sizes = _inferred(own, as_shape(shape))
    if order == "C":
        result = lax.reshape(a, sizes, out_sharding=out_sharding)
    elif order == "F":
        result = resolved_by(out_sharding, lambda: _columnwise(a, own, sizes))
    elif order == "A":
        raise NotImplementedError("reshape with order='A': arrays have no memory order.")
    else:
        raise ValueError(
            f"reshape: there is no order {order!r}; 'C' puts the last axis innermost, 'F' the "
            "first."
        )
    return result


def ravel(a: ArrayLike, order: str = "C", *, out_sharding: object = None) -> Array:
    """An array's elements in one dimension.

    Args:
      a: an array or scalar.
      order, out_sharding: see ``reshape``.

    Returns:
      A vector of the same elements.

    Raises:
      TypeError: if ``a`` is no array.
      NotImplementedError: for orders that depend on memory, ``"A"`` and ``"K"``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.ravel(jnp.ones((2, 2))).tolist()
      [1.0, 1.0, 1.0, 1.0]

    Source: numpy.ravel.
    """
    if order == "K":
        raise NotImplementedError("ravel with order='K': arrays have no memory order.")
    a = _as_array("ravel", a)
    return reshape(a, (prod(np.shape(a)),), order, out_sharding=out_sharding)


def squeeze(a: ArrayLike, axis: Axis = None) -> Array:
    """An array without dimensions of size 1: all, or those of ``axis``.

    Args:
      a: an array or scalar.
      axis: an int or a sequence of ints, dimensions of size 1.

    Returns:
      An array of the same elements.

    Raises:
      ValueError: if a dimension of ``axis`` does not have size 1, or does not exist.
      TypeError: if ``a`` is no array.

    Without ``axis`` a batch of one loses its batch dimension, too: name the axis.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.squeeze(jnp.ones((1, 2, 1))).shape
      (2,)

    Source: numpy.squeeze.
    """
    a = _as_array("squeeze", a)
    if axis is None:
        axis = tuple(i for i, n in enumerate(np.shape(a)) if n == 1)
    return lax.squeeze(a, axis_tuple(axis))


def expand_dims(a: ArrayLike, axis: int | Sequence[int]) -> Array:
    """An array with new dimensions of size 1, at these positions of the result.

    Args:
      a: an array or scalar.
      axis: an int or a sequence of ints, positions in the result.

    Returns:
      An array of the same elements.

    Raises:
      ValueError: if a position is given twice, or does not exist.
      TypeError: if ``a`` is no array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.expand_dims(jnp.ones(2), (0, -1)).shape
      (1, 2, 1)

    See also:
      ``x[None, :, None]``, the same by indexing; ``squeeze``, the inverse.

    Source: numpy.expand_dims.
    """
    a = _as_array("expand_dims", a)
    return lax.expand_dims(a, axis_tuple(axis))


def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """An array with its dimensions in another order, by default backwards.

    Args:
      a: an array or scalar.
      axes: for each dimension of the result, the one of ``a`` that it is.

    Returns:
      An array of the same elements.

    Raises:
      ValueError: if ``axes`` is not a permutation.
      TypeError: if ``a`` is no array.

    A vector stays a vector: a column is ``v[:, None]``. Of a stack of matrices all dimensions are
    reversed; each matrix is transposed by ``x.mT``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.transpose(jnp.ones((2, 3, 4)), (1, 0, 2)).shape
      (3, 2, 4)

    Source: numpy.transpose.
    """
    a = _as_array("transpose", a)
    ndim = np.ndim(a)
    if axes is None:
        return lax.transpose(a, tuple(range(ndim))[::-1])
    order = canonical_axes(tuple(axes), ndim, "axes")
    if len(order) != ndim:
        raise ValueError(f"axes must name all {ndim} dimensions of the array, got {axes}.")
    return lax.transpose(a, order)


def permute_dims(a: ArrayLike, /, axes: Sequence[int]) -> Array:
    """An array with its dimensions in another order; see ``transpose``.

    Args:
      a, axes: as for ``transpose``.

    Returns:
      An array of the same elements.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.permute_dims(jnp.ones((2, 3)), (1, 0)).shape
      (3, 2)

    Source: numpy.permute_dims.
    """
    return transpose(a, axes)


def matrix_transpose(x: ArrayLike, /) -> Array:
    """An array with its last two dimensions exchanged.

    Args:
      x: an array of shape (..., rows, columns).

    Returns:
      An array of shape (..., columns, rows).

    Raises:
      ValueError: if it has fewer than two.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.matrix_transpose(jnp.ones((2, 3, 4))).shape
      (2, 4, 3)

    Source: numpy.matrix_transpose.
    """
    x = _as_array("matrix_transpose", x)
    ndim = np.ndim(x)
    if ndim < 2:
        raise ValueError(f"matrix_transpose needs at least two dimensions, got {ndim}.")
    return lax.transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2))


def moveaxis(a: ArrayLike, source: int | Sequence[int], destination: int | Sequence[int]) -> Array:
    """An array with some dimensions moved, the others keeping their order.

    Args:
      a: an array.
      source, destination: the dimensions to move, and where to.

    Returns:
      An array of the same elements.

    Raises:
      ValueError: if a dimension does not exist or is given twice, or the numbers differ.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.moveaxis(jnp.ones((2, 3, 4)), 0, -1).shape
      (3, 4, 2)

    Source: numpy.moveaxis.
    """
    a = _as_array("moveaxis", a)
    ndim = np.ndim(a)
    old = canonical_axes(source, ndim, "source")
    new = canonical_axes(destination, ndim, "destination")
    if len(old) != len(new):
        raise ValueError(
            f"moveaxis: source and destination must name as many axes, got {source} and "
            f"{destination}."
        )
    order = [axis for axis in range(ndim) if axis not in old]
    for to, axis in sorted(zip(new, old, strict=True)):
        order.insert(to, axis)
    return lax.transpose(a, order)


def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """An array with two dimensions exchanged.

    Args:
      a: an array.
      axis1, axis2: the dimensions.

    Returns:
      An array of the same elements.

    Raises:
      ValueError: if one does not exist.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.swapaxes(jnp.ones((2, 3, 4)), 0, 2).shape
      (4, 3, 2)

    Source: numpy.swapaxes.
    """
    a = _as_array("swapaxes", a)
    ndim = np.ndim(a)
    order = list(range(ndim))
    i, j = canonical_axis(axis1, ndim), canonical_axis(axis2, ndim)
    order[i], order[j] = order[j], order[i]
    return lax.transpose(a, order)


def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    """An array with one dimension moved to stand before ``start``.

    Args:
      a: an array.
      axis: the dimension that is moved.
      start: the dimension that it then stands before.

    Returns:
      An array of the same elements.

    Raises:
      ValueError: if one does not exist.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.rollaxis(jnp.ones((2, 3, 4)), 2).shape
      (4, 2, 3)

    See also:
      ``moveaxis``, which is easier to read.

    Source: numpy.rollaxis.
    """
    a = _as_array("rollaxis", a)
    ndim = np.ndim(a)
    axis = canonical_axis(axis, ndim)
    start = as_int(start)
    if not -ndim <= start <= ndim:
        raise ValueError(
            f"rollaxis: start={start} is no place among {ndim} axes; it goes from {-ndim} to "
            f"{ndim}."
        )
    start = start + ndim if start < 0 else start
    return moveaxis(a, axis, start - 1 if start > axis else start)


def broadcast_to(array: ArrayLike, shape: ShapeLike, *, out_sharding: object = None) -> Array:
    """An array repeated to a shape that its own shape broadcasts to.

    Args:
      array: an array or scalar.
      shape: an int or a sequence of ints.
      out_sharding: the result's sharding.

    Returns:
      An array of that shape.

    Raises:
      ValueError: if the shapes do not fit.
      TypeError: if ``array`` is no array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.broadcast_to(jnp.arange(2), (2, 2)).tolist()
      [[0, 1], [0, 1]]
      >>> jnp.broadcast_to(jnp.arange(2)[:, None], (2, 3)).tolist()
      [[0, 0, 0], [1, 1, 1]]

    Source: numpy.broadcast_to.
    """
    array = _as_array("broadcast_to", array)
    shape = as_shape(shape)
    own = np.shape(array)
    if own == shape:
        return lax.broadcast_in_dim(array, shape, range(len(shape)), out_sharding=out_sharding)
    rank = len(own)
    if rank > len(shape) or any(
        n not in (1, m) for n, m in zip(own, shape[len(shape) - rank :], strict=True)
    ):
        raise ValueError(
            f"an array of shape {own} does not broadcast to shape {shape}: sizes, counted from the "
            "last, must be equal or 1."
        )
    dimensions = tuple(range(len(shape) - rank, len(shape)))
    return lax.broadcast_in_dim(array, shape, dimensions, out_sharding=out_sharding)


def broadcast_arrays(*args: ArrayLike) -> tuple[Array, ...]:
    """Arrays repeated to the shape that their shapes broadcast to.

    Args:
      *args: arrays or scalars.

    Returns:
      A list of arrays of one shape.

    Raises:
      ValueError: if the shapes do not broadcast.
      TypeError: if an argument is no array.

    Example:
      >>> import ricci.numpy as jnp
      >>> [x.shape for x in jnp.broadcast_arrays(jnp.ones(2), jnp.ones((3, 1)))]
      [(3, 2), (3, 2)]

    Source: numpy.broadcast_arrays.
    """
    if not args:
        return ()
    args = tuple(operands("broadcast_arrays", *args))
    shape = broadcast_shape("broadcast_arrays", *map(np.shape, args))
    sharding = common_sharding(len(shape), *args)
    return tuple(as_array(broadcast(x, shape, sharding)) for x in args)


def broadcast_shapes(*shapes: ShapeLike) -> Shape:
    """The shape that shapes broadcast to.

    Args:
      shapes: ints or sequences of ints.

    Returns:
      A tuple of ints.

    Raises:
      ValueError: if they do not broadcast.
      TypeError: if a size is no integer.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.broadcast_shapes((2, 1), 3)
      (2, 3)

    Source: numpy.broadcast_shapes.
    """
    if not shapes:
        return ()
    given = tuple(map(as_shape, shapes))
    if any(n < 0 for shape in given for n in shape):
        raise TypeError(f"broadcast_shapes: sizes must not be negative, got {given}.")
    return broadcast_shape("broadcast_shapes", *given)


@composite("atleast_1d")
def _atleast_1d(x: Array) -> Array:
    return x if np.ndim(x) else lax.expand_dims(x, (0,))


@composite("atleast_2d")
def _atleast_2d(x: Array) -> Array:
    return lax.expand_dims(x, tuple(range(2 - np.ndim(x)))) if np.ndim(x) < 2 else x


@composite("atleast_3d")
def _atleast_3d(x: Array) -> Array:
    new = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}.get(np.ndim(x))
    return lax.expand_dims(x, new) if new else x


def _at_least(step: Composite, rank: int, args: tuple[ArrayLike, ...]) -> Array | list[Array]:
    """One array, or a list of several, with at least ``rank`` dimensions, which ``step`` adds."""
    check_arraylike(step.name, *args)
    # An array that has them is returned as it is; traced programs show the call, as JAX's do.
    found = [
        x if np.ndim(x) >= rank and hasattr(type(x), "aval") and not is_recording() else step(x)
        for x in operands(step.name, *args)
    ]
    return found[0] if len(found) == 1 else found


@overload
def atleast_1d(x: ArrayLike, /) -> Array: ...
@overload
def atleast_1d(x: ArrayLike, y: ArrayLike, /, *arys: ArrayLike) -> list[Array]: ...
def atleast_1d(*arys: ArrayLike) -> Array | list[Array]:
    """Arrays with one dimension at least; a list of them for several arguments.

    Args:
      *arys: arrays or scalars.

    Returns:
      An array, or a list of arrays for several arguments.

    Raises:
      TypeError: if an argument is no array or scalar.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.atleast_1d(3.0).shape
      (1,)

    Source: numpy.atleast_1d.
    """
    return _at_least(_atleast_1d, 1, arys)


@overload
def atleast_2d(x: ArrayLike, /) -> Array: ...
@overload
def atleast_2d(x: ArrayLike, y: ArrayLike, /, *arys: ArrayLike) -> list[Array]: ...
def atleast_2d(*arys: ArrayLike) -> Array | list[Array]:
    """Arrays with two dimensions at least, new ones in front; a list for several arguments.

    Args:
      *arys: arrays or scalars.

    Returns:
      An array, or a list of arrays for several arguments.

    Raises:
      TypeError: if an argument is no array or scalar.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.atleast_2d(jnp.ones(3)).shape
      (1, 3)

    Source: numpy.atleast_2d.
    """
    return _at_least(_atleast_2d, 2, arys)


@overload
def atleast_3d(x: ArrayLike, /) -> Array: ...
@overload
def atleast_3d(x: ArrayLike, y: ArrayLike, /, *arys: ArrayLike) -> list[Array]: ...
def atleast_3d(*arys: ArrayLike) -> Array | list[Array]:
    """Arrays with three dimensions at least; a list of them for several arguments.

    A vector of size ``n`` gets shape ``(1, n, 1)``, a matrix ``(m, n, 1)``.

    Args:
      *arys: arrays or scalars.

    Returns:
      An array, or a list of arrays for several arguments.

    Raises:
      TypeError: if an argument is no array or scalar.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.atleast_3d(jnp.ones(3)).shape
      (1, 3, 1)

    Source: numpy.atleast_3d.
    """
    return _at_least(_atleast_3d, 3, arys)


def reshape_method(
    x: Array, *sizes: ShapeLike, order: str = "C", out_sharding: object = None
) -> Array:
    """``x.reshape(2, 3)`` or ``x.reshape((2, 3))``: see ``reshape``."""
    shape: Any = sizes
    if len(sizes) == 1 and (
        isinstance(sizes[0], Sequence | np.ndarray) or hasattr(sizes[0], "aval")
    ):
        shape = sizes[0]
    return reshape(x, shape, order, out_sharding=out_sharding)


def transpose_method(x: Array, *args: Any) -> Array:
    """``x.transpose(1, 0)`` or ``x.transpose((1, 0))``: see ``transpose``."""
    if not args:
        return transpose(x)
    if len(args) == 1 and (args[0] is None or isinstance(args[0], Sequence)):
        return transpose(x, args[0])
    return transpose(x, args)
