"""Abstract values: the types of values in jaxprs, and tokens."""

import threading
import weakref
from collections.abc import Callable, Hashable, Iterable
from math import prod
from typing import Any, Protocol, overload

import numpy as np

from ricci_ir._cache import Cache
from ricci_ir._hook import Hook
from ricci_ir._messages import described_value, registering
from ricci_ir.dimensions import SymbolicDimension, to_sizes

from ._abstract_value import AbstractValue
from ._dtypes import (
    ExtendedDType,
    array_dtypes,
    canonicalize_dtype,
    coerce_to_array_dtype,
    float0,
    python_scalar_dtype,
    short_name,
    to_tangent_dtype,
)
from ._type_sharding import (
    ManualAxisType,
    TypeSharding,
    dimensions_text,
    make_type_sharding,
    with_manual_axes,
)

__all__ = [
    "AbstractToken",
    "ShapedArray",
    "Token",
    "abstract_token",
    "aval_rules",
    "get_aval",
    "hi_values",
    "physical_aval",
    "read_sharding",
    "shaped_like",
    "show_sharding",
]


class AbstractToken(AbstractValue):
    """The type of a token that orders side effects."""

    __slots__ = ()

    def str_short(self, short_dtypes: bool = False) -> str:
        """The name of the type in printed jaxprs."""
        return "Tok"

    def __repr__(self) -> str:
        return "AbstractToken()"


abstract_token: AbstractToken = AbstractToken()

# ``_living`` holds every type that is in use, weakly, so that equal types are one object.
# ``_interned`` is a fast lookup of the common types, and keeps them alive between uses.
_interned: Cache[Any, "ShapedArray"] = Cache("array types", 8192)
_usual = _interned.entries
_living: weakref.WeakValueDictionary[Any, "ShapedArray"] = weakref.WeakValueDictionary()
_lock = threading.RLock()  # reentrant: a destructor that runs inside may make a type


# The sharding of a type as an object of the runtime's class, and the ``TypeSharding`` of such an
# object for arrays of a number of dimensions.
show_sharding: Hook[Callable[["ShapedArray"], Any]] = Hook("shardings", provided_by="ricci_xla")
read_sharding: Hook[Callable[[int, Any], TypeSharding | None]] = Hook(
    "shardings of types", provided_by="ricci_xla"
)

_unchanged: Any = object()


