"""Tangents: their types, symbolic zeros, and the vector-space operations on them."""

from collections.abc import Callable, Iterable
from typing import Any, final

import numpy as np

import ricci_ir as ir

__all__ = ["SymbolicZero", "Tangent", "Zero", "add_tangents", "cotangent_aval", "has_tangent"]
__all__ += ["instantiate", "join_tangents", "scaled_tangent", "tangent_aval", "tangent_sum"]
__all__ += ["with_type", "zeros_of_type"]


@final
class Zero:
    """A symbolic zero: a tangent or cotangent of type ``aval`` that is known to be zero.

    It allocates no array, and no operation computes with it.

    Args:
      aval: the type.

    Example:
      >>> from ricci.core import ShapedArray
      >>> from ricci.interpreters.ad import Zero, instantiate_zeros
      >>> instantiate_zeros(Zero(ShapedArray((2,), "float32"))).tolist()
      [0.0, 0.0]
    """

    __slots__ = ("aval",)

    def __init__(self, aval: ir.AbstractValue):
        self.aval: ir.ShapedArray = aval  # pyright: ignore[reportAttributeAccessIssue]

    @staticmethod
    def from_primal(value: ir.ArrayLike) -> "Zero":
        """The zero tangent of a primal value."""
        aval = ir.get_aval(value)
        zero = _zeros.entries.get(aval)
        if zero is None:
            zero = _zeros.add(aval, Zero(tangent_aval(aval)))
        return zero

    def __repr__(self) -> str:
        return f"Zero({self.aval})"


# The zero tangents of primals, by the type of the primal.
_zeros: ir.Cache[ir.AbstractValue, Zero] = ir.Cache("zero tangents", 4096)

type Tangent = ir.ArrayLike | Zero


class SymbolicZero:
    """A zero tangent or cotangent, as custom rules receive it if they ask for symbolic zeros.

    Args:
      aval: the type.

    Example:
      A rule that does nothing for an argument that is not differentiated:

      >>> import ricci
      >>> from ricci.custom_derivatives import SymbolicZero
      >>> product = ricci.custom_jvp(lambda x, y: x * y)
      >>> def rule(primals, tangents):
      ...     (x, y), (tx, ty) = primals, tangents
      ...     print([type(t) is SymbolicZero for t in tangents])
      ...     return x * y, tx * y
      >>> _ = product.defjvp(rule, symbolic_zeros=True)
      >>> float(ricci.grad(product)(2.0, 3.0))
      [False, True]
      3.0
    """

    __slots__ = ("aval",)

    def __init__(self, aval: ir.AbstractValue):
        self.aval: ir.ShapedArray = aval  # pyright: ignore[reportAttributeAccessIssue]

    @staticmethod
    def from_primal_value(value: ir.ArrayLike) -> "SymbolicZero":
        """The zero tangent of a primal value."""
        return SymbolicZero(Zero.from_primal(value).aval)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SymbolicZero) and self.aval == other.aval

    def __hash__(self) -> int:
        return hash(self.aval)

    @property
    def shape(self) -> ir.Shape:
        """The shape of the zeros."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The dtype of the zeros, a NumPy dtype or an extended dtype."""
        return self.aval.dtype

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval})"


def tangent_aval(aval: ir.AbstractValue) -> ir.AbstractValue:
    """The tangent type of a type: the same type, but with dtype float0 for integers.

    Args:
      aval: the type of a value.

    Returns:
      The type of its tangents.

    Example:
      >>> from ricci.core import ShapedArray
      >>> from ricci_autodiff import tangent_aval
      >>> tangent_aval(ShapedArray((2,), "int32")).dtype
      dtype([('float0', 'V')])
    """
    if isinstance(aval, ir.ShapedArray):
        dtype = ir.to_tangent_dtype(aval.dtype)
        if dtype is aval.dtype:
            return aval
        return ir.ShapedArray(aval.shape, dtype, sharding=aval.type_sharding)
    return aval.to_tangent_aval() if isinstance(aval, ir.HiType) else aval


def cotangent_aval(aval: ir.AbstractValue) -> ir.AbstractValue:
    """Return the type of cotangents: ``unreduced`` and ``reduced`` mesh axes are swapped.

    The cotangent of a partial sum is replicated, and vice versa.

    Args:
      aval: the type of the primal value.

    Returns:
      The type of its cotangents.

    Example:
      >>> from ricci_autodiff import cotangent_aval
      >>> from ricci_ir import ShapedArray
      >>> cotangent_aval(ShapedArray((2,), "float32")).dtype.name
      'float32'
    """
    tangent: Any = tangent_aval(aval)
    sharding = tangent.type_sharding
    if sharding is None or not (sharding.unreduced or sharding.reduced):
        return aval.to_ct_aval() if isinstance(aval, ir.HiType) else tangent
    return tangent.with_sharding(sharding.cotangent())


