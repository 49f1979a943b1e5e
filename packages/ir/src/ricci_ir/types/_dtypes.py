"""Element types of arrays: their names, their families, and their canonical (32-bit) forms."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from ricci_ir._config import enable_x64, explicit_x64_dtypes
from ricci_ir._option_kinds import ExplicitX64Mode
from ricci_ir._source import warn_user
from ricci_ir._traceback_filtering import boundary, leave, user_arguments

__all__ = ["array_dtypes", "bfloat16", "BOOL", "canonicalize_dtype", "coerce_to_array_dtype"]
__all__ += ["COMPLEXES", "dtype", "dtype_named", "explicit_dtype", "extended", "extended_dtypes"]
__all__ += ["ExtendedDType", "finfo", "float0", "FLOAT4", "float4_e2m1fn", "FLOAT6"]
__all__ += ["float6_e2m3fn", "float6_e3m2fn", "FLOAT8", "float8_e3m4", "float8_e4m3"]
__all__ += ["float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2"]
__all__ += ["float8_e5m2fnuz", "float8_e8m0fnu", "FLOATS", "iinfo", "instead_of", "int1", "int2"]
__all__ += ["int4", "INTS", "is_array_dtype", "is_extended", "is_narrowed", "is_wide", "issubdtype"]
__all__ += ["itemsize_bits", "prng_key", "python_scalar_dtype", "python_scalar_dtypes"]
__all__ += ["scalar_type_of", "short_name", "SMALL_INTS", "to_tangent_dtype", "uint1", "uint2"]
__all__ += ["uint4", "UINTS"]

bfloat16 = ml_dtypes.bfloat16
float4_e2m1fn = ml_dtypes.float4_e2m1fn
float6_e2m3fn = ml_dtypes.float6_e2m3fn
float6_e3m2fn = ml_dtypes.float6_e3m2fn
float8_e3m4 = ml_dtypes.float8_e3m4
float8_e4m3 = ml_dtypes.float8_e4m3
float8_e4m3b11fnuz = ml_dtypes.float8_e4m3b11fnuz
float8_e4m3fn = ml_dtypes.float8_e4m3fn
float8_e4m3fnuz = ml_dtypes.float8_e4m3fnuz
float8_e5m2 = ml_dtypes.float8_e5m2
float8_e5m2fnuz = ml_dtypes.float8_e5m2fnuz
float8_e8m0fnu = ml_dtypes.float8_e8m0fnu
int1 = ml_dtypes.int1
int2 = ml_dtypes.int2
int4 = ml_dtypes.int4
uint1 = ml_dtypes.uint1
uint2 = ml_dtypes.uint2
uint4 = ml_dtypes.uint4

finfo = ml_dtypes.finfo
iinfo = ml_dtypes.iinfo

# The tangent of an integer carries no information; its arrays take no memory.
float0: np.dtype[Any] = np.dtype([("float0", np.void, 0)])

FLOAT4: tuple[np.dtype[Any], ...] = tuple(map(np.dtype, (float4_e2m1fn,)))
FLOAT6: tuple[np.dtype[Any], ...] = tuple(map(np.dtype, (float6_e2m3fn, float6_e3m2fn)))
FLOAT8: tuple[np.dtype[Any], ...] = tuple(
    np.dtype(t)
    for t in (
        *(float8_e3m4, float8_e4m3, float8_e4m3b11fnuz, float8_e4m3fn, float8_e4m3fnuz),
        *(float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu),
    )
)
SMALL_INTS: tuple[np.dtype[Any], ...] = tuple(
    map(np.dtype, (int1, int2, int4, uint1, uint2, uint4))
)
BOOL = np.dtype(bool)
INTS: tuple[np.dtype[Any], ...] = tuple(map(np.dtype, "int8 int16 int32 int64".split()))
UINTS: tuple[np.dtype[Any], ...] = tuple(map(np.dtype, "uint8 uint16 uint32 uint64".split()))
FLOATS: tuple[np.dtype[Any], ...] = (
    np.dtype(bfloat16),
    *map(np.dtype, "float16 float32 float64".split()),
)
COMPLEXES = (np.dtype("complex64"), np.dtype("complex128"))

array_dtypes: frozenset[np.dtype[Any]] = frozenset(
    (BOOL, *SMALL_INTS, *INTS, *UINTS, *FLOAT4, *FLOAT6, *FLOAT8, *FLOATS, *COMPLEXES)
)

# The base class, in NumPy's hierarchy, of the scalar types of ml_dtypes.
_ABSTRACT: dict[type, type] = {
    **{d.type: np.floating for d in (*FLOAT4, *FLOAT6, *FLOAT8, FLOATS[0])},
    **dict.fromkeys((int1, int2, int4), np.signedinteger),
    **dict.fromkeys((uint1, uint2, uint4), np.unsignedinteger),
}

_BITS = {
    **dict.fromkeys(map(np.dtype, (int1, uint1)), 1),
    **dict.fromkeys(map(np.dtype, (int2, uint2)), 2),
    **dict.fromkeys(map(np.dtype, (int4, uint4, float4_e2m1fn)), 4),
    **dict.fromkeys(FLOAT6, 6),
}

_NARROW = {
    np.dtype(wide): np.dtype(narrow)
    for wide, narrow in (
        ("int64", "int32"),
        ("uint64", "uint32"),
        ("float64", "float32"),
        ("complex128", "complex64"),
    )
}


class extended(np.generic):
    """The abstract scalar type of all extended dtypes."""


class prng_key(extended):
    """The scalar type of random keys."""


class ExtendedDType:
    """Base class of dtypes beyond NumPy's, such as that of random keys.

    A subclass defines ``name`` (as printed), ``type`` (a subclass of ``extended``) and
    ``itemsize``; equal dtypes compare and hash equal. An executable represents an array of an
    extended dtype by a physical array of numbers, whose last dimensions belong to the elements.
    ``physical_aval(aval)`` is its type, ``from_physical(array)`` makes an extended array of it, and
    the attribute ``physical`` of an extended array is the array of numbers.
    """

    __slots__ = ()

    name: str
    type: type
    itemsize: int

    def physical_aval(self, aval: Any) -> Any:
        """The type of the array of numbers that represents an array of type ``aval``."""
        raise NotImplementedError(f"the dtype {self} does not define physical_aval")

    def from_physical(self, array: Any) -> Any:
        """The array of this dtype that an array of numbers represents."""
        raise NotImplementedError(f"the dtype {self} does not define from_physical")

    def __repr__(self) -> str:
        return self.name


_named = {dtype.name: dtype for dtype in (*array_dtypes, float0)}

extended_dtypes: list[Callable[[str], ExtendedDType | None]] = []
"""Functions that look up an extended dtype by name; a package that defines some adds one."""


def dtype_named(name: str) -> Any:
    """The dtype whose attribute ``name`` is ``name``.

    Raises:
      TypeError: if the name is unknown.

    Example:
      >>> from ricci_ir import dtype_named
      >>> dtype_named("bfloat16")
      dtype(bfloat16)
    """
    result = _named.get(name)
    if result is None:
        result = next((d for find in extended_dtypes if (d := find(name)) is not None), None)
    if result is None:
        raise TypeError(f"unknown dtype {name!r}")
    return result


# The dtype of each Python scalar type, and the canonical one by whether 64-bit types are on.
python_scalar_dtypes: dict[type, np.dtype] = {
    bool: BOOL,
    int: np.dtype("int64"),
    float: np.dtype("float64"),
    complex: np.dtype("complex128"),
}
_python_scalar: dict[bool, dict[type, np.dtype]] = {
    False: {t: _NARROW.get(d, d) for t, d in python_scalar_dtypes.items()},
    True: python_scalar_dtypes,
}
_canonical: dict[bool, dict[Any, np.dtype]] = {
    False: {d: _NARROW.get(d, d) for d in array_dtypes},
    True: {d: d for d in array_dtypes},
}
_INT_LIMIT = {False: 2**31, True: 2**63}


def canonicalize_dtype(dtype: object, allow_extended_dtype: bool = False) -> Any:
    """The dtype of arrays for a requested one: a 32-bit one while 64-bit dtypes are off.

    Args:
      dtype: a dtype or an argument of ``np.dtype``.
      allow_extended_dtype: whether to return an extended dtype unchanged instead of raising.

    Returns:
      A NumPy dtype, or the extended dtype itself.

    Raises:
      TypeError: if ``dtype`` does not name a dtype.
      ValueError: for an extended dtype that is not allowed.

    Example:
      >>> from ricci import dtypes
      >>> dtypes.canonicalize_dtype("float64")
      dtype('float32')
    """
    try:
        return _canonical[enable_x64.value][dtype]
    except (KeyError, TypeError):
        return _canonicalize(dtype, allow_extended_dtype)


def _canonicalize(dtype: object, allow_extended_dtype: bool) -> Any:
    if is_extended(dtype):
        if not allow_extended_dtype:
            raise ValueError(f"{dtype} is an extended dtype, without an equivalent in NumPy")
        return dtype
    numpy_dtype = _numpy_dtype(dtype)
    x64 = enable_x64.value
    canonical = numpy_dtype if x64 else _NARROW.get(numpy_dtype, numpy_dtype)
    try:
        _canonical[x64][dtype] = canonical
    except TypeError:  # an unhashable description such as a list of fields
        pass
    return canonical


def _numpy_dtype(dtype: Any) -> np.dtype:
    if isinstance(dtype, type) and issubclass(dtype, np.generic) and not dtype.__subclasses__():
        return np.dtype(dtype)
    # NumPy would read such a type as a default dtype (``np.floating`` as float64).
    if dtype in (np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger) or (
        dtype in (np.inexact, np.floating, np.complexfloating)
    ):
        raise TypeError(f"{dtype.__name__} is a family of dtypes: name one, such as float32")
    return np.dtype(dtype)


def is_extended(dtype: object) -> bool:
    """Whether ``dtype`` is an extended dtype, or the scalar type of one."""
    return isinstance(dtype, ExtendedDType) or (
        isinstance(dtype, type) and issubclass(dtype, extended)
    )


def is_wide(dtype: object) -> bool:
    """Whether ``dtype`` is a 64-bit dtype, which is narrowed while 64-bit dtypes are off."""
    return dtype in _NARROW


def is_narrowed(dtype: object) -> bool:
    """Whether values of ``dtype`` are narrowed now: it has 64 bits, and those are off."""
    return dtype in _NARROW and not enable_x64.value


def python_scalar_dtype(cls: type, value: Any = None) -> np.dtype:
    """The dtype of a Python scalar.

    Args:
      cls: ``bool``, ``int``, ``float`` or ``complex``.
      value: if given, must be representable in the dtype.

    Raises:
      OverflowError: if ``value`` is an int that the dtype cannot hold.

    Example:
      >>> from ricci_ir import python_scalar_dtype
      >>> python_scalar_dtype(int)
      dtype('int32')
    """
    x64 = enable_x64.value
    result = _python_scalar[x64][cls]
    if cls is int and value is not None:
        limit = _INT_LIMIT[x64]
        if not -limit <= value < limit:
            raise OverflowError(
                f"Python int {value} too large to convert to {result}: give it a dtype that can "
                f"hold it{'' if x64 else ', or turn on jax_enable_x64'}"
            )
    return result


def explicit_dtype(dtype: Any, where: str = "", named: bool = False) -> Any:
    """The dtype to use for one that the user requested explicitly.

    A Python scalar type selects the default dtype of its kind, and ``None`` that of ``float``. If
    64-bit dtypes are off and the user's call names one, the option ``jax_explicit_x64_dtypes``
    decides. A 64-bit dtype that it does not name is that of an operand, which is kept.

    Args:
      dtype: the dtype from the user, or from Ricci's own code.
      where: the name of the function with that argument, for messages.
      named: whether the user is known to have named it, in an earlier call.

    Raises:
      TypeError: if ``dtype`` does not name a dtype.
      ValueError: if 64-bit dtypes are off and the option is ``"error"``, or if an array is given.
    """
    try:
        if dtype in array_dtypes and (dtype not in _NARROW or enable_x64.value):
            return dtype
    except TypeError:
        if hasattr(type(dtype), "aval"):
            raise ValueError(
                f"{where}: expected a dtype, got an array of dtype {dtype.dtype}. Write x.dtype."
            ) from None
    if dtype is None:
        return python_scalar_dtype(float)
    if is_extended(dtype):
        return dtype
    canonical = canonicalize_dtype(dtype)
    if enable_x64.value or (isinstance(dtype, type) and dtype in python_scalar_dtypes):
        return canonical
    requested = _numpy_dtype(dtype)
    if requested == canonical or requested not in _NARROW:
        return canonical
    mode = explicit_x64_dtypes.value
    named = named or any(_names(argument, requested) for argument in user_arguments())
    if mode is ExplicitX64Mode.ALLOW or not named:
        return requested
    what = f"{where}: " if where else ""
    advice = "Turn on the option jax_enable_x64 to have 64-bit dtypes."
    if mode is ExplicitX64Mode.ERROR:
        raise ValueError(f"{what}dtype {requested} was asked for, but they are off. {advice}")
    warn_user(
        f"{what}dtype {requested} was asked for and is not available, so {canonical} is used. "
        f"{advice}"
    )
    return canonical


def _names(x: Any, dtype: np.dtype) -> bool:
    """Whether ``x``, which may be anything, names a dtype, other than by a Python scalar type."""
    if isinstance(x, str):
        x = np.sctypeDict.get(x.lstrip("<=|"))
    if isinstance(x, type):
        concrete = issubclass(x, np.generic) and not x.__subclasses__()
        x = np.dtype(x) if concrete else getattr(x, "dtype", None)
    return isinstance(x, np.dtype) and x == dtype


def dtype(x: Any) -> Any:
    """The canonical dtype of an array, a scalar or a description of a dtype.

    Example:
      >>> import numpy as np
      >>> from ricci_ir import dtype
      >>> dtype(1.5), dtype("int8"), dtype(np.zeros(3))
      (dtype('float32'), dtype('int8'), dtype('float32'))
    """
    cls = type(x)
    if cls in python_scalar_dtypes:
        return python_scalar_dtype(cls)
    if not isinstance(x, type) and hasattr(x, "dtype"):
        x = x.dtype
    return canonicalize_dtype(x, allow_extended_dtype=True)


@boundary
def issubdtype(a: object, b: object) -> bool:
    """Whether dtype ``a`` is ``b``, or belongs to the family ``b``.

    Args:
      a, b: dtypes, scalar types, families such as ``np.floating``, or names. The families also
        hold the small floats and ints, and ``extended`` and ``prng_key`` are families.

    Returns:
      A bool.

    Example:
      >>> import numpy as np
      >>> from ricci import dtypes
      >>> import ricci.numpy as jnp
      >>> kinds = (dtypes.bfloat16, np.floating), (jnp.int4, np.signedinteger)
      >>> tuple(dtypes.issubdtype(dtype, kind) for dtype, kind in kinds)
      (True, True)
      >>> dtypes.issubdtype(np.float32, np.integer)
      False
    """
    try:
        return _issubdtype(a, b)
    except Exception as error:
        leave(error)
        raise


@lru_cache(maxsize=4096)
def _issubdtype(a: object, b: object) -> bool:
    if isinstance(b, ExtendedDType):
        return a == b
    cls, family = _scalar_class(a), _scalar_class(b)
    if issubclass(cls, family):
        return True
    # The scalar types of ml_dtypes derive from ``np.generic`` alone, so NumPy's hierarchy does not
    # have them.
    abstract = _ABSTRACT.get(cls)
    return abstract is not None and issubclass(abstract, family)


def _scalar_class(x: Any) -> type:
    if isinstance(x, ExtendedDType):
        return x.type
    if isinstance(x, type) and issubclass(x, np.generic):
        return x
    return np.dtype(x).type


def itemsize_bits(dtype: Any) -> int:
    """The number of bits of an element.

    Args:
      dtype: the dtype.

    Returns:
      An int.

    Raises:
      ValueError: if ``dtype`` is ``None`` or not the dtype of a number.

    Example:
      >>> import numpy as np
      >>> from ricci import dtypes
      >>> import ricci.numpy as jnp
      >>> dtypes.itemsize_bits(jnp.int4), dtypes.itemsize_bits(np.complex64)
      (4, 64)
    """
    if dtype is None:
        raise ValueError("itemsize_bits: expected a dtype, got None")
    number_dtype = dtype if is_extended(dtype) else np.dtype(dtype)
    if number_dtype not in array_dtypes:
        raise ValueError(f"itemsize_bits: {number_dtype} is not the dtype of a number")
    return _BITS[number_dtype] if number_dtype in _BITS else number_dtype.itemsize * 8


def scalar_type_of(x: object) -> type:
    """The Python type of the scalars of an array, a scalar or a dtype.

    Args:
      x: an array, a Python scalar or a dtype.

    Returns:
      The class ``bool``, ``int``, ``float`` or ``complex``.

    Raises:
      TypeError: if they are not numbers.
      ValueError: for ``None``.

    Example:
      >>> import numpy as np
      >>> from ricci import dtypes
      >>> [dtypes.scalar_type_of(x) for x in (dtypes.bfloat16, 3, np.ones(2, bool))]
      [<class 'float'>, <class 'int'>, <class 'bool'>]
    """
    if x is None:
        raise ValueError("scalar_type_of: expected an array, a scalar or a dtype, got None")
    element_dtype = dtype(x)
    for family, scalar in _SCALARS:
        if issubdtype(element_dtype, family):
            return scalar
    raise TypeError(
        f"scalar_type_of: {x!r} has dtype {element_dtype}, which is not that of a number"
    )


_SCALARS = (
    (np.bool_, bool),
    (np.integer, int),
    (np.floating, float),
    (np.complexfloating, complex),
)


def to_tangent_dtype(primal_dtype: np.dtype | ExtendedDType) -> Any:
    """The dtype of tangents: that of the primals, or ``float0`` if it is discrete."""
    return primal_dtype if issubdtype(primal_dtype, np.inexact) else float0


def is_array_dtype(dtype: object) -> bool:
    """Whether arrays can have this dtype: a number's, ``float0``, or an extended one."""
    return dtype in array_dtypes or dtype == float0 or isinstance(dtype, ExtendedDType)


