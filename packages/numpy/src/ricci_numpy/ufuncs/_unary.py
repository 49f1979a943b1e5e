"""Elementwise functions of one array that are one operation after promotion.

Each is a row of a table: its name, the operation, what it computes, and an example.
"""

from collections.abc import Callable

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_lax.authoring import UnaryFunction
from ricci_numpy._promotion import (
    COMPLEX_DTYPES,
    FLOAT_DTYPES,
    INEXACT_DTYPES,
    INTEGER_DTYPES,
    NUMERIC_DTYPES,
    REAL_DTYPES,
    constant,
    operands,
    promote_args_numeric,
    promote_dtypes_inexact,
    strong_constant,
)
from ricci_numpy.arrays._creation import asarray

from ._factories import BOOLEANS, FLOATS, publish, unary

__all__ = ["abs", "absolute", "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan"]
__all__ += ["arctanh", "asin", "asinh", "atan", "atanh", "bitwise_invert", "bitwise_not", "cbrt"]
__all__ += ["ceil", "conj", "conjugate", "cos", "cosh", "deg2rad", "degrees", "exp", "exp2"]
__all__ += ["expm1", "fabs", "floor", "imag", "invert", "log", "log10", "log1p", "log2"]
__all__ += ["logical_not", "positive", "rad2deg", "radians", "real", "reciprocal", "sign", "sin"]
__all__ += ["sinh", "sqrt", "square", "tan", "tanh"]

Operation = Callable[..., ir.Array]

UNSIGNED_DTYPES = frozenset(d for d in ir.array_dtypes if ir.issubdtype(d, np.unsignedinteger))
EXACT_DTYPES = frozenset((ir.BOOL, *INTEGER_DTYPES))


def to_float(
    name: str, operation: Operation, summary: str, argument: str, result: str
) -> UnaryFunction:
    """A function of floats and complex numbers; other operands become floats."""

    def general(x):
        return operation(*promote_dtypes_inexact(*operands(name, x)))

    return publish(
        unary(operation, INEXACT_DTYPES, general),
        name,
        f"{summary} Integers and booleans become floats.",
        f"float(jnp.{name}({argument}))",
        result,
        "x",
        gives=FLOATS,
    )


# Functions with a constant are one step, which holds it: called eagerly they copy nothing to the
# device.


def _scaled(name: str, factor: float) -> Operation:
    return ir.inlined(name)(lambda x: lax.mul(x, constant(x, factor)))


_log10_of_e = float(np.log10(np.e))


@ir.inlined("log10")
def _log10(x: ir.Array) -> ir.Array:
    logarithm = lax.log(x)
    if logarithm.dtype in COMPLEX_DTYPES:
        # Scaled part by part: a complex product would make NaN of an infinite part (0 · inf).
        parts = lax.real(logarithm), lax.imag(logarithm)
        factor = strong_constant(parts[0].dtype, _log10_of_e)
        return lax.complex(*(lax.mul(part, factor) for part in parts))
    return lax.mul(logarithm, strong_constant(logarithm.dtype, _log10_of_e))


