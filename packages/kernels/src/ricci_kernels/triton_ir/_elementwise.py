"""Elementwise operations: arithmetic, comparisons, mathematical functions."""

from collections.abc import Callable, Sequence

import numpy as np

import ricci_ir as ir
from ricci_stablehlo import string

from ._conversions import converted
from ._rules import Rule, triton_rules
from ._writer import Value, Writer, element_of

type Operation = Callable[..., Value]

# MLIR's numbers of predicates, by primitive: ordered floats, signed and unsigned integers.
_predicates: dict[str, tuple[int, int, int]] = {
    "eq": (1, 0, 0),
    "ne": (13, 1, 1),
    "lt": (4, 2, 6),
    "le": (5, 3, 7),
    "gt": (2, 4, 8),
    "ge": (3, 5, 9),
}


def is_unsigned(dtype: np.dtype) -> bool:
    """Whether numbers of a dtype have no sign."""
    return dtype == np.bool_ or ir.issubdtype(dtype, np.unsignedinteger)


def compare(writer: Writer, name: str, dtype: np.dtype, x: Value, y: Value) -> Value:
    """A comparison of numbers of a dtype, by the name of its primitive."""
    floats, signed, unsigned = _predicates[name]
    if x.is_float:
        return writer.compare(floats, x, y)
    return writer.compare(unsigned if is_unsigned(dtype) else signed, x, y)


def in_floats(writer: Writer, operation: Operation, *operands: Value) -> Value:
    """Apply an operation of float32 or float64 to floats of any width."""
    element = operands[0].element
    if element in ("f32", "f64"):
        return operation(writer, *operands)
    wide = [converted(writer, x, "f32") for x in operands]
    return converted(writer, operation(writer, *wide), element)


def library(name: str) -> Operation:
    """A function of NVIDIA's mathematical library."""

    def call(writer: Writer, *operands: Value) -> Value:
        first = operands[0]
        symbol = f"__nv_{name}{'f' if first.element == 'f32' else ''}"
        return extern(writer, symbol, first.element, *operands)

    return call


def extern(writer: Writer, symbol: str, element: str, *operands: Value) -> Value:
    """A function of libdevice, by its symbol."""
    attributes = f'libname = "", libpath = "", pure = true, symbol = "{symbol}"'
    return writer.op("tt.extern_elementwise", operands, operands[0].shape, element, attributes)


def extreme(writer: Writer, name: str, dtype: np.dtype, x: Value, y: Value) -> Value:
    """The larger (``max``) or smaller (``min``) of two numbers; NaN if one is NaN."""
    if x.is_float and x.element != "f64":
        return writer.binary(f"arith.{name}imumf", x, y)
    if x.is_float:
        keeps_first = compare(writer, "gt" if name == "max" else "lt", dtype, x, y)
        # Number 13, "unordered or unequal", of a number with itself: NaN.
        is_nan = writer.compare(13, x, x)
        return writer.select(writer.binary("arith.ori", keeps_first, is_nan), x, y)
    if x.element == "i1":
        return writer.binary("arith.ori" if name == "max" else "arith.andi", x, y)
    return writer.binary(f"arith.{name}{'u' if is_unsigned(dtype) else 's'}i", x, y)


def divided(writer: Writer, x: Value, y: Value) -> Value:
    """A quotient of floats. Of 16 bits there is none: the compiler would end the process."""
    return in_floats(writer, lambda w, a, b: w.binary("arith.divf", a, b), x, y)


def negated(writer: Writer, x: Value) -> Value:
    """The negative of a number."""
    if x.is_float:
        # From −0, so that the negative of +0 is −0.
        return writer.binary("arith.subf", writer.like(x, -0.0), x)
    return writer.binary("arith.subi", writer.like(x, 0), x)


# Rules


