"""Types of values that are made of several arrays, and the registry of the classes of such values.

A type of this kind is the type of one variable in a jaxpr. Where a value enters or leaves a jaxpr
that is compiled, it is replaced by its parts (``ricci_ir.traces._parts``).
"""

from collections.abc import Callable
from typing import Any, NoReturn

from ricci_ir._hook import Hook

from ._abstract_value import AbstractValue
from ._aval import aval_rules, hi_values

__all__ = [
    "HiPspec",
    "HiType",
    "HiVal",
    "MappingSpec",
    "is_hi_type",
    "register_hitype",
    "zero_parts",
]


# A value of a class that ``register_hitype`` registers, or a tracer that represents one.
type HiVal = Any

# The zero of a type, part by part.
zero_parts: Hook[Callable[["HiType"], Any]] = Hook("zeros by parts", provided_by="ricci_lax")


class MappingSpec:
    """The base class of descriptions of how ``vmap`` maps over a value of several arrays.

    Example:
      >>> from ricci.experimental import hijax
      >>> class Leading(hijax.MappingSpec):
      ...     pass
      >>> isinstance(Leading(), hijax.MappingSpec)
      True
    """


class HiPspec:
    """The base class of descriptions of how ``shard_map`` splits a value of several arrays."""

    def to_lo(self) -> tuple[HiVal, ...]:
        """The partition specs of the parts."""
        raise NotImplementedError(f"{type(self).__name__} must implement to_lo")

    def to_tangent_spec(self) -> "HiPspec":
        """The description for tangents."""
        raise NotImplementedError(f"{type(self).__name__} must implement to_tangent_spec")

    def to_ct_spec(self) -> "HiPspec":
        """The description for cotangents."""
        raise NotImplementedError(f"{type(self).__name__} must implement to_ct_spec")


class HiType(AbstractValue):
    """The base class of types of values that are made of several arrays.

    Subclasses define ``lo_ty``, ``lower_val``, ``raise_val`` and ``to_tangent_aval``, and are
    hashable; ``dec_rank``, ``inc_rank`` and ``leading_axis_spec`` serve ``vmap`` and ``scan``, and
    ``reshard`` the function of this name.
    """

    is_high: bool = True

    def lo_ty(self) -> list[AbstractValue]:
        """The types of the parts."""
        self._missing("lo_ty")

    def lower_val(self, hi_val: HiVal, /) -> list[HiVal]:
        """The parts of a value."""
        self._missing("lower_val")

    def raise_val(self, *lo_vals: HiVal) -> HiVal:
        """The value of these parts."""
        self._missing("raise_val")

    def to_tangent_aval(self) -> AbstractValue:
        """The type of tangents."""
        self._missing("to_tangent_aval")

    def vspace_zero(self) -> HiVal:
        """The zero of the type; by default its parts are zeros."""
        return zero_parts.call(self)

    def dec_rank(self, size: int | None, spec: MappingSpec) -> AbstractValue:
        """The type of one example of a batch of this type."""
        self._missing("dec_rank")

    def inc_rank(self, size: int | None, spec: MappingSpec) -> AbstractValue:
        """The type of a batch of values of this type."""
        self._missing("inc_rank")

    def leading_axis_spec(self) -> MappingSpec:
        """The mapping over the leading axes of all parts, as ``scan`` does."""
        self._missing("leading_axis_spec")

    def shard(self, mesh: object, manual_axes: object, check_vma: bool, spec: HiPspec) -> "HiType":
        """The type of a shard."""
        self._missing("shard")

    def unshard(self, mesh: object, check_vma: bool, spec: HiPspec) -> "HiType":
        """The type of the whole value of which this is the type of a shard."""
        self._missing("unshard")

    def nospec(self, mesh: object, check_vma: bool, all_names: tuple[object, ...]) -> HiPspec:
        """The description of a value that is not split."""
        self._missing("nospec")

    def reshard(self, sharding: object) -> "HiType":
        """The type of a value that ``reshard`` moved to another sharding."""
        self._missing("reshard")

    def str_short(self, short_dtypes: bool = False) -> str:
        """The type in printed jaxprs."""
        return str(self)

    def _missing(self, method: str) -> NoReturn:
        raise NotImplementedError(f"subclass {type(self)} must implement `{method}`")


def is_hi_type(aval: object) -> bool:
    """Whether a type is that of a value made of several arrays.

    Args:
      aval: the type.

    Returns:
      A bool.

    Example:
      >>> from ricci_ir import get_aval, is_hi_type
      >>> is_hi_type(get_aval(2.0))
      False
    """
    return isinstance(aval, HiType)


def register_hitype(val_cls: type, typeof_fn: Callable[[Any], HiType]) -> None:
    """Register a class of values that are made of several arrays.

    Args:
      val_cls: the class.
      typeof_fn: returns the type of a value.

    Example:
      >>> import ricci
      >>> from ricci.experimental import hijax
      >>> class Pair:
      ...     pass
      >>> class PairType(hijax.HiType):
      ...     def __str__(self):
      ...         return "pair"
      >>> hijax.register_hitype(Pair, lambda pair: PairType())
      >>> print(ricci.typeof(Pair()))
      pair
    """
    hi_values.in_use = True
    hi_values.rules[val_cls] = aval_rules[val_cls] = typeof_fn
