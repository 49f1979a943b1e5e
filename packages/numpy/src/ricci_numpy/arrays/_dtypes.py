"""The dtypes of the namespace, their comparison, and inspection by the array API standard."""

from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any, Literal, final

import ml_dtypes
import numpy as np

import ricci_ir as ir

from ._creation import asarray

__all__ = ["bfloat16", "bool_", "can_cast", "cdouble", "complex64", "complex128", "complex_"]
__all__ += ["csingle", "double", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4"]
__all__ += ["float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2"]
__all__ += ["float8_e5m2fnuz", "float8_e8m0fnu", "float16", "float32", "float64", "float_", "int1"]
__all__ += ["int2", "int4", "int8", "int16", "int32", "int64", "int_", "isdtype", "issubdtype"]
__all__ += ["result_type", "single", "uint", "uint1", "uint2", "uint4", "uint8", "uint16", "uint32"]
__all__ += ["uint64"]

# The conversions that are allowed, from none to all.
type Casting = Literal["no", "equiv", "safe", "same_kind", "unsafe"]


# Not subclasses of NumPy's scalar types: calling one must give an array. Equality, hash and
# isinstance behave as for NumPy's type of the same dtype, so that either works as a key.
class ScalarType(type):
    """The class of scalar types such as ``float32``; calling one makes an array of its dtype."""

    dtype: np.dtype

    def __call__(cls, x: ir.ArrayLike | Sequence[Any]) -> ir.Array:
        try:
            return asarray(x, dtype=cls.dtype)
        except Exception as error:
            ir.leave(error)
            raise

    def __eq__(cls, other: object) -> bool:
        if isinstance(other, ScalarType):
            return cls.dtype == other.dtype
        return other is cls.dtype.type or (isinstance(other, np.dtype) and other == cls.dtype)

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.dtype.type)


def _scalar_type(scalar: type[np.generic], name: str | None = None) -> ScalarType:
    dtype = np.dtype(scalar)
    name = name or dtype.name
    documentation = (
        f"The dtype {dtype.name}; called, it makes an array of that dtype.\n\n"
        f"Example:\n  >>> import ricci.numpy as jnp\n  >>> jnp.{name}(1).shape\n  ()\n"
    )
    members = {
        "dtype": dtype,
        "__numpy_dtype__": dtype,
        "__doc__": documentation,
        "__module__": "ricci_numpy",
    }
    return ir.exported(ScalarType(name, (), members))


bool_: ScalarType = _scalar_type(np.bool_, "bool")
int1: ScalarType = _scalar_type(ml_dtypes.int1)
int2: ScalarType = _scalar_type(ml_dtypes.int2)
int4: ScalarType = _scalar_type(ml_dtypes.int4)
int8: ScalarType = _scalar_type(np.int8)
int16: ScalarType = _scalar_type(np.int16)
int32: ScalarType = _scalar_type(np.int32)
int64: ScalarType = _scalar_type(np.int64)
uint1: ScalarType = _scalar_type(ml_dtypes.uint1)
uint2: ScalarType = _scalar_type(ml_dtypes.uint2)
uint4: ScalarType = _scalar_type(ml_dtypes.uint4)
uint8: ScalarType = _scalar_type(np.uint8)
uint16: ScalarType = _scalar_type(np.uint16)
uint32: ScalarType = _scalar_type(np.uint32)
uint64: ScalarType = _scalar_type(np.uint64)
float4_e2m1fn: ScalarType = _scalar_type(ml_dtypes.float4_e2m1fn)
float6_e2m3fn: ScalarType = _scalar_type(ml_dtypes.float6_e2m3fn)
float6_e3m2fn: ScalarType = _scalar_type(ml_dtypes.float6_e3m2fn)
float8_e3m4: ScalarType = _scalar_type(ml_dtypes.float8_e3m4)
float8_e4m3: ScalarType = _scalar_type(ml_dtypes.float8_e4m3)
float8_e4m3b11fnuz: ScalarType = _scalar_type(ml_dtypes.float8_e4m3b11fnuz)
float8_e4m3fn: ScalarType = _scalar_type(ml_dtypes.float8_e4m3fn)
float8_e4m3fnuz: ScalarType = _scalar_type(ml_dtypes.float8_e4m3fnuz)
float8_e5m2: ScalarType = _scalar_type(ml_dtypes.float8_e5m2)
float8_e5m2fnuz: ScalarType = _scalar_type(ml_dtypes.float8_e5m2fnuz)
float8_e8m0fnu: ScalarType = _scalar_type(ml_dtypes.float8_e8m0fnu)
bfloat16: ScalarType = _scalar_type(ml_dtypes.bfloat16)
float16: ScalarType = _scalar_type(np.float16)
float32: ScalarType = _scalar_type(np.float32)
float64: ScalarType = _scalar_type(np.float64)
complex64: ScalarType = _scalar_type(np.complex64)
complex128: ScalarType = _scalar_type(np.complex128)

