"""Reductions over axes, positions of extremes, running sums, and sorting."""

from collections.abc import Callable, Sequence

import numpy as np

import ricci_ir as ir

from ._conversions import converted
from ._elementwise import compare, dtype_of, extreme, library
from ._rules import Rule, triton_rules
from ._writer import Value, Writer, element_of

type Combine = Callable[[Writer, Sequence[Value], Sequence[Value]], Sequence[Value]]


def _combining_region(writer: Writer, kind: str, elements: Sequence[str], combine: Combine) -> str:
    """The region of a reduction or a scan."""

    def write(arguments: list[Value]) -> None:
        half = len(elements)
        results = combine(writer, arguments[:half], arguments[half:])
        writer.ops(f"tt.{kind}.return", results, [])

    return writer.region([((), element) for element in (*elements, *elements)], write)


def reduced(
    writer: Writer, operands: Sequence[Value], axes: Sequence[int], combine: Combine
) -> list[Value]:
    """Reduce values of one shape over axes, together."""
    values = list(operands)
    # tt.reduce takes one axis at a time; from the last one on, the earlier positions stay valid.
    for axis in sorted(axes, reverse=True):
        elements = [x.element for x in values]
        shape = values[0].shape
        shape = (*shape[:axis], *shape[axis + 1 :])
        region = _combining_region(writer, "reduce", elements, combine)
        results = [(shape, element) for element in elements]
        values = writer.ops("tt.reduce", values, results, f"axis = {axis} : i32", [region])
    return values


def summed(writer: Writer, x: Value, axes: Sequence[int]) -> Value:
    """The sum over axes."""
    return reduced(writer, [x], axes, lambda w, a, b: [w.add(a[0], b[0])])[0]


def _logaddexp(writer: Writer, x: Value, y: Value) -> Value:
    high = writer.binary("arith.maximumf", x, y)
    low = writer.binary("arith.minimumf", x, y)
    # The difference of equal infinities is NaN.
    is_equal = writer.compare(1, high, low)
    difference = writer.binary("arith.subf", low, high)
    difference = writer.select(is_equal, writer.like(high, 0.0), difference)
    return writer.add(high, library("log1p")(writer, library("exp")(writer, difference)))


def _combined(name: str, dtype: np.dtype) -> Combine:
    """The operation of two elements behind a reduction."""

    def combine(writer: Writer, left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
        (x,), (y,) = left, right
        match name:
            case "sum":
                return [writer.add(x, y)]
            case "prod":
                return [writer.mul(x, y)]
            case "max" | "min":
                return [extreme(writer, name, dtype, x, y)]
            case "logsumexp":
                return [_logaddexp(writer, x, y)]
        return [writer.binary(f"arith.{name}i", x, y)]

    return combine


def _wide(writer: Writer, x: Value) -> Value:
    """Floats of few bits are added as float32."""
    return converted(writer, x, "f32") if x.is_float and x.bits < 32 else x


def _reduction(name: str) -> Rule:
    def rule(writer: Writer, eqn: ir.JaxprEqn, x: Value, *_: Value) -> Value:
        combine = _combined(name, dtype_of(eqn))
        (result,) = reduced(writer, [_wide(writer, x)], eqn.params["axes"], combine)
        return converted(writer, result, x.element)

    return rule


def _running(name: str) -> Rule:
    def rule(writer: Writer, eqn: ir.JaxprEqn, x: Value) -> Value:
        wide = _wide(writer, x)
        reverse = "true" if eqn.params["reverse"] else "false"
        region = _combining_region(writer, "scan", [wide.element], _combined(name, dtype_of(eqn)))
        attributes = f"axis = {eqn.params['axis']} : i32, reverse = {reverse}"
        result = writer.op("tt.scan", [wide], x.shape, wide.element, attributes, [region])
        return converted(writer, result, x.element)

    return rule


def _position(name: str) -> Rule:
    """The rule of the position of an extreme: the first one, or the first NaN."""
    predicate = "gt" if name == "max" else "lt"

    def rule(writer: Writer, eqn: ir.JaxprEqn, x: Value) -> Value:
        dtype = dtype_of(eqn)
        (axis,) = eqn.params["axes"]
        x = _wide(writer, x)

        def combine(w: Writer, left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
            # The larger value wins, of equal ones the earlier position; a NaN wins over numbers, as
            # in XLA.
            (a, i), (b, j) = left, right
            wins = compare(w, predicate, dtype, a, b)
            ties = w.compare(1 if a.is_float else 0, a, b)
            if a.is_float:
                a_is_nan, b_is_nan = w.compare(14, a, a), w.compare(14, b, b)
                both = w.binary("arith.andi", a_is_nan, b_is_nan)
                ties = w.binary("arith.ori", ties, both)
                only = w.binary("arith.andi", a_is_nan, w.compare(7, b, b))
                wins = w.binary("arith.ori", wins, only)
            is_first = w.binary("arith.andi", ties, w.compare(2, i, j))
            takes = w.binary("arith.ori", wins, is_first)
            return [w.select(takes, a, b), w.select(takes, i, j)]

        places = writer.expanded(writer.positions(x.shape[axis]), x.shape, (axis,))
        _, place = reduced(writer, [x, places], [axis], combine)
        return converted(writer, place, element_of(eqn.params["index_dtype"]))

    return rule


_rules: dict[str, Rule] = {
    **{f"reduce_{name}": _reduction(name) for name in ("sum", "prod", "max", "min")},
    **{f"reduce_{name}": _reduction(name) for name in ("and", "or", "xor")},
    **{f"cum{name}": _running(name) for name in ("sum", "prod", "max", "min", "logsumexp")},
    "argmax": _position("max"),
    "argmin": _position("min"),
}
triton_rules.update({ir.primitives[name]: rule for name, rule in _rules.items()})