class ShapedArray(AbstractValue):
    """The type of an array: its shape, its dtype and whether the dtype is weak.

    Instances are interned: equal types are one object, so they are compared and hashed by
    identity.

    Args:
      shape: a sequence of non-negative ints and symbolic dimensions.
      dtype: a NumPy dtype (or an argument of ``np.dtype``), or an extended dtype.
      weak_type: whether the dtype gives way to others in promotion, as Python scalars do.
      sharding: the sharding of arrays of the type, a ``NamedSharding`` or a ``TypeSharding``, or
        ``None``.
      manual_axis_type: the manual mesh axes along which values are varying, unreduced or reduced.

    Raises:
      ValueError: if ``manual_axis_type`` names an axis that is not manual in the mesh of the
        sharding.

    Example:
      >>> import numpy as np
      >>> from ricci.core import ShapedArray
      >>> ShapedArray((3,), np.float32)
      ShapedArray(float32[3])
      >>> ShapedArray((3,), "float32") is ShapedArray([3], np.float32)
      True
    """

    __slots__ = ("_strong", "dtype", "ndim", "shape", "size", "type_sharding", "weak_type")

    shape: tuple[int, ...]
    dtype: Any
    weak_type: bool
    ndim: int
    size: int
    type_sharding: TypeSharding | None
    _strong: "ShapedArray | None"  # only of weak types, since a self-reference would be a cycle

    def __new__(
        cls,
        shape: Iterable[Any],
        dtype: Any,
        weak_type: bool = False,
        *,
        sharding: object = None,
        manual_axis_type: ManualAxisType | None = None,
    ) -> "ShapedArray":
        if sharding is not None or manual_axis_type is not None:
            shape = tuple(shape)
            mesh: Any = getattr(sharding, "mesh", None)
            if sharding is not None and type(sharding) is not TypeSharding:
                sharding = read_sharding.call(len(shape), sharding)
            if manual_axis_type is not None:
                sharding = with_manual_axes(len(shape), sharding, manual_axis_type, mesh)
            if sharding is not None:
                return _intern_sharded(shape, dtype, weak_type, sharding)
        try:
            return _usual[shape, dtype, weak_type]
        except (KeyError, TypeError):
            return _intern(shape, dtype, weak_type)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.shape, self.dtype, self.weak_type, self.type_sharding)

    def __copy__(self) -> "ShapedArray":
        return self

    def __deepcopy__(self, memo: object) -> "ShapedArray":
        return self

    @property
    def sharding(self) -> Any:
        """The sharding of values of the type: a ``NamedSharding`` on an abstract mesh.

        Raises:
          AttributeError: if no runtime that has shardings is imported.
        """
        if show_sharding.provider is None:
            raise AttributeError("a type has a sharding where ricci_xla is imported")
        return show_sharding.call(self)

    @property
    def manual_axis_type(self) -> ManualAxisType:
        """The manual axes along which values are varying, unreduced or reduced."""
        sharding = self.type_sharding
        if sharding is None:
            return ManualAxisType()
        varying, unreduced, reduced = sharding.manual
        if (unreduced or reduced) and show_sharding.provider is not None:
            explicit = frozenset(self.sharding.mesh.explicit_axes)  # the sharding names these
            unreduced, reduced = unreduced - explicit, reduced - explicit
        return ManualAxisType(varying=varying, unreduced=unreduced, reduced=reduced)

    mat = manual_axis_type

    @property
    def plain(self) -> "ShapedArray":
        """This type without its sharding."""
        if self.type_sharding is None:
            return self
        return ShapedArray(self.shape, self.dtype, self.weak_type)

    def with_sharding(self, sharding: TypeSharding | None) -> "ShapedArray":
        """This type with another sharding."""
        if sharding == self.type_sharding:
            return self
        return ShapedArray(self.shape, self.dtype, self.weak_type, sharding=sharding)

    def strip_weak_type(self) -> "ShapedArray":
        """This type with a dtype that is not weak."""
        return self if self._strong is None else self._strong

    def update_weak_type(self, weak_type: bool) -> "ShapedArray":
        """This type with a dtype that is weak, or not."""
        return self.update(weak_type=weak_type)

    def update_manual_axis_type(self, mat: ManualAxisType) -> "ShapedArray":
        """This type with other manual mesh axes."""
        return self.update(manual_axis_type=mat)

    def reshard(self, sharding: object) -> "ShapedArray":
        """This type with another sharding: a ``NamedSharding``, or ``None`` for its own."""
        return self if sharding is None else self.update(sharding=sharding)

    def update(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        shape: Iterable[Any] | None = None,
        dtype: object = None,
        weak_type: bool | None = None,
        *,
        sharding: object = _unchanged,
        manual_axis_type: ManualAxisType | None = None,
    ) -> "ShapedArray":
        """This type with some parts replaced.

        Raises:
          ValueError: if a shape is passed without a sharding, and the type's own has more
            dimensions or does not divide the shape evenly; see ``resized``.
        """
        manual = manual_axis_type
        if sharding is _unchanged:
            sharding = self.type_sharding
            if sharding is not None and shape is not None:
                shape = tuple(shape)
                sharding = _padded(sharding, shape)
        elif manual is None and self.type_sharding is not None:
            manual = self.manual_axis_type
        return ShapedArray(
            self.shape if shape is None else shape,
            self.dtype if dtype is None else dtype,
            self.weak_type if weak_type is None else weak_type,
            sharding=sharding,
            manual_axis_type=manual,
        )

    def resized(
        self, shape: Iterable[Any], dtype: object = None, weak_type: bool | None = None
    ) -> "ShapedArray":
        """This type with another shape, whose dimensions are not sharded."""
        sharding = self.type_sharding
        if sharding is not None:
            shape = tuple(shape)
            if shape != self.shape:
                sharding = sharding.update(mesh=None, parts=((),) * len(shape))
        return ShapedArray(
            shape,
            self.dtype if dtype is None else dtype,
            self.weak_type if weak_type is None else weak_type,
            sharding=sharding,
        )

    def insert_dimension(
        self, dim: int, size: int, axes: tuple[Hashable, ...] = ()
    ) -> "ShapedArray":
        """This type with one more dimension, sharded over some mesh axes."""
        sharding = self.type_sharding
        if sharding is not None:
            parts = (*sharding.parts[:dim], axes, *sharding.parts[dim:])
            sharding = sharding.update(parts=parts)
        shape = (*self.shape[:dim], size, *self.shape[dim:])
        return ShapedArray(shape, self.dtype, self.weak_type, sharding=sharding)

    def remove_dimension(self, dim: int) -> "ShapedArray":
        """This type without one of its dimensions."""
        sharding = self.type_sharding
        if sharding is not None:
            sharding = sharding.update(parts=(*sharding.parts[:dim], *sharding.parts[dim + 1 :]))
        shape = (*self.shape[:dim], *self.shape[dim + 1 :])
        return ShapedArray(shape, self.dtype, self.weak_type, sharding=sharding)

    def dec_rank(self, size: int | None, spec: int | None) -> "ShapedArray":
        """The type of one example of a batch along a dimension, ``None`` for an array of all."""
        return self if spec is None else self.remove_dimension(range(self.ndim)[spec])

    def inc_rank(self, size: int | None, spec: int | None) -> "ShapedArray":
        """The type of a batch along a dimension, or of an array of all examples for ``None``."""
        if spec is None:
            return self
        return self.insert_dimension(range(self.ndim + 1)[spec], size)  # pyright: ignore[reportArgumentType]

    def to_tangent_aval(self) -> "ShapedArray":
        """The type of tangents: the same, or one of dtype float0 for integers."""
        dtype = to_tangent_dtype(self.dtype)
        if dtype is self.dtype:
            return self
        return ShapedArray(self.shape, dtype, sharding=self.type_sharding)

    def at_least_vspace(self) -> "ShapedArray":
        """Another name of ``to_tangent_aval``."""
        return self.to_tangent_aval()

    def to_ct_aval(self) -> "ShapedArray":
        """The type of cotangents, whose ``unreduced`` and ``reduced`` mesh axes are swapped."""
        tangent, sharding = self.to_tangent_aval(), self.type_sharding
        if sharding is None or not (sharding.unreduced or sharding.reduced):
            return tangent
        return tangent.with_sharding(sharding.cotangent())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def str_short(self, short_dtypes: bool = False) -> str:
        """The type in short: ``float32[3]``, or ``f32[3]`` as in printed jaxprs."""
        return self._text(short_name(self.dtype) if short_dtypes else _name(self.dtype))

    def _text(self, dtype: str) -> str:
        sharding = self.type_sharding
        suffix = "" if sharding is None else sharding.suffix()
        return f"{dtype}[{dimensions_text(self.shape, sharding)}]{suffix}"

    def __str__(self) -> str:
        return f"{'~' if self.weak_type else ''}{self._text(_name(self.dtype))}"

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self._text(_name(self.dtype))}{weak})"


