"""Checks of operands and axes, and NumPy's promotion of dtypes and ranks.

Operands are converted only if they must be: an array of the result's dtype is not touched, and a
Python scalar of that dtype stays a Python scalar, which is a literal in jaxprs.
"""

from collections.abc import Iterable
from functools import lru_cache
from operator import index as as_int
from typing import Any, SupportsIndex

import numpy as np
from ml_dtypes import iinfo

import ricci_ir as ir
from ricci_lax import broadcast_in_dim, convert_element_type, convert_element_type_p

scalar_kinds = frozenset({bool, int, float, complex})
FLOAT_DTYPES = frozenset((*ir.FLOATS, *ir.FLOAT8, *ir.FLOAT6, *ir.FLOAT4))
COMPLEX_DTYPES = frozenset(ir.COMPLEXES)
INEXACT_DTYPES = FLOAT_DTYPES | COMPLEX_DTYPES
INTEGER_DTYPES = frozenset(d for d in ir.array_dtypes if ir.issubdtype(d, np.integer))
NUMERIC_DTYPES = ir.array_dtypes - {ir.BOOL}
REAL_DTYPES = ir.array_dtypes - COMPLEX_DTYPES
INT32 = np.dtype(np.int32)
_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_WIDE_INTEGERS = frozenset(map(np.dtype, (np.int64, np.uint64)))


def is_arraylike(x: object) -> bool:
    """Whether ``x`` is an array, a scalar, or an object that converts to an array."""
    return (
        hasattr(type(x), "aval")
        or isinstance(x, int | float | complex | np.ndarray | np.generic)
        or hasattr(x, "__ricci_array__")
        or hasattr(x, "__jax_array__")
    )


def dtype_of(x: ir.ArrayLike) -> np.dtype:
    """The dtype of an array or scalar."""
    aval = ir.get_aval(x)
    return aval.dtype


def no_out(name: str, out: object) -> None:
    """Raise if ``out`` is given: arrays do not change, so results are not written to one."""
    if out is not None:
        raise NotImplementedError(
            f"{name}: out= is not supported, since arrays do not change. Use the result."
        )


def check_arraylike(name: str, *args: object) -> None:
    """Raise unless every operand is an array or a scalar.

    Raises:
      TypeError: for lists, ``None``, strings, arrays of objects and other values.
    """
    for position, x in enumerate(args):
        if hasattr(type(x), "aval") or type(x) in scalar_kinds:
            continue
        if isinstance(x, np.ndarray | np.generic):
            ir.coerce_to_array_dtype(x)
        elif not is_arraylike(x):
            raise TypeError(
                f"{name} takes arrays and scalars, got {_describe(x)} at position {position}. "
                f"{_advice(x)}"
            )


def _describe(x: object) -> str:
    return "None" if x is None else f"a value of type {type(x).__qualname__}"


def _advice(x: object) -> str:
    if isinstance(x, list | tuple):
        return "Make an array of it first, with numpy.asarray(...)."
    if isinstance(x, str | bytes):
        return "Strings cannot be elements of arrays."
    if isinstance(x, ir.ShapeDtypeStruct):
        return ir.registering(x)
    return "Pass an array, or a class with a method __jax_array__ that returns one."


def as_operand(x: object) -> Any:
    """``x`` as an array or a scalar.

    An object with a method ``__ricci_array__`` or ``__jax_array__`` becomes the array that this
    returns, and an instance of a subclass of ``int``, ``float`` or ``complex`` a plain number.
    """
    if (
        hasattr(type(x), "aval")
        or type(x) in scalar_kinds
        or isinstance(x, np.ndarray | np.generic)
    ):
        return x
    convert = getattr(x, "__ricci_array__", None) or getattr(x, "__jax_array__", None)
    if convert is not None:
        return convert()
    if isinstance(x, int):
        return int(x)
    if isinstance(x, float):
        return float(x)
    return complex(x) if isinstance(x, complex) else x