int_: ScalarType = int64
uint: ScalarType = uint64
float_: ScalarType = float64
complex_: ScalarType = complex128
single: ScalarType = float32
double: ScalarType = float64
csingle: ScalarType = complex64
cdouble: ScalarType = complex128

_KINDS: dict[str, tuple[type[np.generic], ...]] = {
    "bool": (np.bool_,),
    "signed integer": (np.signedinteger,),
    "unsigned integer": (np.unsignedinteger,),
    "integral": (np.integer,),
    "real floating": (np.floating,),
    "complex floating": (np.complexfloating,),
    "numeric": (np.integer, np.floating, np.complexfloating),
}


def isdtype(dtype: ir.DTypeLike, kind: ir.DTypeLike | tuple[ir.DTypeLike, ...]) -> bool:
    """Whether a dtype is of a kind.

    Args:
      dtype: a dtype.
      kind: a dtype, or one of ``"bool"``, ``"signed integer"``, ``"unsigned integer"``,
        ``"integral"``, ``"real floating"``, ``"complex floating"``, ``"numeric"``, or a tuple of
        these, one of which must hold.

    Returns:
      A Python boolean.

    Raises:
      ValueError: if ``kind`` is another string.
      TypeError: if ``kind`` is none of these.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.isdtype(jnp.bfloat16, "real floating")
      True

    Source: numpy.isdtype.
    """
    try:
        return _is_of_kinds(dtype, kind)
    except TypeError:  # also of an argument that cannot be hashed, such as a list of fields
        return _is_of_kinds.__wrapped__(dtype, kind)


@lru_cache(maxsize=256, typed=True)
def _is_of_kinds(dtype: ir.DTypeLike, kind: ir.DTypeLike | tuple[ir.DTypeLike, ...]) -> bool:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return any(_is_of_kind(np.dtype(dtype), one) for one in kinds)


def _is_of_kind(dtype: np.dtype, kind: ir.DTypeLike) -> bool:
    if isinstance(kind, str) and kind in _KINDS:
        return any(ir.issubdtype(dtype, family) for family in _KINDS[kind])
    try:
        return dtype == np.dtype(kind)
    except TypeError:
        error = ValueError if isinstance(kind, str) else TypeError
        raise error(
            f"isdtype: kind={kind!r} is unknown; give a dtype or one of {', '.join(_KINDS)}."
        ) from None


def issubdtype(arg1: ir.DTypeLike, arg2: ir.DTypeLike) -> bool:
    """Whether a dtype equals another one or belongs to a family of dtypes.

    Args:
      arg1, arg2: dtypes, scalar types, families such as ``floating``, or names.

    Returns:
      A Python boolean.

    Raises:
      TypeError: if one is none of these.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.issubdtype(jnp.bfloat16, jnp.floating), jnp.issubdtype(jnp.int8, jnp.floating)
      (True, False)
      >>> jnp.issubdtype(jnp.ones(2).dtype, jnp.inexact)
      True

    See also:
      ``isdtype``, with names of kinds.

    Source: numpy.issubdtype.
    """
    return ir.issubdtype(arg1, arg2)


