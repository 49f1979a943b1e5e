"""Exact comparisons of integers with integers and floats that no common dtype holds.

NumPy's promotion converts both operands to one dtype before they are compared, which changes
``uint32`` beside ``int32`` without 64-bit types, ``uint64`` beside signed integers, and integers
beside floats with fewer digits. Here such pairs are compared by their values. Weakly typed
operands take the dtype of the other one, as everywhere.
"""

from collections.abc import Callable

import numpy as np
from ml_dtypes import iinfo

import ricci_ir as ir
import ricci_lax as lax
from ricci_numpy import _promotion as promotion

Operation = Callable[..., ir.Array]


def compared_by_value(
    function: str, name: str, x: ir.ArrayLike, y: ir.ArrayLike
) -> ir.Array | None:
    """The comparison by value of operands that promotion would change; ``None`` for others.

    Weakly typed operands count beside integers alone: a float that is a Python number makes the
    integers floats, as in every other function.

    Args:
      function: the public function, for errors.
      name: as for ``compare_exactly``.
    """
    x, y = promotion.operands(function, x, y)
    (a, weak_a), (b, weak_b) = types = [(v.dtype, v.weak_type) for v in map(ir.get_aval, (x, y))]
    dtypes = {a, b}
    if promotion.INTEGER_DTYPES.isdisjoint(dtypes) or not dtypes <= promotion.NUMERIC_DTYPES:
        return None
    if (type(x) is int) != (type(y) is int):
        return _compared_with_number(name, x, y)
    if a == b or ((weak_a or weak_b) and not dtypes <= promotion.INTEGER_DTYPES):
        return None
    promoted, _ = ir.lattice_result_type(*types)
    if not promotion.is_lossy(a, b, promoted):
        return None
    return _compared(x, y, function=function, name=name)


@ir.inlined("compare")
def _compared(x: ir.Array, y: ir.Array, *, function: str, name: str) -> ir.Array:
    (a, weak_a), (b, weak_b) = [(v.dtype, v.weak_type) for v in map(ir.get_aval, (x, y))]
    x, y = promotion.promote_shapes(
        function, promotion.convert(x, a, weak_a), promotion.convert(y, b, weak_b)
    )
    is_complex = a in promotion.COMPLEX_DTYPES or b in promotion.COMPLEX_DTYPES
    return (_complex if is_complex else compare_exactly)(name, x, y)


def _complex(name: str, x: ir.Array, y: ir.Array) -> ir.Array:
    """Compare a complex number with an integer: by real, then by imaginary part."""
    if name == "ne":
        return lax.bitwise_not(_complex("eq", x, y))
    if y.dtype in promotion.COMPLEX_DTYPES:
        return _complex(_REVERSED[name], y, x)
    imaginary = lax.imag(x)
    level = _OPERATIONS[name](imaginary, promotion.strong_constant(imaginary.dtype, 0))
    level = lax.bitwise_and(compare_exactly("eq", lax.real(x), y), level)
    if name == "eq":
        return level
    strict = "lt" if name in ("lt", "le") else "gt"
    return lax.bitwise_or(compare_exactly(strict, lax.real(x), y), level)


def _compared_with_number(name: str, x: ir.ArrayLike, y: ir.ArrayLike) -> ir.Array | None:
    """The comparison with a Python int that the dtype of the other operand, integers, excludes.

    ``None`` for other operands, and for an int that the default dtype excludes as well, which is an
    error.
    """
    if type(x) is int:
        name, x, y = _REVERSED.get(name, name), y, x
    if type(y) is not int:
        return None
    dtype = ir.get_aval(x).dtype
    if dtype not in promotion.INTEGER_DTYPES or _is_within(y, dtype):
        return None
    if not _is_within(y, ir.python_scalar_dtype(int)):
        return None
    below = y < 0
    holds = name == "ne" or (name != "eq" and (name in ("gt", "ge")) == below)
    # From the operand, so that the result has its sharding.
    return (lax.eq if holds else lax.ne)(x, x)