def operands(name: str, *args: Any) -> list[ir.Array]:
    """The operands of function ``name``, checked; see ``check_arraylike`` and ``as_operand``."""
    for x in args:
        if not hasattr(type(x), "aval"):
            check_arraylike(name, *args)
            return [as_operand(x) for x in args]
    return list(args)


def convert(x: ir.ArrayLike, dtype: ir.DTypeLike, weak_type: bool = False) -> ir.Array:
    """``x`` as an array of the given dtype; an array that has it is returned unchanged."""
    aval = ir.get_aval(x)
    if aval.dtype == dtype and aval.weak_type == weak_type and hasattr(type(x), "aval"):
        return ir.as_array(x)
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak_type, sharding=None)


def as_elements(x: ir.ArrayLike, dtype: ir.DTypeLike) -> ir.Array:
    """``x`` converted to the dtype of an array that it becomes part of, as arrays are converted.

    Raises:
      OverflowError: if it is a Python int that the default dtype does not hold.
    """
    if isinstance(x, complex | np.generic | np.ndarray) and dtype not in COMPLEX_DTYPES:
        x = np.real(x)
    elif type(x) is int:
        x = np.array(x, ir.python_scalar_dtype(int))[()]
    return convert_element_type(x, dtype)


def scalar_or_array(x: Any, dtype: np.dtype, weak: bool) -> Any:
    """``x`` as an operand of the given dtype: Python and NumPy scalars stay scalars."""
    kind = type(x)
    if kind in scalar_kinds:
        return _scalar(x, kind, dtype, weak)
    if isinstance(x, np.generic) or (kind is np.ndarray and not x.shape):
        if weak:  # of a lower kind than the weak operand: an integer beside a weak float
            return _scalar(x.item(), type(x.item()), dtype, weak)
        return ir.exact_scalar(x, dtype)
    aval: Any = ir.get_aval(x)
    if aval.dtype == dtype and (
        aval.weak_type == weak or (ir.context.trace is ir.eval_trace and dtype != ir.BOOL)
    ):
        # A result is weakly typed only if all operands are, so a dtype that fits needs no
        # conversion, but for booleans: several weak ones are strong together. Jaxprs have a
        # conversion nevertheless, as JAX's do.
        return x
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak, sharding=None)


def _scalar(x: Any, kind: type, dtype: np.dtype, weak: bool) -> ir.ArrayLike:
    if kind is bool and dtype == ir.BOOL:
        return x
    if weak:
        if kind is not complex and dtype == ir.python_scalar_dtype(float):
            return float(x)
        if kind is not complex and dtype == ir.python_scalar_dtype(int):
            return int(x)
        if dtype == ir.python_scalar_dtype(complex):
            return complex(x)
    return ir.exact_scalar(x, dtype)


def common_dtype(*args: ir.ArrayLike) -> tuple[np.dtype, bool]:
    """The dtype that operands promote to, and whether it is weak."""
    pairs = []
    for x in args:
        aval = ir.get_aval(x)
        pairs.append((aval.dtype, aval.weak_type))
    # A single operand keeps the width of the block that it comes from, where several weak ones have
    # the default width now.
    return pairs[0] if len(pairs) == 1 else ir.lattice_result_type(*pairs)


@lru_cache(1024)
def is_lossy(x: np.dtype, y: np.dtype, promoted: np.dtype) -> bool:
    """Whether converting integers of two dtypes to the promoted dtype changes some of them."""
    return any(d in INTEGER_DTYPES and not holds_integers(promoted, d) for d in (x, y))


def holds_integers(target: np.dtype, integers: np.dtype) -> bool:
    """Whether a dtype of numbers holds every integer of another dtype."""
    limits = iinfo(integers)
    if target in INEXACT_DTYPES:
        info = ir.finfo(target)
        digits = limits.bits - (limits.min < 0)
        return digits <= info.nmant + 1 and float(info.max) >= limits.max
    wide = iinfo(target)
    return wide.min <= limits.min and limits.max <= wide.max


