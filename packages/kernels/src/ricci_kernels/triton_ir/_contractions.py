"""Contractions: products of matrices on tensor cores, and small ones as sums of products."""

from collections.abc import Sequence
from math import prod
from typing import Any

import ricci_ir as ir
import ricci_lax as lax

from ._conversions import converted
from ._elementwise import is_unsigned
from ._reductions import summed
from ._rules import LARGEST, triton_rules
from ._writer import Value, Writer, element_of

# MLIR's numbers of the precisions of float32 operands.
_TF32, _TF32_X3, _IEEE, _BF16_X3, _BF16_X6 = range(5)
_presets: dict[str, int] = {
    "TF32_TF32_F32": _TF32,
    "TF32_TF32_F32_X3": _TF32_X3,
    "F32_F32_F32": _IEEE,
    "BF16_BF16_F32_X3": _BF16_X3,
    "BF16_BF16_F32_X6": _BF16_X6,
}
# The least size of each dimension of a product on tensor cores, and of the contracted one for
# elements of 8 bits.
_LEAST, _LEAST_OF_BYTES = 16, 32


def _arranged(
    writer: Writer, x: Value, *groups: Sequence[int]
) -> tuple[Value, list[tuple[int, ...]]]:
    """A value with an axis for each group of its axes, and the sizes in each group."""
    x = writer.transposed(x, [axis for group in groups for axis in group])
    sizes, start = [], 0
    for group in groups:
        sizes.append(x.shape[start : start + len(group)])
        start += len(group)
    return writer.reshaped(x, tuple([prod(s) for s in sizes])), sizes


def _precision(eqn: ir.JaxprEqn) -> tuple[int, str | None]:
    """The number of the precision of float32, and the dtype to which operands are rounded."""
    precision = eqn.params["precision"]
    if isinstance(precision, lax.DotAlgorithmPreset):
        # Triton has no such precision of float32; rounded operands have the products that it means.
        if precision.name == "BF16_BF16_F32":
            return _TF32, "bf16"
        return _presets.get(precision.name, _TF32), None
    highest = isinstance(precision, tuple) and lax.Precision.HIGHEST in precision
    high = isinstance(precision, tuple) and lax.Precision.HIGH in precision
    return (_IEEE if highest else _TF32_X3 if high else _TF32), None


def _dot_general(writer: Writer, eqn: ir.JaxprEqn, x: Value, y: Value) -> Value:
    (x_sums, y_sums), (x_batch, y_batch) = eqn.params["dimension_numbers"]
    free = [
        [axis for axis in range(len(v.shape)) if axis not in {*sums, *batch}]
        for v, sums, batch in ((x, x_sums, x_batch), (y, y_sums, y_batch))
    ]
    out: Any = eqn.outvars[0].aval
    number, rounded = _precision(eqn)
    x, y = _common(writer, eqn, x, y, rounded)
    x, (batch, rows, _) = _arranged(writer, x, x_batch, free[0], x_sums)
    y, (_, _, columns) = _arranged(writer, y, y_batch, y_sums, free[1])
    accumulator = "i32" if not x.is_float and x.bits < 32 else x.element
    if x.is_float and x.bits < 32:
        accumulator = "f32"
    least = _LEAST_OF_BYTES if x.bits == 8 else _LEAST
    # Tensor cores multiply blocks of a least size, of floats or of 8-bit integers. All else is a
    # sum of products of elements.
    is_small = min(x.shape[1], y.shape[2]) < _LEAST or x.shape[2] < least
    if is_small or (not x.is_float and x.bits != 8):
        result = _sum_of_products(writer, x, y, accumulator, not is_unsigned(out.dtype))
    else:
        result = _product(writer, x, y, accumulator, number)
    shape = (*batch, *rows, *columns)
    return writer.reshaped(converted(writer, result, element_of(out.dtype)), shape)


def _common(
    writer: Writer, eqn: ir.JaxprEqn, x: Value, y: Value, rounded: str | None
) -> tuple[Value, Value]:
    """The operands in one type of elements."""
    if rounded is not None:
        return converted(writer, x, rounded), converted(writer, y, rounded)
    if x.element == y.element or (x.element.startswith("f8") and y.element.startswith("f8")):
        return x, y
    if x.is_float != y.is_float:
        raise NotImplementedError("multiplies integers and floats; convert one of them")
    wide = x.element if x.bits > y.bits else y.element if y.bits > x.bits else "f32"
    return converted(writer, x, wide), converted(writer, y, wide)


def _product(writer: Writer, x: Value, y: Value, accumulator: str, number: int) -> Value:
    """A product on tensor cores, of matrices or a batch of them."""
    shape = (x.shape[0], x.shape[1], y.shape[2])
    # A batch of one is a product of matrices.
    if shape[0] == 1:
        x, y = writer.reshaped(x, x.shape[1:]), writer.reshaped(y, y.shape[1:])
        shape = shape[1:]
    zero = writer.constant(0, accumulator, shape)
    attributes = f"inputPrecision = {number} : i32, maxNumImpreciseAcc = 0 : i32"
    return writer.op("tt.dot", [x, y, zero], shape, accumulator, attributes)


def _sum_of_products(writer: Writer, x: Value, y: Value, accumulator: str, signed: bool) -> Value:
    """A product of matrices that are too small for tensor cores, or of wide integers."""
    batch, rows, length = x.shape
    columns = y.shape[2]
    whole = (batch, rows, length, columns)
    if prod(whole) > LARGEST:
        raise NotImplementedError(
            f"multiplies matrices of shapes {x.shape[1:]} and {y.shape[1:]}. On tensor cores each "
            f"dimension is at least {_LEAST} (the contracted one {_LEAST_OF_BYTES} for 8 bits), "
            "and the elements floats or int8: take larger blocks"
        )
    x, y = converted(writer, x, accumulator, signed), converted(writer, y, accumulator, signed)
    x = writer.spread(writer.reshaped(x, (batch, rows, length, 1)), whole)
    y = writer.spread(writer.reshaped(y, (batch, 1, length, columns)), whole)
    return summed(writer, writer.mul(x, y), (2,))


triton_rules[ir.primitives["dot_general"]] = _dot_general
