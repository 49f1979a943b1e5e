"""Functions that change an array's shape and leave its elements alone, or repeat them."""

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, overload

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_ir import Array, ArrayLike, Axis, Shape, ShapeLike
from ricci_lax.authoring import resolved_by
from ricci_numpy._promotion import axis_tuple, check_arraylike, operands
from ricci_numpy.arrays._broadcasting import as_shape, broadcast, broadcast_shape, common_sharding

__all__ = ["atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_shapes"]
__all__ += ["broadcast_to", "expand_dims", "ravel", "reshape", "squeeze"]


def checked_operand(name: str, x: ArrayLike) -> Any:
    """The operand of the function ``name``, checked."""
    return x if hasattr(type(x), "aval") else operands(name, x)[0]


def _inferred(shape: Shape, sizes: Shape) -> Shape:
    """``sizes`` with -1 replaced by the size that keeps the number of elements."""
    if -1 not in sizes:
        return sizes
    if sizes.count(-1) > 1:
        raise TypeError(
            f"reshape: {sizes} leaves several sizes to be worked out; write -1 for one of them at "
            "most."
        )
    product = prod(n for n in sizes if n != -1)
    total = prod(shape)
    # With another size of 0, any inferred size fits an array without elements: 0 is chosen.
    if (product == 0 and total) or (product and total % product):
        raise TypeError(
            f"reshape: {total} elements, of shape {shape}, cannot fill shape {sizes}: {product} "
            f"does not divide {total}."
        )
    return tuple((total // product if product else 0) if n == -1 else n for n in sizes)


def _columnwise(a: ArrayLike, old_shape: Shape, sizes: Shape) -> Array:
    """Another shape, the first dimension changing fastest in both."""
    # Reversing the dimensions turns column order into row order, in which reshape works; reversed
    # again afterwards.
    result = lax.reshape(a, sizes[::-1], tuple(range(len(old_shape)))[::-1])
    return lax.transpose(result, tuple(range(len(sizes)))[::-1])


def reshaped(
    name: str, a: ArrayLike, shape: ShapeLike, order: str = "C", out_sharding: object = None
) -> Array:
    """An operand of the function ``name`` in another shape, as an array."""
    a = checked_operand(name, a)
    old_shape = np.shape(a)
    sizes = _inferred(old_shape, as_shape(shape))
    if order == "C":
        return lax.reshape(a, sizes, out_sharding=out_sharding)
    if order == "F":
        return resolved_by(out_sharding, lambda: _columnwise(a, old_shape, sizes))
    if order == "A":
        raise NotImplementedError("reshape with order='A': arrays have no memory order.")
    raise ValueError(
        f"reshape: order={order!r} is unknown; 'C' puts the last axis innermost, 'F' the first."
    )


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
      copy: changes nothing, since arrays cannot be written to.
      out_sharding: the result's sharding.

    Returns:
      An array of the same elements, in the same order; of a NumPy array, unless ``out_sharding`` is
      given, what its own ``reshape`` returns.

    Raises:
      TypeError: if the sizes do not fit, or ``a`` is not an array.
      NotImplementedError: for orders that depend on memory.
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
    method: Any = None if hasattr(type(a), "aval") else getattr(a, "reshape", None)
    if method is None or out_sharding is not None:
        result: Any = ir.as_result(reshaped("reshape", a, shape, order, out_sharding))
        return result
    check_arraylike("reshape", a)
    # As in JAX, a NumPy array is reshaped by its own method and remains a NumPy array: libraries
    # read the values of the result while they trace (numpyro's constraints).
    return method(shape, order=order)


@ir.dispatched("order", "out_sharding")
@ir.may_return_operand
def ravel(a: ArrayLike, order: str = "C", *, out_sharding: object = None) -> Array:
    """An array's elements in one dimension.

    Args:
      a: an array or scalar.
      order, out_sharding: see ``reshape``.

    Returns:
      A vector of the same elements.

    Raises:
      TypeError: if ``a`` is not an array.
      NotImplementedError: for orders that depend on memory, ``"A"`` and ``"K"``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.ravel(jnp.ones((2, 2))).tolist()
      [1.0, 1.0, 1.0, 1.0]

    Source: numpy.ravel.
    """
    if order == "K":
        raise NotImplementedError("ravel with order='K': arrays have no memory order.")
    a = checked_operand("ravel", a)
    return reshaped("ravel", a, (prod(np.shape(a)),), order, out_sharding)


@ir.dispatched("axis")
@ir.may_return_operand
def squeeze(a: ArrayLike, axis: Axis = None) -> Array:
    """An array without dimensions of size 1: all, or those of ``axis``.

    Args:
      a: an array or scalar.
      axis: an int or a sequence of ints, dimensions of size 1.

    Returns:
      An array of the same elements.

    Raises:
      ValueError: if a dimension of ``axis`` does not have size 1, or does not exist.
      TypeError: if ``a`` is not an array.

    Without ``axis`` a batch of one loses its batch dimension, too: name the axis.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.squeeze(jnp.ones((1, 2, 1))).shape
      (2,)

    Source: numpy.squeeze.
    """
    a = checked_operand("squeeze", a)
    if axis is None:
        axis = tuple(i for i, n in enumerate(np.shape(a)) if n == 1)
    return lax.squeeze(a, axis_tuple(axis))


@ir.may_return_operand
def expand_dims(a: ArrayLike, axis: int | Sequence[int]) -> Array:
    """An array with new dimensions of size 1, at these positions of the result.

    Args:
      a: an array or scalar.
      axis: an int or a sequence of ints, positions in the result.

    Returns:
      An array of the same elements.

    Raises:
      ValueError: if a position is given twice, or does not exist.
      TypeError: if ``a`` is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.expand_dims(jnp.ones(2), (0, -1)).shape
      (1, 2, 1)

    See also:
      ``x[None, :, None]``, the same by indexing; ``squeeze``, the inverse.

    Source: numpy.expand_dims.
    """
    a = checked_operand("expand_dims", a)
    return lax.expand_dims(a, axis_tuple(axis))


@ir.may_return_operand
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
      TypeError: if ``array`` is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.broadcast_to(jnp.arange(2), (2, 2)).tolist()
      [[0, 1], [0, 1]]
      >>> jnp.broadcast_to(jnp.arange(2)[:, None], (2, 3)).tolist()
      [[0, 0, 0], [1, 1, 1]]

    Source: numpy.broadcast_to.
    """
    array = checked_operand("broadcast_to", array)
    shape = as_shape(shape)
    old_shape = np.shape(array)
    if old_shape == shape:
        return lax.broadcast_in_dim(array, shape, range(len(shape)), out_sharding=out_sharding)
    rank = len(old_shape)
    if rank > len(shape) or any(
        n not in (1, m) for n, m in zip(old_shape, shape[len(shape) - rank :], strict=True)
    ):
        raise ValueError(
            f"an array of shape {old_shape} does not broadcast to shape {shape}: sizes, counted "
            "from the last, must be equal or 1."
        )
    dimensions = tuple(range(len(shape) - rank, len(shape)))
    return lax.broadcast_in_dim(array, shape, dimensions, out_sharding=out_sharding)


@ir.dispatched()
@ir.may_return_operand
def broadcast_arrays(*args: ArrayLike) -> tuple[Array, ...]:
    """Arrays repeated to the shape that their shapes broadcast to.

    Args:
      *args: arrays or scalars.

    Returns:
      A list of arrays of one shape.

    Raises:
      ValueError: if the shapes do not broadcast.
      TypeError: if an argument is not an array.

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
    return tuple(ir.as_array(broadcast(x, shape, sharding)) for x in args)


def broadcast_shapes(*shapes: ShapeLike) -> Shape:
    """The shape that shapes broadcast to.

    Args:
      shapes: ints or sequences of ints.

    Returns:
      A tuple of ints.

    Raises:
      ValueError: if they do not broadcast.
      TypeError: if a size is not an integer.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.broadcast_shapes((2, 1), 3)
      (2, 3)

    Source: numpy.broadcast_shapes.
    """
    if not shapes:
        return ()
    checked = tuple(map(as_shape, shapes))
    if any(n < 0 for shape in checked for n in shape):
        raise TypeError(f"broadcast_shapes: sizes must not be negative, got {checked}.")
    return broadcast_shape("broadcast_shapes", *checked)


@ir.composite("atleast_1d")
def _atleast_1d(x: Array) -> Array:
    return x if np.ndim(x) else lax.expand_dims(x, (0,))


@ir.composite("atleast_2d")
def _atleast_2d(x: Array) -> Array:
    return lax.expand_dims(x, tuple(range(2 - np.ndim(x)))) if np.ndim(x) < 2 else x


@ir.composite("atleast_3d")
def _atleast_3d(x: Array) -> Array:
    # A vector is in the middle, a matrix in front, as in NumPy.
    new = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}.get(np.ndim(x))
    return lax.expand_dims(x, new) if new else x


def _at_least(
    step: ir.Composite, rank: int, args: tuple[ArrayLike, ...]
) -> Array | tuple[Array, ...]:
    """One array, or a tuple of several, with at least ``rank`` dimensions, which ``step`` adds."""
    check_arraylike(step.name, *args)
    # An array that has them is returned unchanged; jaxprs have the call, as JAX's do.
    results = tuple(
        ir.as_array(x)
        if np.ndim(x) >= rank and hasattr(type(x), "aval") and not ir.is_recording()
        else step(x)
        for x in operands(step.name, *args)
    )
    return results[0] if len(results) == 1 else results


@overload
def atleast_1d(x: ArrayLike, /) -> Array: ...
@overload
def atleast_1d(x: ArrayLike, y: ArrayLike, /, *arys: ArrayLike) -> tuple[Array, ...]: ...
@ir.dispatched()
def atleast_1d(*arys: ArrayLike) -> Array | tuple[Array, ...]:
    """Arrays with one dimension at least; a tuple of them for several arguments.

    Args:
      *arys: arrays or scalars.

    Returns:
      An array, or a tuple of arrays for several arguments.

    Raises:
      TypeError: if an argument is not an array or scalar.

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
def atleast_2d(x: ArrayLike, y: ArrayLike, /, *arys: ArrayLike) -> tuple[Array, ...]: ...
@ir.dispatched()
def atleast_2d(*arys: ArrayLike) -> Array | tuple[Array, ...]:
    """Arrays with two dimensions at least, new ones in front; a tuple for several arguments.

    Args:
      *arys: arrays or scalars.

    Returns:
      An array, or a tuple of arrays for several arguments.

    Raises:
      TypeError: if an argument is not an array or scalar.

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
def atleast_3d(x: ArrayLike, y: ArrayLike, /, *arys: ArrayLike) -> tuple[Array, ...]: ...
@ir.dispatched()
def atleast_3d(*arys: ArrayLike) -> Array | tuple[Array, ...]:
    """Arrays with three dimensions at least; a tuple of them for several arguments.

    A vector of size ``n`` gets shape ``(1, n, 1)``, a matrix ``(m, n, 1)``.

    Args:
      *arys: arrays or scalars.

    Returns:
      An array, or a tuple of arrays for several arguments.

    Raises:
      TypeError: if an argument is not an array or scalar.

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
        isinstance(sizes[0], Sequence | Iterator | np.ndarray) or hasattr(sizes[0], "aval")
    ):
        shape = sizes[0]
    return reshaped("reshape", x, shape, order, out_sharding)
