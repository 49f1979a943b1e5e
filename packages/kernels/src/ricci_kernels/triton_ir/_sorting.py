"""Sorting along an axis by a bitonic network, whose steps exchange elements by their positions."""

from collections.abc import Sequence

import numpy as np

import ricci_ir as ir

from ._conversions import converted
from ._elementwise import compare
from ._rules import Rule, triton_rules
from ._shapes import along, gathered
from ._writer import Value, Writer, element_of


def _precedes(
    writer: Writer, left: Sequence[Value], right: Sequence[Value], dtypes: Sequence[np.dtype]
) -> Value:
    """Whether elements come before others, by the first of their keys that differs; NaN is last."""
    result: Value | None = None
    for x, y, dtype in reversed(list(zip(left, right, dtypes, strict=True))):
        less = compare(writer, "lt", dtype, x, y)
        equal = compare(writer, "eq", dtype, x, y)
        if x.is_float:
            x_is_nan, y_is_nan = writer.compare(14, x, x), writer.compare(14, y, y)
            y_alone = writer.binary("arith.andi", writer.compare(7, x, x), y_is_nan)
            less = writer.binary("arith.ori", less, y_alone)
            both = writer.binary("arith.andi", x_is_nan, y_is_nan)
            equal = writer.binary("arith.ori", equal, both)
        if result is not None:
            less = writer.binary("arith.ori", less, writer.binary("arith.andi", equal, result))
        result = less
    assert result is not None
    return result


def sorted_along(
    writer: Writer,
    values: Sequence[Value],
    axis: int,
    key_count: int,
    dtypes: Sequence[np.dtype],
    *,
    is_descending: bool = False,
) -> list[Value]:
    """Sort values of one shape along an axis, stably, by the first of them.

    Args:
      writer: where to append operations.
      values: the values, which are exchanged together.
      axis: the axis.
      key_count: how many of them are compared.
      dtypes: of the compared values.
      is_descending: whether the largest keys are first; equal ones stay in order.
    """
    shape, size = values[0].shape, values[0].shape[axis]
    places = writer.positions(size)
    # The position is the last key: a network by itself is not stable.
    current = [*values, writer.expanded(places, shape, (axis,))]
    keys = [*range(key_count), len(values)]
    kinds = [*dtypes, np.dtype(np.int32)]
    width = 2
    while width <= size:
        distance = width // 2
        while distance:
            partner = writer.binary("arith.xori", places, writer.like(places, distance))
            other = [gathered(writer, x, partner, axis) for x in current]
            bits = [
                writer.compare(0, writer.binary("arith.andi", places, writer.like(places, n)), zero)
                for n, zero in ((distance, writer.like(places, 0)), (width, writer.like(places, 0)))
            ]
            # In an ascending run the lower one of a pair takes the element that comes first.
            takes_first = writer.compare(0, *bits)
            takes_first = writer.expanded(takes_first, shape, (axis,))
            mine, theirs = [[x[k] for k in keys] for x in (current, other)]
            # Values descend and positions ascend: which one comes first is asked in both
            # directions, and where neither does, the lower position is first.
            if is_descending:
                first = _precedes(writer, theirs[:-1], mine[:-1], dtypes)
                behind = _precedes(writer, mine[:-1], theirs[:-1], dtypes)
                tied = writer.compare(0, first, behind)
                order = writer.compare(2, mine[-1], theirs[-1])
                is_first = writer.select(tied, order, first)
            else:
                is_first = _precedes(writer, mine, theirs, kinds)
            stays = writer.compare(0, is_first, takes_first)
            current = [writer.select(stays, x, y) for x, y in zip(current, other, strict=True)]
            distance //= 2
        width *= 2
    return current


def _sort(writer: Writer, eqn: ir.JaxprEqn, *operands: Value) -> list[Value]:
    count = eqn.params["num_keys"]
    dtypes = [v.aval.dtype for v in eqn.invars[:count]]  # pyright: ignore
    axis = eqn.params["dimension"]
    return sorted_along(writer, operands, axis, count, dtypes)[:-1]


def _top_k(writer: Writer, eqn: ir.JaxprEqn, x: Value) -> list[Value]:
    """The largest elements of the last axis, and their positions."""
    axis = len(x.shape) - 1
    dtype = eqn.invars[0].aval.dtype  # pyright: ignore[reportAttributeAccessIssue]
    first = along(writer, eqn.params["k"], 1, 0)
    pair = sorted_along(writer, [x], axis, 1, [dtype], is_descending=True)
    values, places = [gathered(writer, v, first, axis) for v in pair]
    index: ir.ShapedArray = eqn.outvars[1].aval  # pyright: ignore[reportAssignmentType]
    return [values, converted(writer, places, element_of(index.dtype))]


_rules: dict[str, Rule] = {"sort": _sort, "top_k": _top_k}
triton_rules.update({ir.primitives[name]: rule for name, rule in _rules.items()})