arccos: UnaryFunction = to_float(
    "arccos", lax.acos, "The angle in radians that has a cosine.", "1.0", "0.0"
)
arccosh: UnaryFunction = to_float(
    "arccosh", lax.acosh, "The inverse hyperbolic cosine.", "1.0", "0.0"
)
arcsin: UnaryFunction = to_float(
    "arcsin", lax.asin, "The angle in radians that has a sine.", "0.0", "0.0"
)
arcsinh: UnaryFunction = to_float(
    "arcsinh", lax.asinh, "The inverse hyperbolic sine.", "0.0", "0.0"
)
arctan: UnaryFunction = to_float(
    "arctan", lax.atan, "The angle in radians that has a tangent.", "0.0", "0.0"
)
arctanh: UnaryFunction = to_float(
    "arctanh", lax.atanh, "The inverse hyperbolic tangent.", "0.0", "0.0"
)
cbrt: UnaryFunction = to_float("cbrt", lax.cbrt, "The cube root.", "0.0", "0.0")
cos: UnaryFunction = to_float("cos", lax.cos, "The cosine of an angle in radians.", "0.0", "1.0")
cosh: UnaryFunction = to_float("cosh", lax.cosh, "The hyperbolic cosine.", "0.0", "1.0")
exp: UnaryFunction = to_float("exp", lax.exp, "The exponential function.", "0.0", "1.0")
exp2: UnaryFunction = to_float("exp2", lax.exp2, "2 to the power of ``x``.", "3.0", "8.0")
expm1: UnaryFunction = to_float(
    "expm1", lax.expm1, "``exp(x) - 1``, accurate near 0.", "0.0", "0.0"
)
log: UnaryFunction = to_float("log", lax.log, "The natural logarithm.", "1.0", "0.0")
log10: UnaryFunction = to_float("log10", _log10, "The logarithm to base 10.", "1.0", "0.0")
log1p: UnaryFunction = to_float(
    "log1p", lax.log1p, "``log(1 + x)``, accurate near 0.", "0.0", "0.0"
)
log2: UnaryFunction = to_float("log2", lax.log2, "The logarithm to base 2.", "8.0", "3.0")
sin: UnaryFunction = to_float("sin", lax.sin, "The sine of an angle in radians.", "0.0", "0.0")
sinh: UnaryFunction = to_float("sinh", lax.sinh, "The hyperbolic sine.", "0.0", "0.0")
sqrt: UnaryFunction = to_float(
    "sqrt", lax.sqrt, "The square root that is not negative.", "9.0", "3.0"
)
tan: UnaryFunction = to_float("tan", lax.tan, "The tangent of an angle in radians.", "0.0", "0.0")
tanh: UnaryFunction = to_float("tanh", lax.tanh, "The hyperbolic tangent.", "0.0", "0.0")
reciprocal: UnaryFunction = to_float(
    "reciprocal", lambda x: lax.integer_pow(x, -1), "One divided by ``x``.", "4.0", "0.25"
)
deg2rad: UnaryFunction = to_float(
    "deg2rad", _scaled("deg2rad", np.pi / 180), "Degrees in radians.", "0.0", "0.0"
)
rad2deg: UnaryFunction = to_float(
    "rad2deg", _scaled("rad2deg", 180 / np.pi), "Radians in degrees.", "0.0", "0.0"
)
acos: UnaryFunction = ir.function_alias(arccos, "acos")
acosh: UnaryFunction = ir.function_alias(arccosh, "acosh")
asin: UnaryFunction = ir.function_alias(arcsin, "asin")
asinh: UnaryFunction = ir.function_alias(arcsinh, "asinh")
atan: UnaryFunction = ir.function_alias(arctan, "atan")
atanh: UnaryFunction = ir.function_alias(arctanh, "atanh")
radians: UnaryFunction = ir.function_alias(deg2rad, "radians")
degrees: UnaryFunction = ir.function_alias(rad2deg, "degrees")


def _fabs(x: ir.ArrayLike) -> ir.Array:
    (x,) = promote_dtypes_inexact(*operands("fabs", x))
    if np.iscomplexobj(x):
        raise TypeError("fabs is not defined for complex numbers; abs gives the modulus.")
    return lax.abs(x)


fabs: UnaryFunction = publish(
    unary(lax.abs, FLOAT_DTYPES, _fabs),
    "fabs",
    "The absolute value of a real number, as a float.",
    "float(jnp.fabs(-2))",
    "2.0",
    "x",
    gives="of a float dtype",
)


def _or_itself(
    name: str, operation: Operation, unchanged: frozenset, summary: str, argument: str, result: str
) -> UnaryFunction:
    """A function that returns arrays of the dtypes ``unchanged`` as they are."""

    def general(x):
        (x,) = operands(name, x)
        x = asarray(x)
        return x if x.dtype in unchanged else operation(x)

    accepted = ir.array_dtypes - unchanged
    example = f"int(jnp.{name}({argument}))"
    parameter = "val" if name == "real" else "x"
    function = unary(operation, accepted, general, is_identity=True)
    real = name in ("abs", "real")
    gives = "of the same dtype, or the real one of a complex dtype" if real else ""
    return publish(function, name, summary, example, result, parameter, gives=gives)


