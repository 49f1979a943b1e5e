"""Abstract values: the types of values in traced programs."""

import threading
import weakref
from collections.abc import Callable, Iterable
from math import prod
from operator import index
from typing import Any

import numpy as np

from ricci_ir._cache import Cache

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

__all__ = [
    "abstract_token",
    "AbstractToken",
    "AbstractValue",
    "aval_rules",
    "get_aval",
    "shaped_like",
    "ShapedArray",
    "type_sharding",
]


class AbstractValue:
    """The type of a value in a traced program."""

    __slots__ = ("__weakref__",)

    def str_short(self, short_dtypes: bool = False) -> str:
        """The type in short: ``float32[3]``, or ``f32[3]`` as in printed jaxprs."""
        raise TypeError(f"{type(self).__name__} has no short form")


class AbstractToken(AbstractValue):
    """The type of a token that orders side effects."""

    __slots__ = ()

    def str_short(self, short_dtypes: bool = False) -> str:
        """The name of the type in printed jaxprs."""
        return "Tok"

    def __repr__(self) -> str:
        return "Tok"


abstract_token: AbstractToken = AbstractToken()

# ``_living`` holds every type that is in use, so that there are never two objects for one type.
# ``_interned`` finds the common types quickly and keeps them alive between uses.
_interned: Cache[Any, "ShapedArray"] = Cache("array types", 8192)
_usual = _interned.entries
_living: weakref.WeakValueDictionary[Any, "ShapedArray"] = weakref.WeakValueDictionary()
_lock = threading.RLock()  # reentrant: a destructor that runs inside may make a type


class TypeSharding:
    """The function that makes the ``sharding`` of types; a runtime with shardings registers it."""

    __slots__ = ("make",)

    def __init__(self):
        self.make: Callable[[int], Any] | None = None

    def register(self, make: Callable[[int], Any]) -> None:
        """Set ``make(ndim)``, which gives the default sharding of types of a rank."""
        self.make = make


type_sharding: TypeSharding = TypeSharding()


class ShapedArray(AbstractValue):
    """The type of an array: its shape, its dtype and whether the dtype is weak.

    Instances are interned: equal types are one object, so they are compared and hashed by
    identity.

    Args:
      shape: a sequence of non-negative ints.
      dtype: a NumPy dtype (or what ``np.dtype`` takes), or an extended dtype.
      weak_type: whether the dtype gives way to others in promotion, as Python scalars do.
      sharding: ``None``, or the ``sharding`` of another type.

    Raises:
      NotImplementedError: if ``sharding`` spreads arrays over the axes of a mesh.

    Example:
      >>> ShapedArray((3,), np.float32)
      ShapedArray(float32[3])
      >>> ShapedArray((3,), "float32") is ShapedArray([3], np.float32)
      True
    """

    __slots__ = ("_strong", "dtype", "ndim", "shape", "size", "weak_type")

    shape: tuple[int, ...]
    dtype: Any
    weak_type: bool
    ndim: int
    size: int

    def __new__(
        cls, shape: Iterable[Any], dtype: Any, weak_type: bool = False, *, sharding: Any = None
    ) -> "ShapedArray":
        if sharding is not None and not sharding.mesh.empty:
            raise NotImplementedError(
                f"a type cannot say that arrays are spread as {sharding}: how they lie is known of "
                "arrays, not of types. Leave sharding out, or constrain the value that has it."
            )
        try:
            return _usual[shape, dtype, weak_type]
        except (KeyError, TypeError):
            return _intern(shape, dtype, weak_type)

    def __reduce__(self) -> Any:
        return ShapedArray, (self.shape, self.dtype, self.weak_type)

    def __copy__(self) -> "ShapedArray":
        return self

    def __deepcopy__(self, memo: Any) -> "ShapedArray":
        return self

    @property
    def sharding(self) -> Any:
        """The default sharding: a type does not say how its values are spread over devices.

        Raises:
          AttributeError: no runtime that has shardings is imported.
        """
        if type_sharding.make is None:
            raise AttributeError("a type has a sharding where ricci_xla is imported")
        return type_sharding.make(self.ndim)

    def strip_weak_type(self) -> "ShapedArray":
        """This type with a dtype that is not weak."""
        return self._strong

    def update(
        self,
        shape: Iterable[Any] | None = None,
        dtype: Any = None,
        weak_type: bool | None = None,
    ) -> "ShapedArray":
        """This type with some parts replaced."""
        return ShapedArray(
            self.shape if shape is None else shape,
            self.dtype if dtype is None else dtype,
            self.weak_type if weak_type is None else weak_type,
        )

    def to_tangent_aval(self) -> "ShapedArray":
        """The type of the tangents of such values: the same, or float0 for integers."""
        dtype = to_tangent_dtype(self.dtype)
        return self if dtype is self.dtype else ShapedArray(self.shape, dtype)

    at_least_vspace = to_tangent_aval

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def str_short(self, short_dtypes: bool = False) -> str:
        """The type in short: ``float32[3]``, or ``f32[3]`` as in printed jaxprs."""
        name = short_name(self.dtype) if short_dtypes else _name(self.dtype)
        return f"{name}[{','.join(map(str, self.shape))}]"

    def __str__(self) -> str:
        weak = "~" if self.weak_type else ""
        return f"{weak}{_name(self.dtype)}[{','.join(map(str, self.shape))}]"

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({_name(self.dtype)}[{','.join(map(str, self.shape))}]{weak})"