def _notify_losses(args: tuple[Any, ...], promoted: np.dtype) -> None:
    """Notify observers of integers that promotion to a number's dtype may change."""
    avals: list[Any] = [ir.get_aval(x) for x in args]
    if promoted not in NUMERIC_DTYPES or any(aval.weak_type for aval in avals):
        return
    for dtype in dict.fromkeys(aval.dtype for aval in avals):
        if dtype in INTEGER_DTYPES and not holds_integers(promoted, dtype):
            ir.notify(ir.DigitsLost(ir.current_source(), dtype, promoted))


def promote_dtypes(*args: Any) -> list[ir.Array]:
    """The operands with one dtype, by the promotion lattice."""
    dtype, weak = common_dtype(*args)
    if ir.is_observed():
        _notify_losses(args, dtype)
    return [scalar_or_array(x, dtype, weak) for x in args]


def inexact_dtype(dtype: Any, weak: bool = False) -> tuple[np.dtype, bool]:
    """A dtype, and whether it is weak, with integers and booleans replaced by floats.

    Only integers of 64 bits become floats of 64 bits.
    """
    if dtype in INEXACT_DTYPES:
        return dtype, weak
    return _FLOAT64 if dtype in _WIDE_INTEGERS else _FLOAT32, weak


def promote_dtypes_inexact(*args: Any) -> list[ir.Array]:
    """Like ``promote_dtypes``, with integers and booleans becoming floats."""
    common, weak = common_dtype(*args)
    if ir.is_observed():
        _notify_losses(args, common)
    dtype, weak = inexact_dtype(common, weak)
    return [scalar_or_array(x, dtype, weak) for x in args]


def promote_dtypes_numeric(*args: Any) -> list[ir.Array]:
    """Like ``promote_dtypes``, with booleans becoming integers of 32 bits."""
    dtype, weak = common_dtype(*args)
    if dtype == ir.BOOL:
        dtype = INT32
    return [scalar_or_array(x, dtype, weak) for x in args]


def promote_args(name: str, *args: object) -> list[ir.Array]:
    """Checked operands with one dtype and one rank."""
    return promote_shapes(name, *promote_dtypes(*operands(name, *args)))


def promote_args_inexact(name: str, *args: object) -> list[ir.Array]:
    """Checked operands with one dtype of floats or complex numbers, and one rank."""
    return promote_shapes(name, *promote_dtypes_inexact(*operands(name, *args)))


def promote_args_numeric(name: str, *args: object) -> list[ir.Array]:
    """Checked operands with one dtype that is not boolean, and one rank."""
    return promote_shapes(name, *promote_dtypes_numeric(*operands(name, *args)))


def promote_shapes(name: str, *args: Any) -> list[ir.Array]:
    """Add leading dimensions of size 1 until all operands but scalars have one rank.

    Raises:
      ValueError: if shapes of different ranks do not broadcast. Shapes of one rank are left to
        the operation to check.
    """
    shapes = [ir.get_aval(x).shape for x in args]  # pyright: ignore[reportAttributeAccessIssue]
    full = [s for s in shapes if s]
    if not full:
        return list(args)
    rank = len(full[0])
    if all(len(s) == rank for s in full):
        return list(args)
    check_broadcast(name, shapes)
    rank = max(len(s) for s in full)
    check_rank_promotion(name, shapes)
    return [
        x if not s or len(s) == rank else _add_leading(x, s, rank)
        for x, s in zip(args, shapes, strict=True)
    ]


def check_broadcast(name: str, shapes: list[tuple[int, ...]]) -> None:
    """Raise ``ValueError`` unless shapes broadcast against each other."""
    rank = max(map(len, shapes))
    for i in range(1, rank + 1):
        sizes = {s[-i] for s in shapes if len(s) >= i} - {1}
        if len(sizes) > 1:
            listed = ", ".join(map(str, shapes))
            raise ValueError(
                ir.explained(
                    f"{name} cannot broadcast shapes {listed} against each other: axis {-i} has "
                    f"sizes {sorted(sizes)}, which must be equal or 1.",
                    "shapes",
                )
            )


