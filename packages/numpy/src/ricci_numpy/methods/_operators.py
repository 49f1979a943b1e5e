"""The operators of arrays, such as ``+`` and ``<``.

They compute the same as the functions of that meaning. For an operand that is not an array they
return ``NotImplemented``, so that Python tries its class. The modules of those that few programs
need, such as ``//``, are imported at their first use.
"""

from collections.abc import Callable
from typing import Any

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, define_array_methods, python_scalar_dtype
from ricci_numpy._promotion import INEXACT_DTYPES, convert, is_arraylike
from ricci_numpy.linalg._products import cached_product, matmul
from ricci_numpy.ufuncs._binary import general_forms
from ricci_numpy.ufuncs._factories import binary
from ricci_numpy.ufuncs._unary import abs, invert, negative

Operation = Callable[..., Array]


def _refuse(symbol: str, other: object) -> Any:
    """Return ``NotImplemented``; for a plain list or tuple, raise an error with advice.

    A subclass may have an operator of its own.
    """
    if type(other) in (list, tuple):
        raise TypeError(
            f"unsupported operand for {symbol}: an array and a {type(other).__name__}. Make an "
            "array of it first, with numpy.asarray(...)."
        )
    return NotImplemented


def _forward(
    symbol: str, operation: Operation, accepted: frozenset, general: Operation
) -> Operation:
    """The method for an operator with the array on the left."""

    # The path for all operands but arrays of one accepted dtype; see ``binary``.
    def with_other(x, y):
        return general(x, y) if is_arraylike(y) else _refuse(symbol, y)

    return binary(operation, accepted, with_other)


def _reflected(
    symbol: str, operation: Operation, accepted: frozenset, general: Operation
) -> Operation:
    """The method for an operator with the array on the right."""

    def with_other(x, y):
        return general(x, y) if is_arraylike(x) else _refuse(symbol, x)

    function = binary(operation, accepted, with_other)

    def method(self, other, /):
        return function(other, self)

    return method


def _of_function(symbol: str, name: str, swapped: bool = False) -> Operation:
    """The method for an operator that is a function of the NumPy API without a fast path."""

    def method(self, other, /):
        if not is_arraylike(other):
            return _refuse(symbol, other)
        function = getattr(jnp, name)
        return function(other, self) if swapped else function(self, other)

    return method


def _matmul(self, other: Any, /) -> Array:
    """``self @ other``."""
    cached = cached_product(self, other)
    if cached is not None:
        return cached(self, other)
    if not is_arraylike(other):
        return _refuse("@", other)
    return matmul(self, other)


def _rmatmul(self, other: Any, /) -> Array:
    """``other @ self``."""
    return _refuse("@", other) if not is_arraylike(other) else matmul(other, self)


def _power(self, exponent: Any, /) -> Any:
    """``x ** exponent``, a repeated product for an integer."""
    # Not ``isinstance``, which holds for booleans.
    if type(exponent) is int and self.aval.dtype in INEXACT_DTYPES:
        return lax.integer_pow(self, exponent)
    return jnp.power(self, exponent) if is_arraylike(exponent) else _refuse("**", exponent)


def _round(self, ndigits: int | None = None, /) -> Array:
    """``round(x)``, as Python rounds: without a number of digits, to integers."""
    if ndigits is not None:
        return jnp.round(self, ndigits)
    return convert(jnp.round(self), python_scalar_dtype(int))


_methods: dict[str, Callable[..., Any]] = {}

for _symbol, _name, _function in (
    ("+", "add", "add"),
    ("-", "sub", "subtract"),
    ("*", "mul", "multiply"),
    ("/", "truediv", "divide"),
    ("&", "and", "bitwise_and"),
    ("|", "or", "bitwise_or"),
    ("^", "xor", "bitwise_xor"),
    ("<<", "lshift", "left_shift"),
    (">>", "rshift", "right_shift"),
):
    _methods[f"__{_name}__"] = _forward(_symbol, *general_forms[_function])
    _methods[f"__r{_name}__"] = _reflected(_symbol, *general_forms[_function])

# Python asks the other operand for the mirrored comparison, so that there are no reflected ones.
for _symbol, _name, _function in (
    ("==", "eq", "equal"),
    ("!=", "ne", "not_equal"),
    ("<", "lt", "less"),
    ("<=", "le", "less_equal"),
    (">", "gt", "greater"),
    (">=", "ge", "greater_equal"),
):
    _methods[f"__{_name}__"] = _forward(_symbol, *general_forms[_function])

for _symbol, _name, _function in (
    ("//", "floordiv", "floor_divide"),
    ("%", "mod", "remainder"),
    ("divmod()", "divmod", "divmod"),
):
    _methods[f"__{_name}__"] = _of_function(_symbol, _function)
    _methods[f"__r{_name}__"] = _of_function(_symbol, _function, swapped=True)

_methods |= {
    "__matmul__": _matmul,
    "__rmatmul__": _rmatmul,
    "__pow__": _power,
    "__rpow__": _of_function("**", "power", swapped=True),
    "__neg__": negative,
    "__pos__": lambda self: self,
    "__abs__": abs,
    "__invert__": invert,
    "__round__": _round,
}
for _name, _method in _methods.items():
    if _method.__name__ in ("function", "method", "<lambda>"):
        _method.__name__ = _name
define_array_methods(_methods)