def _name(dtype: Any) -> str:
    if isinstance(dtype, np.dtype):
        return "float0" if dtype == float0 else dtype.name
    return str(dtype)


def _intern(shape, dtype, weak_type) -> ShapedArray:
    shape = tuple(index(size) for size in shape)
    if not isinstance(dtype, np.dtype | ExtendedDType):
        dtype = np.dtype(dtype)
    weak_type = bool(weak_type)
    key = (shape, dtype, weak_type)
    found = _interned.recall(key)
    return _interned.add(key, _living_type(key)) if found is None else found


def _living_type(key: tuple[tuple[int, ...], Any, bool]) -> ShapedArray:
    """The type with this key that is still in use, else a new one."""
    shape, dtype, weak_type = key
    strong = ShapedArray(shape, dtype) if weak_type else None
    with _lock:
        found = _living.get(key)
        if found is None:
            found = object.__new__(ShapedArray)
            found.shape, found.dtype, found.weak_type = key
            found.ndim, found.size = len(shape), prod(shape)
            found._strong = found if strong is None else strong
            _living[key] = found
        return found


def shaped_like(x: Any) -> ShapedArray:
    """The type of anything with a shape and a dtype (a ``ShapeDtypeStruct``, say)."""
    dtype = canonicalize_dtype(x.dtype, allow_extended_dtype=True)
    return ShapedArray(x.shape, dtype, getattr(x, "weak_type", False))


def _array_aval(x: np.ndarray | np.generic) -> ShapedArray:
    known = x.dtype in array_dtypes
    return ShapedArray(x.shape, canonicalize_dtype(x.dtype) if known else coerce_to_array_dtype(x))


# By Python class, the function that gives the type of a value that has no ``aval``.
aval_rules: dict[type, Callable[[Any], AbstractValue]] = {
    np.ndarray: _array_aval,
    bool: lambda x: ShapedArray((), np.dtype(bool)),
    int: lambda x: ShapedArray((), python_scalar_dtype(int, x), True),
    float: lambda x: ShapedArray((), python_scalar_dtype(float), True),
    complex: lambda x: ShapedArray((), python_scalar_dtype(complex), True),
}


def get_aval(x: object) -> AbstractValue:
    """The type of a value: an array, a tracer, a NumPy array or a Python scalar.

    Raises:
      TypeError: if ``x`` is none of these.

    Example:
      >>> get_aval(2.0)
      ShapedArray(float32[], weak_type=True)
    """
    aval = getattr(x, "aval", None)
    if aval is not None:
        return aval
    cls = type(x)
    rule = aval_rules.get(cls)
    if rule is None:
        rule = _inherited_rule(cls)
        if rule is None:
            raise TypeError(
                f"Value {x!r} of type {cls.__module__}.{cls.__qualname__} is not a valid array "
                "type: expected an array, a NumPy array or a Python scalar."
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