def _is_within(number: int, dtype: np.dtype) -> bool:
    limits = iinfo(dtype)
    return limits.min <= number <= limits.max


def compare_exactly(name: str, x: ir.Array, y: ir.Array) -> ir.Array:
    """Compare real numbers of two dtypes by value.

    Args:
      name: ``"eq"``, ``"ne"``, ``"lt"``, ``"le"``, ``"gt"`` or ``"ge"``.
      x, y: arrays of one rank, or scalars; at least one of integers.
    """
    if name == "ne":
        return lax.bitwise_not(compare_exactly("eq", x, y))
    if x.dtype in promotion.FLOAT_DTYPES or (
        _is_unsigned(x) and ir.issubdtype(y.dtype, np.signedinteger)
    ):
        return compare_exactly(_REVERSED[name], y, x)
    on_pair = _integer_with_float if y.dtype in promotion.FLOAT_DTYPES else _signed_with_integer
    return on_pair(name, x, y)


_REVERSED = {"eq": "eq", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_OPERATIONS: dict[str, Operation] = {
    "eq": lax.eq,
    "lt": lax.lt,
    "le": lax.le,
    "gt": lax.gt,
    "ge": lax.ge,
}


def _is_unsigned(x: ir.Array) -> bool:
    return ir.issubdtype(x.dtype, np.unsignedinteger)


def _signed_with_integer(name: str, x: ir.Array, y: ir.Array) -> ir.Array:
    """Compare two signed or two unsigned integers, or a signed with an unsigned one."""
    wide = max(x.dtype, y.dtype, key=lambda d: iinfo(d).bits)
    if _is_unsigned(x) == _is_unsigned(y):
        return _OPERATIONS[name](promotion.convert(x, wide), promotion.convert(y, wide))
    # A conversion of a signed integer extends its sign, so only those below 0 change.
    unsigned = np.dtype(f"uint{max(8, 8 * wide.itemsize)}")
    magnitudes = _OPERATIONS[name](promotion.convert(x, unsigned), promotion.convert(y, unsigned))
    negative = lax.lt(x, promotion.strong_constant(x.dtype, 0))
    if name in ("lt", "le"):
        return lax.bitwise_or(negative, magnitudes)
    return lax.bitwise_and(lax.bitwise_not(negative), magnitudes)


def _integer_with_float(name: str, x: ir.Array, y: ir.Array) -> ir.Array:
    wide = np.dtype(np.float64 if ir.enable_x64.value else np.float32)
    if promotion.holds_integers(wide, x.dtype):
        return _OPERATIONS[name](promotion.convert(x, wide), promotion.convert(y, wide))
    if y.dtype.itemsize < 4:
        y = promotion.convert(y, np.dtype(np.float32))
    limits = iinfo(x.dtype)
    # Both ends are powers of 2 (or 0), which floats of 32 bits hold.
    low = promotion.strong_constant(y.dtype, float(limits.min))
    end = promotion.strong_constant(y.dtype, float(limits.max + 1))
    if name == "eq":
        within = lax.bitwise_and(lax.ge(y, low), lax.lt(y, end))
        whole = lax.floor(y)
        same = lax.eq(x, promotion.convert(whole, x.dtype))
        return lax.bitwise_and(lax.bitwise_and(within, lax.eq(whole, y)), same)
    # x < y just if x < ceil(y), and x <= y just if x <= floor(y). An end beyond the integers
    # decides by itself; NaN fails every test.
    rounded = promotion.convert((lax.ceil if name in ("lt", "ge") else lax.floor)(y), x.dtype)
    inner = _OPERATIONS[name](x, rounded)
    if name in ("lt", "le"):
        return lax.bitwise_or(lax.ge(y, end), lax.bitwise_and(lax.ge(y, low), inner))
    return lax.bitwise_or(lax.lt(y, low), lax.bitwise_and(lax.lt(y, end), inner))
