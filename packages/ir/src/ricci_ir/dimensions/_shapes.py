"""Comparisons of sizes, which may be symbolic, and conversions to them."""

from collections.abc import Sequence
from operator import index
from typing import Any, SupportsIndex

from ._expressions import Size, SymbolicDimension

__all__ = ["as_size", "is_static_shape", "is_symbolic_dim", "max_dim", "min_dim", "slice_positions"]
__all__ += ["surely_at_least", "surely_at_most", "surely_different", "symbolic_dim_bounds"]
__all__ += ["to_sizes", "typical_size"]


def is_symbolic_dim(p: object) -> bool:
    """Whether a size is a symbolic dimension, which has no value while a function is traced.

    Args:
      p: a size.

    Returns:
      A bool.

    Example:
      >>> from ricci import export
      >>> [export.is_symbolic_dim(size) for size in export.symbolic_shape("b, 3")]
      [True, False]
    """
    return type(p) is SymbolicDimension


def symbolic_dim_bounds(dimension: Size | SupportsIndex) -> tuple[float, float]:
    """The least and the greatest value of a dimension; infinite where no bound is known.

    Args:
      dimension: the expression.

    Returns:
      A pair of the least and the greatest value.

    Example:
      >>> from ricci import export
      >>> (b,) = export.symbolic_shape("b", constraints=["b <= 8"])
      >>> export.symbolic_dim_bounds(3 * b - 1)
      (2, 23)
    """
    if isinstance(dimension, SymbolicDimension):
        return dimension.scope.bounds(dimension)
    return index(dimension), index(dimension)


def min_dim(d1: int | SymbolicDimension, d2: int | SymbolicDimension) -> int:
    """The smaller of two sizes, which may be symbolic.

    Args:
      d1, d2: sizes, integers or symbolic.

    Returns:
      The smaller of the two, symbolic where that is not decided.

    Example:
      >>> from ricci import export
      >>> from ricci.core import min_dim
      >>> (b,) = export.symbolic_shape("b")
      >>> min_dim(b, 3), min_dim(b, 1)
      (min(b, 3), 1)
    """
    return _extreme("min", d1, d2)


def max_dim(d1: int | SymbolicDimension, d2: int | SymbolicDimension) -> int:
    """The larger of two sizes, which may be symbolic.

    Args:
      d1, d2: sizes, integers or symbolic.

    Returns:
      The greater of the two, symbolic where that is not decided.

    Example:
      >>> from ricci import export
      >>> from ricci.core import max_dim
      >>> (b,) = export.symbolic_shape("b")
      >>> max_dim(b, 0), max_dim(b, 4)
      (b, max(b, 4))
    """
    return _extreme("max", d1, d2)


def _extreme(kind: str, x: Any, y: Any) -> Any:
    for size in (x, y):
        if type(size) is SymbolicDimension:
            return size.scope.extreme(kind, x, y)
    return max(x, y) if kind == "max" else min(x, y)


def as_size(n: Any) -> int:
    """Convert a size to an int; a symbolic dimension is returned unchanged.

    Raises:
      TypeError: if it is neither.
    """
    size: Any = n
    return size if type(n) is SymbolicDimension else index(n)


def to_sizes(shape: Any) -> tuple[int, ...]:
    """Convert sizes to a tuple of ints and symbolic dimensions.

    Raises:
      TypeError: if one is neither, or ``shape`` is not a sequence.
    """
    try:
        return tuple(map(index, shape))
    except TypeError:
        return tuple(map(as_size, shape))


def is_static_shape(shape: Sequence[Any]) -> bool:
    """Whether all sizes of a shape are known while a function is traced."""
    return SymbolicDimension not in map(type, shape)


def surely_at_least(x: Any, least: int) -> bool:
    """Whether a size is at least ``least`` for all its values; ``False`` if that is not decided.

    For choices between implementations with the same result, of which one needs the bound.
    """
    return symbolic_dim_bounds(x)[0] >= least if type(x) is SymbolicDimension else x >= least


def surely_at_most(x: Any, most: int) -> bool:
    """Whether a size is at most ``most`` for all its values; ``False`` if that is not decided."""
    return symbolic_dim_bounds(x)[1] <= most if type(x) is SymbolicDimension else x <= most


def slice_positions(part: slice, size: int) -> tuple[Any, Any, Any, Any]:
    """The first position, the number of positions, the step and the limit of a slice.

    Args:
      part: a slice of ints, symbolic dimensions and ``None``; its step is an int.
      size: the size of the dimension that is sliced.

    Raises:
      InconclusiveDimensionOperation: if the sign of a position depends on the values of dimensions.
    """
    try:
        start, stop, step = part.indices(size)
        return start, len(range(start, stop, step)), step, stop
    except TypeError:
        if is_static_shape((size, part.start, part.stop, part.step)):
            raise
    step = 1 if part.step is None else index(part.step)
    if not step:
        raise ValueError("slice step cannot be zero")
    # As ``slice.indices``, for symbolic sizes: positions are clamped to these limits.
    low, high = (0, size) if step > 0 else (-1, size - 1)
    first, last = (low, high) if step > 0 else (high, low)
    start = first if part.start is None else _position(as_size(part.start), size, low, high)
    stop = last if part.stop is None else _position(as_size(part.stop), size, low, high)
    # The number of positions is the ceiling of (stop - start) / step.
    return start, max_dim(-((start - stop) // step), 0), step, stop


def _position(x: Any, size: object, low: Any, high: Any) -> Any:
    # A negative position counts from the end, so its sign must be decided.
    return min_dim(x, high) if x >= 0 else max_dim(x + size, low)


def surely_different(x: Any, y: Any) -> bool:
    """Whether two sizes differ for all their values; ``False`` if that is not decided."""
    if x is y or is_static_shape((x, y)):
        return x != y
    low, high = symbolic_dim_bounds(x - y)
    return low > 0 or high < 0


def typical_size(x: Any) -> int:
    """A size for cost estimates: of a symbolic dimension, its value where all variables are 16."""
    if type(x) is not SymbolicDimension:
        return x
    return max(x.evaluate(dict.fromkeys(x.variables(), 16)), 1)
