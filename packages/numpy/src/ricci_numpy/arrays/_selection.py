"""Broadcasting, and the choice of elements by a mask, which ``where`` rests on."""

from typing import overload

from ricci_ir import Array, ArrayLike, Shape, get_aval
from ricci_lax import broadcast_in_dim, select_n
from ricci_numpy._promotion import check_broadcast, promote_dtypes


@overload
def broadcast(x: Array, shape: Shape) -> Array: ...
@overload
def broadcast(x: ArrayLike, shape: Shape) -> ArrayLike: ...
def broadcast(x: ArrayLike, shape: Shape) -> ArrayLike:
    """``x`` repeated to a shape that its own broadcasts to."""
    own = get_aval(x).shape  # pyright: ignore[reportAttributeAccessIssue]
    if own == shape:
        return x
    rank = len(shape)
    return broadcast_in_dim(x, shape, tuple(range(rank - len(own), rank)))


def broadcast_shape(name: str, *shapes: Shape) -> Shape:
    """The shape that shapes broadcast to.

    Raises:
      ValueError: if they do not broadcast.
    """
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    check_broadcast(name, list(shapes))
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    return tuple(next((n for n in sizes if n != 1), 1) for sizes in zip(*padded, strict=True))


def select_where(condition: ArrayLike, x: ArrayLike, y: ArrayLike, name: str = "where") -> Array:
    """The elements of ``x`` where a boolean mask holds and those of ``y`` elsewhere.

    Args:
      condition: a boolean array.
      x, y: arrays or scalars; dtypes are promoted, shapes broadcast.
      name: the function, for messages.
    """
    x, y = promote_dtypes(x, y)
    shapes = [get_aval(v).shape for v in (condition, x, y)]  # pyright: ignore
    shape = broadcast_shape(name, *shapes)
    if shapes[0]:
        condition = broadcast(condition, shape)
    return select_n(condition, broadcast(y, shape), broadcast(x, shape))