def result_type(*args: ir.ArrayLike | ir.DTypeLike) -> np.dtype:
    """The dtype that the result of an operation on these operands has.

    Args:
      args: arrays, scalars or dtypes.

    Returns:
      A dtype.

    Raises:
      TypePromotionError: if there is no common dtype.
      TypeError: if an operand cannot be an array.

    Python's numbers are weakly typed: they leave the dtype of arrays as it is, unless they are of
    another kind, as a float beside integers is.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.result_type(jnp.int8(1), 2.0), jnp.result_type("bfloat16", 2.0)
      (dtype('float32'), dtype(bfloat16))
      >>> jnp.result_type("int32", "bfloat16"), jnp.result_type("float16", "bfloat16")
      (dtype(bfloat16), dtype('float32'))

    See also:
      ``promote_types``, of two dtypes.

    Source: numpy.result_type.
    """
    return ir.result_type(*args)


@ir.boundary
def can_cast(from_: ir.DTypeLike, to: ir.DTypeLike, casting: Casting = "safe") -> bool:
    """Whether values of one dtype can be cast to another under a rule.

    Args:
      from_, to: dtypes.
      casting: ``"no"``, ``"equiv"``, ``"safe"``, ``"same_kind"`` or ``"unsafe"``.

    Returns:
      A Python boolean.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.can_cast("int8", "float32"), jnp.can_cast("float32", "int8")
      (True, False)

    Source: numpy.can_cast.
    """
    try:
        return np.can_cast(from_, to, casting)
    except Exception as error:
        ir.leave(error, "can_cast")
        raise


ARRAY_API_VERSION = "2025.12"
# The modules that give the functions of the array API to users, by name. Packages around this one
# append theirs, and the last one is the namespace of arrays.
array_namespaces = ["ricci_numpy"]
_DTYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128"
).split()
_MAX_DIMENSIONS = 64


@final
class ArrayNamespaceInfo:
    """The namespace's dtypes, devices and capabilities, as the array API standard defines them.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.__array_namespace_info__().default_dtypes()["integral"]
      dtype('int32')

    Source: the array API standard, inspection.
    """

    def capabilities(self) -> dict[str, Any]:
        """Capabilities of arrays, by the standard's names."""
        return {
            "boolean indexing": False,
            "data-dependent shapes": False,
            "max dimensions": _MAX_DIMENSIONS,
        }

    def default_device(self) -> None:
        """The default device of new arrays, which is written ``None``."""

    def devices(self) -> tuple[Any, ...]:
        """The devices that arrays can be on."""
        return ir.backend().devices()

    def default_dtypes(self, *, device: object = None) -> dict[str, np.dtype]:
        """The dtypes that arrays have by default, by kind."""
        integer = ir.python_scalar_dtype(int)
        return {
            "real floating": ir.python_scalar_dtype(float),
            "complex floating": ir.python_scalar_dtype(complex),
            "integral": integer,
            "indexing": integer,
        }

    def dtypes(
        self, *, device: object = None, kind: ir.DTypeLike | tuple[ir.DTypeLike, ...] | None = None
    ) -> dict[str, np.dtype]:
        """The dtypes of the standard that arrays can have, by name.

        Args:
          device: has no effect.
          kind: only those of a kind; see ``isdtype``.

        Raises:
          ValueError: if the kind is unknown.
        """
        standard = {name: np.dtype(name) for name in _DTYPES}
        return {
            name: dtype
            for name, dtype in standard.items()
            if ir.canonicalize_dtype(dtype) == dtype and (kind is None or isdtype(dtype, kind))
        }


def array_namespace_info() -> ArrayNamespaceInfo:
    """Inspection of the namespace: dtypes, devices and capabilities.

    Example:
      >>> import ricci.numpy as jnp
      >>> sorted(jnp.__array_namespace_info__().dtypes(kind="complex floating"))
      ['complex64']

    Source: the array API standard, inspection.
    """
    return ArrayNamespaceInfo()


def array_namespace() -> ModuleType:
    """Return the module with the functions of the array API standard, as users import it."""
    return import_module(array_namespaces[-1])


def check_version(api_version: str | None) -> None:
    """Check that the namespace follows a version of the standard.

    Raises:
      ValueError: if it does not.
    """
    if api_version is not None and api_version != ARRAY_API_VERSION:
        raise ValueError(
            f"x.__array_namespace__: version {api_version!r} of the array API is not supported; "
            f"there is {ARRAY_API_VERSION}."
        )