def _padded(sharding: TypeSharding, shape: tuple[Any, ...]) -> TypeSharding | None:
    """A sharding for another shape, of which further dimensions are replicated.

    Raises:
      ValueError: if the shape has fewer dimensions, or cannot be divided evenly.
    """
    parts = sharding.parts if sharding.is_sharded else ()
    missing = len(shape) - len(parts)
    if missing < 0:
        raise ValueError(
            f"update: the sharding of the type is for {len(sharding.parts)} dimensions, and the "
            f"shape {shape} has {len(shape)}. Pass a sharding with the shape."
        )
    for i, (size, names) in enumerate(zip(shape, parts, strict=False)):
        count = prod(sharding.mesh.shape[name] for name in names)
        if not isinstance(size, SymbolicDimension) and size % count:
            raise ValueError(
                f"update: dimension {i} of the shape {shape} is sharded over {names}, and cannot "
                f"be divided by {count}. Pass a sharding with the shape."
            )
    return sharding.update(parts=(*parts, *((),) * missing)) if missing else sharding


def _name(dtype: object) -> str:
    if isinstance(dtype, np.dtype):
        return "float0" if dtype == float0 else dtype.name
    return str(dtype)


def _intern(shape, dtype, weak_type) -> ShapedArray:
    shape = to_sizes(shape)
    if not isinstance(dtype, np.dtype | ExtendedDType):
        dtype = np.dtype(dtype)
    weak_type = bool(weak_type)
    return _find((shape, dtype, weak_type), None)


def _intern_sharded(
    shape: tuple[Any, ...], dtype: object, weak_type: bool, sharding: TypeSharding
) -> ShapedArray:
    if len(sharding.parts) != len(shape):
        raise ValueError(
            f"{sharding} is the sharding of types of rank {len(sharding.parts)}, but the shape is "
            f"{shape}."
        )
    plain = ShapedArray(shape, dtype, weak_type)
    return _find((plain.shape, plain.dtype, plain.weak_type, sharding), sharding)


def _find(key: tuple[Any, ...], sharding: TypeSharding | None) -> ShapedArray:
    cached = _interned.recall(key)
    return _interned.add(key, _living_type(key, sharding)) if cached is None else cached


def _restored(shape: Any, dtype: object, weak_type: bool, sharding: Any) -> ShapedArray:
    return ShapedArray(shape, dtype, weak_type, sharding=sharding)


def _living_type(key: tuple[Any, ...], sharding: TypeSharding | None) -> ShapedArray:
    """Return the living type with this key, or create it."""
    shape, dtype, weak_type = key[:3]
    strong = ShapedArray(shape, dtype, sharding=sharding) if weak_type else None
    with _lock:
        aval = _living.get(key)
        if aval is None:
            aval = object.__new__(ShapedArray)
            aval.shape, aval.dtype, aval.weak_type = shape, dtype, weak_type
            aval.type_sharding = sharding
            aval.ndim, aval.size = len(shape), prod(shape)
            aval._strong = strong
            _living[key] = aval
        return aval


