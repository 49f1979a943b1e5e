"""The base class of types of values in jaxprs."""

from collections.abc import Callable
from typing import Any

from ricci_ir._guarded_namespaces import without_boundaries
from ricci_ir._hook import Hook

from ._type_sharding import ManualAxisType, TypeSharding

__all__ = ["AbstractValue", "add_parts"]

# A batch dimension, or the ``MappingSpec`` of a value of several arrays; ``None`` if not mapped.
type BatchSpec = Any

# The sum of two values of a type, part by part.
add_parts: Hook[Callable[["AbstractValue", Any, Any], Any]] = Hook(
    "sums by parts", provided_by="ricci_lax"
)


@without_boundaries
class AbstractValue:
    """The type of a value in a jaxpr."""

    __slots__ = ("__weakref__",)

    type_sharding: TypeSharding | None = None

    def str_short(self, short_dtypes: bool = False) -> str:
        """The type in short: ``float32[3]``, or ``f32[3]`` as in printed jaxprs."""
        raise TypeError(f"{type(self).__name__} has no short form")

    # A type of one array, or of a token, is made of itself alone; see ``HiType``.
    is_high: bool = False

    def lo_ty(self) -> "list[AbstractValue]":
        """The types of the arrays that values are made of."""
        return [self]

    def lower_val[T](self, hi_val: T, /) -> list[T]:
        """The arrays that a value is made of."""
        return [hi_val]

    def raise_val[T](self, *lo_vals: T) -> T:
        """The value that is made of these arrays."""
        (value,) = lo_vals
        return value

    def to_tangent_aval(self) -> "AbstractValue":
        """The type of tangents."""
        raise NotImplementedError(f"{type(self).__name__} has no tangents")

    def to_ct_aval(self) -> "AbstractValue":
        """The type of cotangents; by default that of tangents."""
        return self.to_tangent_aval()

    def at_least_vspace(self) -> "AbstractValue":
        """Another name of ``to_tangent_aval``."""
        return self.to_tangent_aval()

    def vspace_add[T](self, x: T, y: T) -> T:
        """The sum of two values of the type; by default part by part."""
        return add_parts.call(self, x, y)

    def dec_rank(self, size: int | None, spec: BatchSpec) -> "AbstractValue":
        """The type of one example of a batch of this type."""
        raise NotImplementedError(f"{type(self).__name__} must implement dec_rank")

    def inc_rank(self, size: int | None, spec: BatchSpec) -> "AbstractValue":
        """The type of a batch of values of this type."""
        raise NotImplementedError(f"{type(self).__name__} must implement inc_rank")

    def leading_axis_spec(self) -> BatchSpec:
        """The mapping over leading axes."""
        return 0

    def update(self, **changes: object) -> "AbstractValue":
        """This type with some parts replaced."""
        raise NotImplementedError(f"{type(self).__name__} must implement update")

    def update_weak_type(self, weak_type: bool) -> "AbstractValue":
        """This type with a dtype that is weak, or not; by default the type itself."""
        return self

    def update_manual_axis_type(self, mat: ManualAxisType) -> "AbstractValue":
        """This type with other manual mesh axes; by default the type itself."""
        return self

    def strip_weak_type(self) -> "AbstractValue":
        """This type with a dtype that is not weak."""
        return self.update_weak_type(False)

    def normalize(self) -> "AbstractValue":
        """The type by which values are compared: by default without weak types."""
        return self.strip_weak_type()

    def reshard(self, sharding: object) -> "AbstractValue":
        """The type of a value that ``reshard`` moved to another sharding."""
        raise NotImplementedError(f"{type(self).__name__} must implement reshard")