abs: UnaryFunction = _or_itself(
    "abs", lax.abs, UNSIGNED_DTYPES | {ir.BOOL}, "The absolute value, or modulus.", "-2", "2"
)
floor: UnaryFunction = _or_itself(
    "floor", lax.floor, EXACT_DTYPES, "``x`` rounded down.", "1.5", "1"
)
ceil: UnaryFunction = _or_itself("ceil", lax.ceil, EXACT_DTYPES, "``x`` rounded up.", "1.5", "2")
conj: UnaryFunction = _or_itself("conj", lax.conj, REAL_DTYPES, "The complex conjugate.", "2", "2")
positive: UnaryFunction = _or_itself(
    "positive", asarray, ir.array_dtypes, "``x`` itself, as an array.", "2", "2"
)
real: UnaryFunction = _or_itself("real", lax.real, REAL_DTYPES, "The real part.", "2 + 3j", "2")
absolute: UnaryFunction = ir.function_alias(abs, "absolute")
conjugate: UnaryFunction = ir.function_alias(conj, "conjugate")


def _plain(
    name: str, operation: Operation, accepted: frozenset, summary: str, argument: str, result: str
) -> UnaryFunction:
    """A function without promotion; the operation itself refuses other dtypes."""

    def general(x):
        return operation(*operands(name, x))

    example = f"int(jnp.{name}({argument}))"
    return publish(unary(operation, accepted, general), name, summary, example, result, "x")


negative: UnaryFunction = _plain(
    "negative", lax.neg, NUMERIC_DTYPES, "The opposite number.", "2", "-2"
)
sign: UnaryFunction = _plain(
    "sign", lax.sign, NUMERIC_DTYPES, "-1, 0 or 1; if complex, x/abs(x).", "-3", "-1"
)
invert: UnaryFunction = _plain(
    "invert", lax.bitwise_not, EXACT_DTYPES, "All bits flipped.", "0", "-1"
)
bitwise_not: UnaryFunction = ir.function_alias(invert, "bitwise_not")
bitwise_invert: UnaryFunction = ir.function_alias(invert, "bitwise_invert")

square: UnaryFunction = publish(
    unary(lax.square, NUMERIC_DTYPES, lambda x: lax.square(*promote_args_numeric("square", x))),
    "square",
    "The number times itself; booleans become integers.",
    "int(jnp.square(3))",
    "9",
    "x",
)


def truth(x: ir.ArrayLike) -> ir.ArrayLike:
    """Whether elements are not zero; booleans, Python's included, are returned unchanged."""
    if type(x) is bool or getattr(x, "dtype", None) == ir.BOOL:
        return x
    # NaN counts as true: it differs from 0.
    return lax.ne(x, constant(x, 0))


@ir.inlined("logical_not")
def _logical_not(x: ir.ArrayLike) -> ir.Array:
    return lax.bitwise_not(truth(x))


logical_not: UnaryFunction = publish(
    unary(_logical_not, ir.array_dtypes, lambda x: _logical_not(*operands("logical_not", x))),
    "logical_not",
    "Whether an element is zero or false.",
    "bool(jnp.logical_not(0))",
    "True",
    "x",
    gives=BOOLEANS,
)


def _imag(x: ir.ArrayLike) -> ir.Array:
    (x,) = operands("imag", x)
    return lax.imag(x) if np.iscomplexobj(x) else _zeros(x)


@ir.inlined("imag")
def _zeros(x: ir.ArrayLike) -> ir.Array:
    return lax.full_like(ir.as_array(x), 0)


imag: UnaryFunction = publish(
    unary(lax.imag, COMPLEX_DTYPES, _imag),
    "imag",
    "The imaginary part; zeros for real numbers.",
    "int(jnp.imag(2 + 3j))",
    "3",
    "val",
    gives="of a real dtype",
)
