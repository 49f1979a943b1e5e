"""Shapes and values of arrays, broadcasting, and the choice of elements by a mask."""

from collections.abc import Iterable, Iterator
from math import prod
from typing import Any, overload

import numpy as np

from ricci_ir import (
    Array,
    ArrayLike,
    Axis,
    ConcretizationTypeError,
    Shape,
    Tracer,
    TypeSharding,
    boundary,
    get_aval,
    leave,
    to_sizes,
    warn_user,
)
from ricci_lax import broadcast_in_dim, broadcast_in_dim_p, select_n
from ricci_numpy._promotion import check_broadcast, operands, promote_dtypes

__all__ = ["ndim", "shape", "size"]


@overload
def broadcast(x: Array, shape: Shape, sharding: TypeSharding | None = None) -> Array: ...
@overload
def broadcast(x: ArrayLike, shape: Shape, sharding: TypeSharding | None = None) -> ArrayLike: ...
def broadcast(x: ArrayLike, shape: Shape, sharding: TypeSharding | None = None) -> ArrayLike:
    """``x`` repeated to a shape that its own broadcasts to.

    Args:
      sharding: that of the result's type, if ``x`` has another shape or no sharding; see
        ``common_sharding``.
    """
    aval = get_aval(x)
    x_shape = aval.shape
    if x_shape == shape and (sharding is None or aval.type_sharding is not None):
        return x
    rank = len(shape)
    dims = tuple(range(rank - len(x_shape), rank))
    if sharding is None:
        return broadcast_in_dim(x, shape, dims)
    return broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=dims, sharding=sharding)


def common_sharding(rank: int, *operands: ArrayLike) -> TypeSharding | None:
    """Return the sharding of the broadcast operands, or ``None`` if none is sharded.

    A dimension is sharded as in the first operand that shards it. The operation that takes all
    operands raises an error if others shard it in another way.
    """
    common = None
    for x in operands:
        aval = get_aval(x)
        sharding = aval.type_sharding
        if sharding is None or not sharding.is_sharded:
            continue
        parts = ((),) * (rank - aval.ndim) + sharding.parts
        if common is not None:
            parts = tuple(a or b for a, b in zip(common.parts, parts, strict=True))
        common = TypeSharding(sharding.mesh, parts)
    return common


def as_shape(shape: Any) -> tuple[int, ...]:
    """Return a shape as a tuple from an int, a sequence or iterator of ints, or an integer array.

    Raises:
      TypeError: if it is made of anything else.
    """
    if type(shape) is int:
        return (shape,)
    if type(shape) is tuple:
        for size in shape:
            if type(size) is not int:
                break
        else:
            return shape
    if isinstance(shape, Tracer) and shape.concrete() is None:
        raise ConcretizationTypeError(shape, "It is a shape, which must be static.")
    # Not any iterable: a string or a set is a mistake, and a scalar array is one size.
    is_sequence = isinstance(shape, tuple | list | Iterator) or np.ndim(shape)
    parts: tuple[Any, ...] = tuple(shape) if is_sequence else (shape,)
    try:
        return to_sizes(parts)
    except TypeError as error:
        if any(isinstance(n, Tracer) for n in parts):
            raise
        raise TypeError(f"A shape is an int or a sequence of ints, got {shape!r}.") from error


def broadcast_shape(name: str, *shapes: Shape) -> Shape:
    """The shape that shapes broadcast to.

    Raises:
      ValueError: if they do not broadcast.
    """
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    rank = max(map(len, shapes))
    sizes: list[Any] = [1] * rank
    for shape in shapes:
        for axis, size in enumerate(shape, rank - len(shape)):
            if size == 1:
                continue
            if sizes[axis] == 1:
                sizes[axis] = size
            elif sizes[axis] != size:
                check_broadcast(name, list(shapes))
    return tuple(sizes)


def select_where(condition: ArrayLike, x: ArrayLike, y: ArrayLike, name: str = "where") -> Array:
    """The elements of ``x`` where a boolean mask holds and those of ``y`` elsewhere.

    Args:
      condition: a boolean array.
      x, y: arrays or scalars; dtypes are promoted, shapes broadcast.
      name: the function, for messages.
    """
    x, y = promote_dtypes(x, y)
    shapes = [get_aval(v).shape for v in (condition, x, y)]
    shape = broadcast_shape(name, *shapes)
    sharding = common_sharding(len(shape), condition, x, y)
    if shapes[0]:
        condition = broadcast(condition, shape, sharding)
    return select_n(condition, broadcast(y, shape, sharding), broadcast(x, shape, sharding))


def concrete_values(x: ArrayLike, advice: str) -> np.ndarray:
    """Values of an array, for functions whose result has a size that depends on them.

    Raises:
      ConcretizationTypeError: if ``x`` is traced; the message is ``advice``.
    """
    value = x.concrete() if isinstance(x, Tracer) else x
    if value is None:
        raise ConcretizationTypeError(x, advice)
    return np.asarray(value)


def _shape_of_value(name: str, a: Any) -> tuple[int, ...]:
    if hasattr(a, "shape"):  # a ShapeDtypeStruct has one, too
        return tuple(a.shape)
    try:
        (a,) = operands(name, a)
    except TypeError:  # as in NumPy, other objects such as None count as scalars
        warn_user(
            f"{name}: {type(a).__name__} is not an array or a scalar, and is deprecated as an "
            f"argument. Call numpy.{name}, or make an array of it first.",
            DeprecationWarning,
        )
    return np.shape(a)


@boundary
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
    try:
        sizes = getattr(a, "shape", None)
        return len(sizes if type(sizes) is tuple else _shape_of_value("ndim", a))
    except Exception as error:
        leave(error, "ndim")
        raise


@boundary
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
    try:
        sizes = getattr(a, "shape", None)
        return sizes if type(sizes) is tuple else _shape_of_value("shape", a)
    except Exception as error:
        leave(error, "shape")
        raise


def size(a: ArrayLike, axis: Axis = None) -> int:
    """The number of elements of an array, in total or along axes.

    Args:
      a: an array or scalar.
      axis: an int or a sequence of ints.

    Returns:
      A Python int.

    Raises:
      ValueError: if an axis is out of bounds, or named twice.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.size(jnp.ones((2, 3)), 1)
      3

    Source: numpy.size.
    """
    sizes = _shape_of_value("size", a)
    if axis is not None:
        axes = tuple(axis) if isinstance(axis, Iterable) else (axis,)
        if not all(-len(sizes) <= i < len(sizes) for i in axes):
            raise ValueError(
                f"size: axis {axis} is out of bounds for an array of {len(sizes)} dimensions."
            )
        if len({i % len(sizes) for i in axes}) < len(axes):
            raise ValueError(f"size: the axes {axis} name one twice.")
        sizes = tuple(sizes[i] for i in axes)
    return prod(sizes)