_INSTEAD = {
    "U": "Keep text in NumPy; np.unique(x, return_inverse=True) gives a number for each word.",
    "M": "Take the time since a date, in a unit: (x - x.min()) / np.timedelta64(1, 's').",
    "m": "Divide by a unit: x / np.timedelta64(1, 's').",
    "V": "Make an array of each field: {name: x[name] for name in x.dtype.names}.",
    "O": "Convert numbers with x.astype(float), and join arrays of one shape with stack; arrays of "
    "different shapes stay a list.",
}


def instead_of(dtype: object) -> str:
    """Advice for values of a NumPy dtype that arrays cannot have, as a sentence to append.

    Example:
      >>> import numpy as np
      >>> from ricci_ir import instead_of
      >>> instead_of(np.dtype("m8[s]"))
      " Divide by a unit: x / np.timedelta64(1, 's')."
    """
    if not isinstance(dtype, np.dtype):
        return ""
    if not dtype.isnative:
        return " x.astype(x.dtype.newbyteorder('=')) makes it native."
    kind = {"S": "U", "T": "U"}.get(dtype.kind, dtype.kind)
    return f" {_INSTEAD[kind]}" if kind in _INSTEAD else ""


def coerce_to_array_dtype(x: object) -> Any:
    """The dtype of the array that ``x``, a scalar or an array, becomes.

    Raises:
      TypeError: for strings, dates, objects and other values that are not numbers.
      OverflowError: for a Python int too large for its dtype.
    """
    cls = type(x)
    if cls in python_scalar_dtypes:
        return python_scalar_dtype(cls, x)
    array_dtype = getattr(x, "dtype", None)
    if array_dtype is None and isinstance(x, int | float | complex):
        base = next(t for t in (int, float, complex) if isinstance(x, t))
        return python_scalar_dtype(base, x)
    if array_dtype is None or not is_array_dtype(array_dtype):
        of = "" if array_dtype is None else f" with dtype {array_dtype}"
        raise TypeError(
            f"Value {x!r} of type {cls.__module__}.{cls.__qualname__}{of} cannot be an array: "
            f"only numbers and booleans in native byte order can.{instead_of(array_dtype)}"
        )
    return canonicalize_dtype(array_dtype, allow_extended_dtype=True)


_short_names: dict[Any, str] = {float0: "float0"}  # as many as there are dtypes


def short_name(dtype: np.dtype | ExtendedDType) -> str:
    """The name of a dtype in printed jaxprs.

    Example:
      >>> import numpy as np
      >>> from ricci_ir import float8_e4m3fn, short_name
      >>> short_name(np.dtype("float32")), short_name(np.dtype(float8_e4m3fn))
      ('f32', 'f8_e4m3fn')
    """
    try:
        return _short_names[dtype]
    except KeyError:
        return _short_names.setdefault(dtype, _shorten(dtype))


def _shorten(dtype: Any) -> str:
    if is_extended(dtype):
        return dtype.name
    name = np.dtype(dtype).name
    for long, short in (("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c")):
        name = name.replace(long, short)
    return name
