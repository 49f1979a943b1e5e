"""Conversions between the types of elements."""

import numpy as np

import ricci_ir as ir

from ._rules import triton_rules
from ._writer import Value, Writer, element_of

_ONE_BELOW_ZERO = 4  # MLIR's predicate "ordered and less"
_AT_LEAST = 3  # "ordered and greater or equal"
_ORDERED = 7


def converted(writer: Writer, x: Value, element: str, signed: bool = True) -> Value:
    """A value with elements of another type.

    Args:
      writer: where to append operations.
      x: the value.
      element: the type of the new elements.
      signed: whether the integers among both have a sign.
    """
    if x.element == element:
        return x
    target = Value("", x.shape, element)
    if element == "i1" and x.element.startswith("f8"):
        x = converted(writer, x, "f32")
    # 13 is "unordered or unequal" of floats, for which NaN is true; 1 is "unequal" of integers.
    if element == "i1":
        return writer.compare(13 if x.is_float else 1, x, writer.like(x, 0))
    if x.is_float and target.is_float:
        return _float_to_float(writer, x, target)
    if x.is_float:
        return _float_to_int(writer, x, target, signed)
    if not target.is_float:
        return writer.resized(x, element, signed and x.element != "i1")
    if element not in ("f32", "f64", "f16"):
        return converted(writer, converted(writer, x, "f32", signed), element)
    name = "arith.sitofp" if signed and x.element != "i1" else "arith.uitofp"
    return writer.op(name, [x], x.shape, element)


def _float_to_float(writer: Writer, x: Value, target: Value) -> Value:
    if x.bits == 8 or target.bits == 8:
        narrow, wide = (x, target) if x.bits == 8 else (target, x)
        # Triton converts 8 bits to and from 16 and 32 bits only.
        if wide.bits in (8, 64) or narrow.bits == wide.bits:
            return converted(writer, converted(writer, x, "f32"), target.element)
        rounding = "rounding = 1 : i32" if target.bits == 8 else ""
        return writer.op("tt.fp_to_fp", [x], x.shape, target.element, rounding)
    if x.bits == target.bits:
        return converted(writer, converted(writer, x, "f32"), target.element)
    name = "arith.extf" if x.bits < target.bits else "arith.truncf"
    return writer.op(name, [x], x.shape, target.element)


def _float_to_int(writer: Writer, x: Value, target: Value, signed: bool) -> Value:
    """A float rounded towards zero; the nearest integer if it is out of range, 0 for NaN."""
    if x.element not in ("f32", "f64"):
        x = converted(writer, x, "f32")
    bits = target.bits
    # Powers of two are exact in floats; the largest integer may not be, hence "at least the limit".
    least = -(2.0 ** (bits - 1)) if signed else 0.0
    limit = 2.0 ** (bits - 1 if signed else bits)
    largest = int(limit) - 1
    below = writer.compare(_ONE_BELOW_ZERO, x, writer.like(x, least))
    above = writer.compare(_AT_LEAST, x, writer.like(x, limit))
    is_number = writer.compare(_ORDERED, x, x)
    # Narrow integers are converted by way of 32 bits, which the processor has.
    wide = target.element if bits >= 32 else "i32"
    name = "arith.fptosi" if signed or bits < 32 else "arith.fptoui"
    result = writer.op(name, [x], x.shape, wide)
    result = writer.resized(result, target.element)
    result = writer.select(below, writer.like(result, int(least)), result)
    result = writer.select(above, writer.like(result, largest), result)
    return writer.select(is_number, result, writer.like(result, 0))


def _convert(writer: Writer, eqn: ir.JaxprEqn, x: Value) -> Value:
    new = np.dtype(eqn.params["new_dtype"])
    old = eqn.invars[0].aval.dtype  # pyright: ignore[reportAttributeAccessIssue]
    integer = new if x.is_float else old
    signed = not ir.issubdtype(integer, np.unsignedinteger)
    return converted(writer, x, element_of(new), signed)


def _reduce_precision(writer: Writer, eqn: ir.JaxprEqn, x: Value) -> Value:
    widths = {(5, 10): "f16", (8, 7): "bf16", (8, 23): "f32", (11, 52): "f64"}
    element = widths.get((eqn.params["exponent_bits"], eqn.params["mantissa_bits"]))
    if element is None:
        raise NotImplementedError("rounds to a width that is not of float16, bfloat16 or float32")
    return converted(writer, converted(writer, x, element), x.element)


triton_rules.update(
    {
        ir.primitives["convert_element_type"]: _convert,
        ir.primitives["reduce_precision"]: _reduce_precision,
    }
)
