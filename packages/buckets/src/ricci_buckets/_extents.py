"""The two sizes of a symbolic dimension: of its padded array, and of its valid elements.

In a computation for one bucket, a dimension such as ``2*n + 1`` has two values. Its *size* is its
value at the bucket's sizes, an int: that of arrays. Its *length* is its value at the lengths of
the call, a traced scalar. Elements at positions below the length are those of the function;
the others are padding.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import ricci_lax as lax
from ricci_ir import Array, ArrayLike, ShapedArray, SymbolicDimension, is_symbolic_dim

__all__ = ["PaddingError"]


class PaddingError(ValueError):
    """Padding may reach a result, or it cannot be shown that it does not."""

    __module__ = "ricci_buckets"  # tracebacks show the name that users import


class Unprovable(Exception):
    """An operation for which no masked form is implemented.

    Attributes:
      reason: how the operation treats padding, for the message.
      remedy: the suggested fix.
    """

    def __init__(self, reason: str, remedy: str):
        super().__init__(reason)
        self.reason: str = reason
        self.remedy: str = remedy


# Up to this many combinations of lengths, a property of dimensions is checked for each of them.
# Enough for two lengths of up to 256; checked once for each dimension and bucket.
_MOST_CHECKED = 65536


def is_padded(*avals: object) -> bool:
    """Whether a value of one of these types has padding."""
    return any(is_symbolic_dim(n) for aval in avals for n in getattr(aval, "shape", ()))


def _index(x: ArrayLike) -> ArrayLike:
    return np.int32(x) if isinstance(x, int) else x


def _floordiv(x: ArrayLike, y: ArrayLike) -> Array:
    x, y = _index(x), _index(y)
    # lax.div and lax.rem round towards zero, arithmetic of dimensions rounds down as in Python.
    quotient, remainder = lax.div(x, y), lax.rem(x, y)
    inexact = lax.ne(remainder, np.int32(0))
    return lax.select(
        _and_signs_differ(inexact, remainder, y), lax.sub(quotient, np.int32(1)), quotient
    )


def _mod(x: ArrayLike, y: ArrayLike) -> Array:
    x, y = _index(x), _index(y)
    remainder = lax.rem(x, y)
    inexact = lax.ne(remainder, np.int32(0))
    return lax.select(_and_signs_differ(inexact, remainder, y), lax.add(remainder, y), remainder)


def _and_signs_differ(condition: ArrayLike, x: ArrayLike, y: ArrayLike) -> Array:
    zero = np.int32(0)
    return lax.bitwise_and(condition, lax.ne(lax.lt(x, zero), lax.lt(y, zero)))


# The operations of dimensions on traced scalars, by the names of the dimensions' factors.
_operations: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: lax.add(_index(x), _index(y)),
    "mul": lambda x, y: lax.mul(_index(x), _index(y)),
    "floordiv": _floordiv,
    "mod": _mod,
    "max": lambda x, y: lax.max(_index(x), _index(y)),
    "min": lambda x, y: lax.min(_index(x), _index(y)),
}


class Extents:
    """The sizes and lengths of all dimensions in one bucket.

    Args:
      sizes: the bucket's size of each variable.
      lengths: the length of each variable, a traced integer scalar.
      origins: a description of the arguments' axes that have each variable as a size.
    """

    def __init__(
        self, sizes: Mapping[str, int], lengths: Mapping[str, Any], origins: Mapping[str, str]
    ):
        self.origins: Mapping[str, str] = origins
        self.sizes: Mapping[str, int] = sizes
        self.lengths: Mapping[str, Any] = lengths
        self._checked: dict[SymbolicDimension, int] = {}

    def size(self, n: Any) -> int:
        """The size of a dimension in this bucket.

        Raises:
          Unprovable: if a shorter length of the variables may need a larger array.
        """
        if not is_symbolic_dim(n):
            return n
        size = self._checked.get(n)
        if size is None:
            size = n.evaluate(self.sizes)
            # Arrays have the size at the bucket's sizes. A dimension such as ``10 - n`` is larger
            # for smaller lengths and would not fit, so the form is examined, then all lengths if
            # that is not conclusive.
            if not (_grows(n) or self.always(n, lambda value: 0 <= value <= size)):
                raise Unprovable(
                    f"the size {n} is not largest where the lengths are largest, so that arrays "
                    "of a bucket do not have room for it",
                    "use sizes that grow with the lengths",
                )
            self._checked[n] = size
        return size

    def value(self, n: Any) -> int:
        """The value, at this bucket's sizes, of a parameter that is not an array's size."""
        return n.evaluate(self.sizes) if is_symbolic_dim(n) else n

    def length(self, n: Any) -> Any:
        """The number of valid elements along a dimension: an int or a traced scalar."""
        return n.evaluate(self.lengths, _operations) if is_symbolic_dim(n) else n

    def shape(self, sizes: Sequence[Any]) -> tuple[int, ...]:
        """The shape of the padded array of a value with these dimensions."""
        return tuple(map(self.size, sizes))

    def always(self, n: Any, holds: Callable[[int], bool]) -> bool:
        """Whether a property of a dimension's value holds for all lengths of this bucket.

        False if there are too many combinations of lengths to try.
        """
        if not is_symbolic_dim(n):
            return holds(n)
        names = sorted(n.variables())
        count = 1
        for name in names:
            count *= self.sizes[name]
        if count > _MOST_CHECKED:
            return False
        ranges = [range(1, self.sizes[name] + 1) for name in names]
        return all(
            holds(n.evaluate(dict(zip(names, values, strict=True))))
            for values in itertools.product(*ranges)
        )

    def never_negative(self, n: Any) -> bool:
        """Whether a dimension is at least 0 for all lengths of this bucket."""
        if is_symbolic_dim(n) and n.scope.bounds(n)[0] >= 0:
            return True
        return self.always(n, lambda value: value >= 0)

    def describe(self, *avals: object) -> str:
        """Describe the arguments from which the padding of values of these types comes."""
        dims = [n for aval in avals for n in getattr(aval, "shape", ()) if is_symbolic_dim(n)]
        names = sorted(set().union(*(n.variables() for n in dims)))
        return "; ".join(f"{name} is {self.origins[name]}" for name in names)

    def positions(self, shape: Sequence[int], axis: int) -> Array:
        """The position of each element of an array along a dimension."""
        return lax.broadcasted_iota(np.int32, tuple(shape), axis)

    def mask(self, aval: ShapedArray, axes: Sequence[int]) -> Array | None:
        """The mask of valid elements along these dimensions; ``None`` if all are valid."""
        mask = None
        shape = self.shape(aval.shape)
        for axis in axes:
            n = aval.shape[axis]
            if is_symbolic_dim(n):
                valid = lax.lt(self.positions(shape, axis), self.length(n))
                mask = valid if mask is None else lax.bitwise_and(mask, valid)
        return mask


def _grows(n: SymbolicDimension) -> bool:
    """Whether a dimension provably grows with its variables and is not negative, by its form.

    It does if it is a sum of products of variables with positive factors, and quotients of these
    by positive constants; a constant term may be negative if the scope bounds the sum below by 0.
    """
    for monomial, coefficient in n.terms:
        if monomial and coefficient < 0:
            return False
        for factor, _ in monomial:
            if not factor.operands:
                continue
            left, right = factor.operands
            # n // k grows with n for a fixed k > 0; a divisor that is a length makes it fall.
            if factor.name == "floordiv":
                growing = isinstance(right, int) and right > 0 and _is_growing(left)
            else:
                growing = factor.name in ("max", "min") and _is_growing(left) and _is_growing(right)
            if not growing:
                return False
    return n.scope.bounds(n)[0] >= 0


def _is_growing(n: Any) -> bool:
    return _grows(n) if is_symbolic_dim(n) else n >= 0