def check_rank_promotion(name: str, shapes: list[tuple[int, ...]]) -> None:
    """Warn or raise if operands of different ranks are given, as the option asks for."""
    if ir.numpy_rank_promotion.value == "allow":
        return
    message = (
        f"{name} would promote operands of shapes {', '.join(map(str, shapes))} to one rank, and "
        f"the option jax_numpy_rank_promotion is {ir.numpy_rank_promotion.value!r}. Reshape them "
        "to equal ranks."
    )
    if ir.numpy_rank_promotion.value == "raise":
        raise ValueError(message)
    ir.warn_user(message)


def _add_leading(x: ir.Array, shape: tuple[int, ...], rank: int) -> ir.Array:
    lead = rank - len(shape)
    return broadcast_in_dim(x, (*(1,) * lead, *shape), tuple(range(lead, rank)))


_constants: ir.Cache[tuple[ir.DTypeLike, ir.ArrayLike | str], ir.ArrayLike] = ir.Cache(
    "constants", 4096
)


def constant(x: ir.ArrayLike, value: float) -> ir.ArrayLike:
    """A scalar of the dtype of ``x``, for use beside it.

    It is a Python scalar if ``x`` is a weakly typed scalar, else one of NumPy's.
    """
    aval = ir.get_aval(x)
    if aval.weak_type and not aval.shape:
        return constant_like(x, value)
    return strong_constant(aval.dtype, value)


def constant_like(x: ir.ArrayLike, value: float) -> ir.ArrayLike:
    """A scalar of the type of ``x``: a Python one if ``x`` is weakly typed, else one of NumPy's."""
    aval = ir.get_aval(x)
    dtype = aval.dtype
    if aval.weak_type:
        kind = complex if dtype in COMPLEX_DTYPES else float if dtype in FLOAT_DTYPES else int
        if ir.is_symbolic_dim(value) or dtype != ir.python_scalar_dtype(kind):
            # Python's booleans are not weakly typed, its numbers have the width of the settings.
            return convert(value if dtype != ir.BOOL else bool(value), dtype, True)
        return kind(value)
    return strong_constant(dtype, value)


def strong_constant(dtype: ir.DTypeLike, value: ir.ArrayLike) -> ir.ArrayLike:
    """A NumPy scalar, cached by dtype and value; of a symbolic dimension, an array."""
    # 0.0 == -0.0, so zeros are keyed by their text.
    key = (dtype, value) if value else (dtype, repr(value))
    scalar: Any = _constants.entries.get(key)
    if scalar is None:
        if ir.is_symbolic_dim(value):
            return convert(value, dtype)
        scalar = _constants.add(key, np.asarray(value).astype(dtype)[()])
    return scalar if scalar.itemsize < 8 else ir.unnarrowed(scalar)


def axis_tuple(axes: SupportsIndex | Iterable[SupportsIndex]) -> tuple[Any, ...]:
    """Return axes, an int or an iterable of ints, as a tuple; a text is one name."""
    if isinstance(axes, Iterable) and not isinstance(axes, str) and getattr(axes, "ndim", 1):
        return tuple(axes)
    return (axes,)


def canonical_axis(axis: SupportsIndex, ndim: int) -> int:
    """Return an axis counted from the start.

    Raises:
      numpy.exceptions.AxisError: if there is no such axis.
      TypeError: if it is not an int.
    """
    number = as_int(axis)
    if not -ndim <= number < ndim:
        raise np.exceptions.AxisError(number, ndim)
    return number + ndim if number < 0 else number


def canonical_axes(
    axes: SupportsIndex | Iterable[SupportsIndex], ndim: int, name: str = "axis"
) -> tuple[int, ...]:
    """Return axes, an int or a sequence, counted from the start.

    Raises:
      ValueError: if one is given twice, or does not exist.
    """
    axes = axis_tuple(axes)
    canonical = tuple(canonical_axis(axis, ndim) for axis in axes)
    if len(set(canonical)) != len(canonical):
        raise ValueError(f"{name}: {axes} names an axis twice.")
    return canonical