def operands_of(writer: Writer, eqn: ir.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    """The operands of an elementwise equation, in the shape of its result."""
    shape = eqn.outvars[0].aval.shape  # pyright: ignore[reportAttributeAccessIssue]
    return [writer.spread(x, shape) for x in operands]


def dtype_of(eqn: ir.JaxprEqn) -> np.dtype:
    """The dtype of an equation's last operand."""
    return eqn.invars[-1].aval.dtype  # pyright: ignore[reportAttributeAccessIssue]


def elementwise(operation: Operation) -> Rule:
    """The rule of a primitive whose operation depends on its operands alone."""

    def rule(writer: Writer, eqn: ir.JaxprEqn, *operands: Value) -> Value:
        return _widened(writer, operation, operands_of(writer, eqn, operands))

    return rule


def _widened(writer: Writer, operation: Operation, operands: Sequence[Value]) -> Value:
    """Apply an operation; GPUs compute with floats of 8 bits in float32."""
    narrow = operands[-1].element
    if not narrow.startswith("f8"):
        return operation(writer, *operands)
    result = operation(writer, *[converted(writer, x, "f32") for x in operands])
    return converted(writer, result, narrow) if result.is_float else result


def typed(operation: Operation) -> Rule:
    """The rule of a primitive whose operation depends on the dtype: signed or unsigned."""

    def rule(writer: Writer, eqn: ir.JaxprEqn, *operands: Value) -> Value:
        with_dtype = lambda w, *xs: operation(w, dtype_of(eqn), *xs)
        return _widened(writer, with_dtype, operands_of(writer, eqn, operands))

    return rule


def floating(operation: Operation) -> Rule:
    """The rule of a function of floating-point numbers."""
    return elementwise(lambda writer, *operands: in_floats(writer, operation, *operands))


def _named(floats: str, integers: str) -> Rule:
    """The rule of a primitive that is one operation of the dialect arith."""

    def operation(writer: Writer, x: Value, y: Value) -> Value:
        return writer.binary(f"arith.{floats if x.is_float else integers}", x, y)

    return elementwise(operation)


def _division(name: str, floats: str) -> Rule:
    """The rule of a quotient or a remainder; of integers by 0 it is -1, or the dividend."""

    def operation(writer: Writer, dtype: np.dtype, x: Value, y: Value) -> Value:
        if x.is_float:
            return in_floats(writer, lambda w, a, b: w.binary(floats, a, b), x, y)
        # Division by zero is undefined in LLVM: it is divided by 1, and the result replaced by
        # XLA's.
        is_zero = writer.compare(0, y, writer.like(y, 0))
        y = writer.select(is_zero, writer.like(y, 1), y)
        result = writer.binary(f"arith.{name}{'u' if is_unsigned(dtype) else 's'}i", x, y)
        return writer.select(is_zero, writer.like(y, -1) if name == "div" else x, result)

    return typed(operation)


def _comparison(name: str) -> Operation:
    return lambda writer, dtype, x, y: compare(writer, name, dtype, x, y)


def _extreme(name: str) -> Operation:
    return lambda writer, dtype, x, y: extreme(writer, name, dtype, x, y)


def _sign(writer: Writer, dtype: np.dtype, x: Value) -> Value:
    zero, one = writer.like(x, 0), writer.like(x, 1)
    # Zero of either sign and NaN are their own sign.
    above = writer.select(compare(writer, "gt", dtype, x, zero), one, x if x.is_float else zero)
    if is_unsigned(dtype):
        return above
    return writer.select(compare(writer, "lt", dtype, x, zero), writer.like(x, -1), above)


def _abs(writer: Writer, dtype: np.dtype, x: Value) -> Value:
    if is_unsigned(dtype):
        return x
    if not x.is_float:
        return writer.binary("arith.maxsi", x, negated(writer, x))
    return in_floats(writer, lambda w, a: w.op("math.absf", [a], a.shape, a.element), x)


def _square(writer: Writer, x: Value) -> Value:
    return writer.mul(x, x)


def _one_minus_square(writer: Writer, x: Value) -> Value:
    one = writer.like(x, 1)
    difference = writer.binary("arith.subf" if x.is_float else "arith.subi", one, x)
    return writer.mul(difference, writer.add(one, x))


def _logistic(writer: Writer, x: Value) -> Value:
    one = writer.like(x, 1.0)
    return writer.binary(
        "arith.divf", one, writer.add(one, library("exp")(writer, negated(writer, x)))
    )


def _is_finite(writer: Writer, x: Value) -> Value:
    x = converted(writer, x, "f32") if x.element not in ("f32", "f64") else x
    size = writer.op("math.absf", [x], x.shape, x.element)
    return writer.compare(4, size, writer.like(x, float("inf")))


def _integer_pow(writer: Writer, eqn: ir.JaxprEqn, x: Value) -> Value:
    exponent = eqn.params["y"]
    # Repeated squaring, by the binary digits of the exponent.
    result, power, count = None, x, abs(exponent)
    while count:
        if count & 1:
            result = power if result is None else writer.mul(result, power)
        count >>= 1
        power = writer.mul(power, power) if count else power
    if result is None:
        return writer.like(x, 1)
    if exponent >= 0:
        return result
    if not x.is_float:
        raise NotImplementedError("has a negative exponent of an integer; convert it to float")
    return divided(writer, writer.like(x, 1), result)


def _pow(writer: Writer, eqn: ir.JaxprEqn, x: Value, y: Value) -> Value:
    x, y = operands_of(writer, eqn, (x, y))
    if not x.is_float:
        raise NotImplementedError("is a power of integers; convert them to float, or multiply")
    if not y.is_float:
        y = converted(writer, y, x.element, not is_unsigned(dtype_of(eqn)))
    return in_floats(writer, library("pow"), x, y)


def _round(writer: Writer, eqn: ir.JaxprEqn, x: Value) -> Value:
    name = "round" if int(eqn.params["rounding_method"]) == 0 else "rint"
    return in_floats(writer, library(name), x)


def _clamp(writer: Writer, eqn: ir.JaxprEqn, low: Value, x: Value, high: Value) -> Value:
    operands = operands_of(writer, eqn, (low, x, high))
    dtype = dtype_of(eqn)

    def clamped(w: Writer, least: Value, value: Value, most: Value) -> Value:
        return extreme(w, "min", dtype, extreme(w, "max", dtype, least, value), most)

    return _widened(writer, clamped, operands)


def _select_n(writer: Writer, eqn: ir.JaxprEqn, which: Value, *cases: Value) -> Value:
    which, *spread = operands_of(writer, eqn, (which, *cases))
    result = spread[0]
    for i, case in enumerate(spread[1:], 1):
        chosen = which if which.element == "i1" else writer.compare(0, which, writer.like(which, i))
        result = writer.select(chosen, case, result)
    return result


def _shift(name: str, past_end: Operation) -> Rule:
    """The rule of a shift; by as many bits as there are, or more, it gives ``past_end``."""

    def operation(writer: Writer, x: Value, count: Value) -> Value:
        shifted = writer.binary(name, x, count)
        # Unsigned less: a negative count is out of range as well. Such shifts are undefined in
        # LLVM.
        is_inside = writer.compare(6, count, writer.like(count, count.bits))
        return writer.select(is_inside, shifted, past_end(writer, x))

    return elementwise(operation)


def _zero(writer: Writer, x: Value) -> Value:
    return writer.like(x, 0)


def _signs(writer: Writer, x: Value) -> Value:
    return writer.binary("arith.shrsi", x, writer.like(x, x.bits - 1))


def _bit_count(symbol: str) -> Rule:
    """The rule of a function of the bits of an integer."""

    def operation(writer: Writer, x: Value) -> Value:
        wide = "i64" if x.element == "i64" else "i32"
        symbol_of = symbol if wide == "i32" else f"{symbol}ll"
        # Zeros in front do not change the number of ones; leading zeros are corrected by their
        # number.
        count = extern(writer, symbol_of, "i32", writer.resized(x, wide, signed=False))
        if symbol == "__nv_clz" and x.bits < 32:
            count = writer.binary("arith.subi", count, writer.like(count, 32 - x.bits))
        return writer.resized(count, x.element, signed=False)

    return elementwise(operation)


def _high_product(writer: Writer, dtype: np.dtype, x: Value, y: Value) -> Value:
    signed = not is_unsigned(dtype)
    if x.bits == 64:
        raise NotImplementedError("is a product of 128 bits; split the factors into halves")
    # The whole product of two factors of up to 32 bits fits 64 bits.
    wide = [writer.resized(v, "i64", signed) for v in (x, y)]
    product = writer.mul(*wide)
    high = writer.binary("arith.shrui", product, writer.like(product, x.bits))
    return writer.resized(high, x.element)


def _not(writer: Writer, x: Value) -> Value:
    return writer.binary("arith.xori", x, writer.like(x, True if x.element == "i1" else -1))


def _polynomial(writer: Writer, x: Value, *coefficients: Value) -> Value:
    result = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        result = writer.add(writer.mul(result, x), coefficient)
    return result


def _bitcast(writer: Writer, eqn: ir.JaxprEqn, x: Value) -> Value:
    element = element_of(eqn.params["new_dtype"])
    if Value("", (), element).bits != x.bits:
        raise NotImplementedError("changes the number of bits; cast arrays of the same width")
    return x if element == x.element else writer.op("tt.bitcast", [x], x.shape, element)


def _identity(writer: Writer, eqn: ir.JaxprEqn, *operands: Value) -> Sequence[Value]:
    return operands


_of_libdevice: dict[str, str] = {
    **{
        name: name
        for name in "exp exp2 log log2 log1p expm1 sqrt rsqrt cbrt sin cos tan sinh cosh tanh asin "
        "acos atan asinh acosh atanh floor ceil erf erfc lgamma atan2 nextafter".split()
    },
    "erf_inv": "erfinv",
}


def _inline_assembly(writer: Writer, eqn: ir.JaxprEqn, *operands: Value) -> list[Value]:
    params = eqn.params
    attributes = (
        f"asm_string = {string(params['asm'])}, constraints = {string(params['constraints'])}, "
        f"packed_element = {params['pack']} : i32, pure = true"
    )
    results = [(x.shape, element_of(x.dtype)) for x in params["result_shape_dtypes"]]
    return writer.ops("tt.elementwise_inline_asm", operands, results, attributes)


_rules: dict[str, Rule] = {
    "elementwise_inline_asm": _inline_assembly,
    **{name: floating(library(symbol)) for name, symbol in _of_libdevice.items()},
    **{name: typed(_comparison(name)) for name in _predicates},
    **{name: typed(_extreme(name)) for name in ("max", "min")},
    **dict.fromkeys(("add", "add_any"), _named("addf", "addi")),
    "sub": _named("subf", "subi"),
    "mul": _named("mulf", "muli"),
    "div": _division("div", "arith.divf"),
    "rem": _division("rem", "arith.remf"),
    "and": elementwise(lambda w, x, y: w.binary("arith.andi", x, y)),
    "or": elementwise(lambda w, x, y: w.binary("arith.ori", x, y)),
    "xor": elementwise(lambda w, x, y: w.binary("arith.xori", x, y)),
    "not": elementwise(_not),
    "neg": elementwise(negated),
    "sign": typed(_sign),
    "abs": typed(_abs),
    "square": elementwise(_square),
    "one_minus_square": elementwise(_one_minus_square),
    "logistic": floating(_logistic),
    "is_finite": elementwise(_is_finite),
    "integer_pow": _integer_pow,
    "pow": _pow,
    "round": _round,
    "clamp": _clamp,
    "select_n": _select_n,
    "shift_left": _shift("arith.shli", _zero),
    "shift_right_logical": _shift("arith.shrui", _zero),
    "shift_right_arithmetic": _shift("arith.shrsi", _signs),
    "population_count": _bit_count("__nv_popc"),
    "clz": _bit_count("__nv_clz"),
    "mulhi": typed(_high_product),
    "polynomial": elementwise(_polynomial),
    "bitcast_convert_type": _bitcast,
    **dict.fromkeys(("copy", "stop_gradient", "optimization_barrier"), _identity),
}
triton_rules.update({ir.primitives[name]: rule for name, rule in _rules.items()})
