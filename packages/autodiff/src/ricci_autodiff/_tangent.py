"""Tangent values: symbolic zeros, and the vector-space operations on arrays."""

from collections.abc import Callable, Iterable
from typing import Any

from ricci_ir import AbstractValue, Cache, ShapedArray, float0, get_aval, to_tangent_dtype


class Zero:
    """A tangent or cotangent known to be zero, of type ``aval``; it costs nothing to carry."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any):
        self.aval = aval

    @staticmethod
    def from_primal(value: Any) -> "Zero":
        """The zero tangent of a value."""
        aval = get_aval(value)
        zero = _zeros.entries.get(aval)
        if zero is None:
            zero = _zeros.add(aval, Zero(tangent_aval(aval)))
        return zero

    def __repr__(self) -> str:
        return f"Zero({self.aval})"


_zeros: Cache[AbstractValue, Zero] = Cache("zero tangents", 4096)


class SymbolicZero:
    """A zero handed to a custom rule that asked for ``symbolic_zeros``."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any):
        self.aval = aval

    @staticmethod
    def from_primal_value(value: Any) -> "SymbolicZero":
        """The zero tangent of a value."""
        return SymbolicZero(Zero.from_primal(value).aval)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SymbolicZero) and self.aval == other.aval

    def __hash__(self) -> int:
        return hash(self.aval)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval})"


def tangent_aval(aval: AbstractValue) -> AbstractValue:
    """The type of the tangents of values of a type: the same, or float0 for integers."""
    if isinstance(aval, ShapedArray):
        dtype = to_tangent_dtype(aval.dtype)
        if dtype is aval.dtype:
            return aval
        return ShapedArray(aval.shape, dtype)
    return aval


class VectorSpace:
    """The operations on tangents; ``lax`` gives them, since they are primitives of its own."""

    add: Callable[[Any, Any], Any]
    zeros: Callable[[Any], Any]

    def register(self, *, add: Callable[[Any, Any], Any], zeros: Callable[[Any], Any]) -> None:
        """Set ``add(x, y)`` and ``zeros(aval)``."""
        self.add = add
        self.zeros = zeros


vector_space = VectorSpace()


def instantiate(tangent: Any) -> Any:
    """An array in place of a symbolic zero."""
    if type(tangent) is Zero:
        return vector_space.zeros(tangent.aval)
    return tangent


def add_tangents(x: Any, y: Any) -> Any:
    """The sum of two tangents, either of which may be ``Zero``."""
    if type(x) is Zero:
        return y
    if type(y) is Zero:
        return x
    return vector_space.add(x, y)


def join_tangents(nonzeros: Iterable[bool], found: Iterable[Any], primals: Iterable[Any]) -> list:
    """The tangents of some values, of which only those that are not zero were computed.

    Args:
      nonzeros: for each value, whether its tangent is the next of ``found``, or zero.
    """
    given = iter(found)
    return [
        next(given) if nonzero else Zero.from_primal(x)
        for nonzero, x in zip(nonzeros, primals, strict=True)
    ]


def has_tangent(aval: Any) -> bool:
    """Whether values of this type can have a tangent other than zero."""
    found: Any = tangent_aval(aval)
    return found.dtype != float0