# The operations on tangents are primitives of ``lax``.
tangent_sum: ir.Hook[Callable[[ir.ArrayLike, ir.ArrayLike], ir.Array]] = ir.Hook(
    "sums of tangents", provided_by="ricci_lax"
)
zeros_of_type: ir.Hook[Callable[[Any], ir.Array]] = ir.Hook(
    "arrays of zeros", provided_by="ricci_lax"
)
scaled_tangent: ir.Hook[Callable[[ir.ArrayLike, float], ir.Array]] = ir.Hook(
    "multiples of tangents", provided_by="ricci_lax"
)
# A value with the sharding of a type.
with_type: ir.Hook[Callable[[ir.ArrayLike, Any], ir.ArrayLike]] = ir.Hook(
    "changes of shardings", provided_by="ricci_lax"
)


def instantiate(tangent: Tangent) -> ir.Array:
    """An array of zeros in place of a symbolic zero; other tangents unchanged.

    Args:
      tangent: the tangent.

    Returns:
      An array.

    Example:
      >>> from ricci.interpreters.ad import instantiate_zeros
      >>> instantiate_zeros(2.0)
      2.0
    """
    if type(tangent) is Zero:
        aval: Any = tangent.aval
        return aval.vspace_zero() if aval.is_high else zeros_of_type.call(aval)
    return tangent  # pyright: ignore[reportReturnType]


def unit_cotangent(aval: ir.ShapedArray) -> ir.ArrayLike:
    """Return the cotangent one of a scalar."""
    one = _one(aval)
    if aval.type_sharding is not None and any(aval.type_sharding.sums):
        return with_type.call(one, cotangent_aval(aval))
    return one


def _one(aval: ir.ShapedArray) -> ir.ArrayLike:
    if aval.weak_type:
        value = 1.0 if aval.dtype.kind == "f" else 1.0 + 0.0j
        if aval.dtype == ir.get_aval(value).dtype:
            return value
    one = aval.dtype.type(1)
    # NumPy's scalars are not weakly typed. While 64-bit dtypes are off, a wide one has the type of
    # its narrow form.
    special = aval.weak_type or ir.canonicalize_dtype(aval.dtype) != aval.dtype
    return ir.backend().array(np.asarray(one), aval) if special else one


def as_value(x: ir.ArrayLike) -> ir.PyTree:
    """Return a primal, tangent or cotangent as an array, or as a value of several arrays."""
    if ir.hi_values.in_use and ir.get_aval(x).is_high:
        return ir.with_methods(x)
    return ir.as_array(x)


def add_tangents(x: Tangent, y: Tangent) -> Tangent:
    """The sum of two tangents, either of which may be ``Zero``.

    Args:
      x, y: the tangents, of one type.

    Returns:
      An array, or ``Zero`` if both are.

    Example:
      >>> from ricci.core import ShapedArray
      >>> from ricci.interpreters.ad import Zero, add_tangents
      >>> add_tangents(2.0, Zero(ShapedArray((), "float32")))
      2.0
    """
    if type(x) is Zero:
        return y
    if type(y) is Zero:
        return x
    if ir.hi_values.in_use:
        aval: Any = ir.get_aval(x)
        if aval.is_high:
            return ir.without_methods(aval.vspace_add(ir.with_methods(x), ir.with_methods(y)))
    return tangent_sum.call(x, y)  # pyright: ignore[reportArgumentType]


def join_tangents(
    nonzeros: Iterable[bool], tangents: Iterable[ir.ArrayLike], primals: Iterable[ir.ArrayLike]
) -> list[Tangent]:
    """Insert a ``Zero`` for each value without a tangent into a sequence of tangents.

    Args:
      nonzeros: for each value, whether it has a tangent other than zero.
      tangents: the tangents of those values, in order.
      primals: the values.

    Returns:
      A list with a tangent or ``Zero`` for each value.
    """
    remaining = iter(tangents)
    return [
        next(remaining) if nonzero else Zero.from_primal(x)
        for nonzero, x in zip(nonzeros, primals, strict=True)
    ]


def has_tangent(aval: ir.AbstractValue) -> bool:
    """Whether values of this type can have tangents other than zero.

    Args:
      aval: the type.

    Returns:
      A bool.

    Example:
      >>> from ricci.core import ShapedArray
      >>> from ricci_autodiff import has_tangent
      >>> has_tangent(ShapedArray((2,), "int32")), has_tangent(ShapedArray((2,), "float32"))
      (False, True)
    """
    tangent: Any = tangent_aval(aval)
    return tangent.is_high or tangent.dtype != ir.float0