def shaped_like(x: Any) -> ShapedArray:
    """The type of anything with a shape and a dtype, such as a ``ShapeDtypeStruct``."""
    dtype = canonicalize_dtype(x.dtype, allow_extended_dtype=True)
    return ShapedArray(x.shape, dtype, getattr(x, "weak_type", False))


def _array_aval(x: np.ndarray | np.generic) -> ShapedArray:
    is_native = x.dtype in array_dtypes
    dtype = canonicalize_dtype(x.dtype) if is_native else coerce_to_array_dtype(x)
    return ShapedArray(x.shape, dtype)


# By Python class, the function that returns the type of a value that has no ``aval``.
aval_rules: dict[type, Callable[[Any], AbstractValue]] = {
    **dict.fromkeys((dtype.type for dtype in array_dtypes), _array_aval),
    np.ndarray: _array_aval,
    bool: lambda x: ShapedArray((), np.dtype(bool)),
    int: lambda x: ShapedArray((), python_scalar_dtype(int, x), True),
    float: lambda x: ShapedArray((), python_scalar_dtype(float), True),
    complex: lambda x: ShapedArray((), python_scalar_dtype(complex), True),
    SymbolicDimension: lambda x: ShapedArray((), python_scalar_dtype(int), True),
}


def physical_aval(aval: Any) -> Any:
    """Return the type of the numeric array that holds an extended dtype's array; else ``aval``."""
    dtype = aval.dtype
    if not isinstance(dtype, ExtendedDType):
        return aval
    physical = dtype.physical_aval(aval)
    sharding = aval.type_sharding
    if sharding is None:
        return physical
    parts = (*sharding.parts, *((),) * (physical.ndim - aval.ndim))
    return physical.with_sharding(make_type_sharding(sharding.mesh, parts, *sharding.manual))


class HiValues:
    """The classes of values that are made of several arrays, as ``HiType`` describes.

    Where no such value exists, they cost one look at an attribute.

    Attributes:
      in_use: whether a class was registered, or an operation on such values made.
      rules: by class, the function that returns the type of a value.
    """

    __slots__ = ("in_use", "rules")

    def __init__(self):
        self.in_use: bool = False
        self.rules: dict[type, Callable[[Any], AbstractValue]] = {}


hi_values: HiValues = HiValues()


# The classes of which ``get_aval`` has seen values, and which have an attribute ``aval``.
_typed_classes: set[type] = set()


class Typed(Protocol):
    """A value with an ``aval``: an array or a tracer."""

    @property
    def aval(self) -> ShapedArray:
        """The type."""
        ...


@overload
def get_aval(x: Typed | np.ndarray | np.generic | complex) -> ShapedArray: ...
@overload
def get_aval(x: object) -> AbstractValue: ...
def get_aval(x: object) -> AbstractValue:
    """The type of a value: an array, a tracer, a NumPy array or a Python scalar.

    Raises:
      TypeError: if ``x`` is none of these.

    Example:
      >>> from ricci_ir import get_aval
      >>> get_aval(2.0)
      ShapedArray(float32[], weak_type=True)
    """
    cls = type(x)
    if cls in _typed_classes:
        return x.aval  # pyright: ignore[reportAttributeAccessIssue]
    # A class with a rule may look up all attributes in the arrays that it holds.
    rule = aval_rules.get(cls)
    if rule is None:
        aval = getattr(x, "aval", None)
        if aval is not None:
            if hasattr(cls, "aval"):
                _typed_classes.add(cls)
            return aval
        rule = _inherited_rule(cls)
        if rule is None:
            raise TypeError(
                f"Value {described_value(x)}, is not a valid array type: expected an array, a "
                f"NumPy array or a Python scalar. {registering(x)}".rstrip()
            )
    return rule(x)


def _inherited_rule(cls: type) -> Callable[[Any], AbstractValue] | None:
    if issubclass(cls, np.generic):
        return _array_aval
    if issubclass(cls, np.ma.MaskedArray):
        raise ValueError(
            "a masked array of NumPy was given, and arrays have no masks. Fill in the masked "
            "elements with x.filled(value), or pass x.data and x.mask."
        )
    return next((aval_rules[base] for base in cls.__mro__ if base in aval_rules), None)


class Token:
    """A token that an executable returned.

    Args:
      buffer: the backend's object; waiting for it waits for the effects before the token.

    Example:
      >>> from ricci.extend.core import Token
      >>> Token(None).aval
      AbstractToken()
    """

    __slots__ = ("__weakref__", "buffer")

    def __init__(self, buffer: Any):
        self.buffer: Any = buffer

    @property
    def aval(self) -> AbstractToken:
        """The type of all tokens."""
        return abstract_token

    def block_until_ready(self) -> "Token":
        """Wait for the effects before the token; returns the token."""
        wait = getattr(self.buffer, "block_until_ready", None)
        if wait is not None:
            wait()
        return self
