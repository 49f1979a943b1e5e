"""The types of references: mutable arrays in jaxprs."""

import threading
import weakref
from typing import Any

from ._abstract_value import AbstractValue
from ._aval import ShapedArray
from ._type_sharding import ManualAxisType, TypeSharding

__all__ = ["AbstractRef"]

_living: "weakref.WeakValueDictionary[Any, AbstractRef]" = weakref.WeakValueDictionary()
_lock = threading.RLock()  # reentrant: a destructor that runs inside may make a type


class AbstractRef(AbstractValue):
    """The type of a reference: the type of the array that it holds.

    Equal types are one object, as those of arrays are.

    Args:
      inner_aval: the type of the array, and of all values that are written.
      memory_space: the memory of the array; ``None`` for the default one.
      kind: a name that the creator of the reference chose, or another value for it. One with an
        ``element_name`` is printed with that name in place of the dtype.

    Example:
      >>> import numpy as np
      >>> from ricci.core import ShapedArray
      >>> from ricci.ref import AbstractRef
      >>> AbstractRef(ShapedArray((3,), np.float32))
      Ref{float32[3]}
    """

    __slots__ = ("inner_aval", "kind", "memory_space")

    inner_aval: ShapedArray
    memory_space: Any
    kind: Any

    def __new__(
        cls, inner_aval: AbstractValue, memory_space: Any = None, kind: Any = None
    ) -> "AbstractRef":
        key = (inner_aval, memory_space, kind)
        with _lock:
            aval = _living.get(key)
            if aval is None:
                aval = object.__new__(cls)
                aval.inner_aval = inner_aval  # pyright: ignore[reportAttributeAccessIssue]
                aval.memory_space, aval.kind = memory_space, kind
                _living[key] = aval
            return aval

    def __reduce__(self) -> Any:
        return AbstractRef, (self.inner_aval, self.memory_space, self.kind)

    def __copy__(self) -> "AbstractRef":
        return self

    def __deepcopy__(self, memo: Any) -> "AbstractRef":
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape."""
        return self.inner_aval.shape

    @property
    def dtype(self) -> Any:
        """The array's dtype."""
        return self.inner_aval.dtype

    @property
    def ndim(self) -> int:
        """The number of the array's dimensions."""
        return self.inner_aval.ndim

    @property
    def size(self) -> int:
        """The number of the array's elements."""
        return self.inner_aval.size

    @property
    def weak_type(self) -> bool:
        """Whether the array's dtype is weak."""
        return self.inner_aval.weak_type

    @property
    def sharding(self) -> Any:
        """The array's sharding."""
        return self.inner_aval.sharding

    @property
    def type_sharding(self) -> TypeSharding | None:  # pyright: ignore
        """The sharding of the array's type."""
        return self.inner_aval.type_sharding

    def update(self, inner_aval: AbstractValue | None = None, **changes: Any) -> "AbstractRef":
        """This type with another array type, or with parts of the array type replaced."""
        inner = self.inner_aval if inner_aval is None else inner_aval
        if changes:
            inner = inner.update(**changes)  # pyright: ignore[reportAttributeAccessIssue]
        return AbstractRef(inner, self.memory_space, self.kind)

    def to_tangent_aval(self) -> "AbstractRef":
        """The type of references to tangents."""
        return self.update(self.inner_aval.to_tangent_aval())

    def to_ct_aval(self) -> "AbstractRef":
        """The type of references to cotangents."""
        return self.update(self.inner_aval.to_ct_aval())

    def dec_rank(self, size: int | None, spec: int | None) -> "AbstractRef":
        """The type of references to one example of a batch along a dimension."""
        return self.update(self.inner_aval.dec_rank(size, spec))

    def inc_rank(self, size: int | None, spec: int | None) -> "AbstractRef":
        """The type of references to a batch along a dimension."""
        return self.update(self.inner_aval.inc_rank(size, spec))

    def update_weak_type(self, weak_type: bool) -> "AbstractRef":
        """This type with a dtype that is weak, or not."""
        return self.update(self.inner_aval.update_weak_type(weak_type))

    def update_manual_axis_type(self, mat: ManualAxisType) -> "AbstractRef":
        """This type with other manual mesh axes."""
        return self.update(self.inner_aval.update_manual_axis_type(mat))

    def remove_dimension(self, dim: int) -> "AbstractRef":
        """The type of references to the parts along one of the dimensions."""
        return self.update(self.inner_aval.remove_dimension(dim))

    def __getattr__(self, name: str) -> Any:
        if hasattr(ShapedArray, name):
            raise TypeError(
                f"a reference of type {self} was used as an array. Read it first: ref[...]."
            )
        raise AttributeError(f"AbstractRef has no attribute {name!r}")

    def __len__(self) -> int:
        return len(self.inner_aval)

    def str_short(self, short_dtypes: bool = False) -> str:
        """The type in short, such as ``Ref{float32[3]}``."""
        space = "" if self.memory_space is None else f"<{self.memory_space}>"
        element = getattr(self.kind, "element_name", None)
        if element is None:
            return f"Ref{space}{{{self.inner_aval.str_short(short_dtypes)}}}"
        return f"Ref{space}{{{element}[{','.join(map(str, self.shape))}]}}"

    def __str__(self) -> str:
        return self.str_short()

    def __repr__(self) -> str:
        return self.str_short()
