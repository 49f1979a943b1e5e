"""Splitting arrays along a dimension."""

from collections.abc import Sequence
from itertools import pairwise
from operator import index as as_int
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_numpy._promotion import canonical_axis, check_arraylike, operands

__all__ = ["array_split", "dsplit", "hsplit", "split", "unstack", "vsplit"]

# The number of equal parts, or the positions at which to split.
type Sections = int | Sequence[int] | np.ndarray


@ir.may_return_operand
def array_split(ary: ir.ArrayLike, indices_or_sections: Sections, axis: int = 0) -> list[ir.Array]:
    """Split an array into parts, nearly equal ones if their number is given.

    Args:
      ary: an array.
      indices_or_sections: the number of parts, or the positions to split at.
      axis: the dimension to split.

    Returns:
      A list of arrays.

    Raises:
      ValueError: if ``axis`` does not exist.
      TypeError: if ``ary`` is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> [x.tolist() for x in jnp.array_split(jnp.arange(3), 2)]
      [[0, 1], [2]]

    Source: numpy.array_split.
    """
    return _split("array_split", ary, indices_or_sections, axis)


@ir.may_return_operand
def split(ary: ir.ArrayLike, indices_or_sections: Sections, axis: int = 0) -> list[ir.Array]:
    """Split an array into parts, equal ones if their number is given.

    Args:
      ary: an array.
      indices_or_sections: the number of parts, or the positions to split at.
      axis: the dimension to split.

    Returns:
      A list of arrays.

    Raises:
      ValueError: if the size is not a multiple of the number of parts.
      TypeError: if ``ary`` is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> [x.tolist() for x in jnp.split(jnp.arange(6), 3)]
      [[0, 1], [2, 3], [4, 5]]
      >>> [x.tolist() for x in jnp.split(jnp.arange(6), [1, 4])]
      [[0], [1, 2, 3], [4, 5]]

    See also:
      ``array_split``, whose parts may differ by 1.

    Source: numpy.split.
    """
    return _split("split", ary, indices_or_sections, axis)


def _split(name: str, ary: ir.ArrayLike, sections: Any, axis: int) -> list[ir.Array]:
    (ary,) = operands(name, ary)
    axis = canonical_axis(axis, np.ndim(ary))
    size = np.shape(ary)[axis]
    if np.ndim(sections) or isinstance(sections, Sequence):
        at = [_place(ir.as_size(i), size) for i in sections]
        bounds = [0, *at, size]
        sizes = [stop - start for start, stop in pairwise(bounds)]
        if any(n < 0 for n in sizes):
            raise ValueError(f"{name}: the positions to split at must increase, got {sections}.")
    else:
        count = as_int(sections)
        part, remainder = divmod(size, count)
        if remainder != 0 and name == "split":
            raise ValueError(
                f"split: an axis of size {size} does not divide into {count} equal parts; the "
                f"remainder is {remainder}. Use array_split for parts of nearly equal size."
            )
        sizes = _nearly_equal(part, remainder, count)
    if len(sizes) == 1:
        return [ir.as_array(ary)]
    # The sizes are NumPy integers, so that jaxprs print as JAX's do.
    return list(
        lax.split_p.bind(
            ary, sizes=tuple(n if ir.is_symbolic_dim(n) else np.int64(n) for n in sizes), axis=axis
        )
    )


def _place(i: int, size: int) -> int:
    return ir.max_dim(i + size, 0) if i < 0 else ir.min_dim(i, size)


def _nearly_equal(part: int, remainder: int, count: int) -> list[int]:
    """The sizes of ``count`` parts; the first ``rest`` ones are larger by one."""
    if ir.is_symbolic_dim(remainder):
        return [part + ir.min_dim(ir.max_dim(remainder - i, 0), 1) for i in range(count)]
    return [part + 1] * remainder + [part] * (count - remainder)


def hsplit(ary: ir.ArrayLike, indices_or_sections: Sections) -> list[ir.Array]:
    """Split an array along the second dimension, a vector along the first; see ``split``.

    Args:
      ary: an array.
      indices_or_sections: as for ``split``.

    Returns:
      A list of arrays.

    Example:
      >>> import ricci.numpy as jnp
      >>> [x.tolist() for x in jnp.hsplit(jnp.arange(4), 2)]
      [[0, 1], [2, 3]]

    Source: numpy.hsplit.
    """
    check_arraylike("hsplit", ary)
    return _split("split", ary, indices_or_sections, 0 if np.ndim(ary) == 1 else 1)


def vsplit(ary: ir.ArrayLike, indices_or_sections: Sections) -> list[ir.Array]:
    """Split an array along the first dimension; see ``split``.

    Args:
      ary: an array of two dimensions or more.
      indices_or_sections: as for ``split``.

    Returns:
      A list of arrays.

    Example:
      >>> import ricci.numpy as jnp
      >>> [x.shape for x in jnp.vsplit(jnp.ones((4, 2)), 2)]
      [(2, 2), (2, 2)]

    Source: numpy.vsplit.
    """
    return _split("split", ary, indices_or_sections, 0)


def dsplit(ary: ir.ArrayLike, indices_or_sections: Sections) -> list[ir.Array]:
    """Split an array along the third dimension; see ``split``.

    Args:
      ary: an array of three dimensions or more.
      indices_or_sections: as for ``split``.

    Returns:
      A list of arrays.

    Example:
      >>> import ricci.numpy as jnp
      >>> [x.shape for x in jnp.dsplit(jnp.ones((1, 1, 4)), 2)]
      [(1, 1, 2), (1, 1, 2)]

    Source: numpy.dsplit.
    """
    return _split("split", ary, indices_or_sections, 2)


@ir.dispatched("axis")
def unstack(x: ir.ArrayLike, /, *, axis: int = 0) -> tuple[ir.Array, ...]:
    """The parts of an array along a dimension, as a tuple of arrays without it.

    Args:
      x: an array.
      axis: the dimension.

    Returns:
      A tuple of arrays with one dimension less.

    Raises:
      ValueError: if ``x`` has rank 0, or no such dimension.
      TypeError: if ``x`` is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> [row.tolist() for row in jnp.unstack(jnp.arange(4).reshape(2, 2))]
      [[0, 1], [2, 3]]

    Source: numpy.unstack.
    """
    (x,) = operands("unstack", x)
    if not np.ndim(x):
        raise ValueError("unstack needs an array of at least one dimension.")
    axis = canonical_axis(axis, np.ndim(x))
    return () if not np.shape(x)[axis] else tuple(lax.unstack(x, axis))
