"""The values of symbolic dimensions in a module.

A function with symbolic shapes takes the variables of its dimensions as its first arguments,
integers. ``@main`` derives them from the shapes of its arguments and checks these. Any other
dimension is computed before its first use.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir

from ._types import string
from ._values import Value
from ._writer import Writer

__all__ = ["derive_dimensions", "dimension_value", "dimension_variables", "shape_value"]

_INT32 = np.dtype(np.int32)
_SIZE = ir.ShapedArray((), _INT32)
_FLAG = ir.ShapedArray((), np.dtype(bool))


def dimension_variables(jaxpr: ir.Jaxpr) -> tuple[str, ...]:
    """Return the names of the variables of all dimensions in a jaxpr, in alphabetical order."""
    return jaxpr.derived("dimension variables", lambda: tuple(sorted(_variables(jaxpr))))


def _variables(jaxpr: ir.Jaxpr) -> set[str]:
    names: set[str] = set()
    avals = [v.aval for v in (*jaxpr.constvars, *jaxpr.invars)]
    for eqn in jaxpr.eqns:
        avals += [v.aval for v in eqn.outvars]
        names.update(*map(_inside, eqn.params.values()))
    shapes = {getattr(aval, "shape", ()) for aval in avals}
    names.update(*(n.variables() for shape in shapes for n in shape if ir.is_symbolic_dim(n)))
    return names.union(*map(dimension_variables, ir.subjaxprs(jaxpr)))


def _inside(value: Any) -> set[str]:
    if ir.is_symbolic_dim(value):
        return value.variables()
    if isinstance(value, tuple | list):
        return set().union(*map(_inside, value))
    return set()


def _size(ctx: Writer, x: int | Value) -> Value:
    return ctx.constant(x, _SIZE) if isinstance(x, int) else x


def _binary(op: str) -> Callable[[Any, Any, Any], Value]:
    return lambda ctx, x, y: ctx.emit(op, [_size(ctx, x), _size(ctx, y)], _SIZE)


_add, _subtract = _binary("stablehlo.add"), _binary("stablehlo.subtract")
_multiply, _divide = _binary("stablehlo.multiply"), _binary("stablehlo.divide")
_maximum, _minimum = _binary("stablehlo.maximum"), _binary("stablehlo.minimum")


def _compare(ctx: Writer, direction: str, x: Value, y: Value) -> Value:
    return ctx.emit(f"stablehlo.compare {direction},", [x, y], _FLAG, ", SIGNED", full=True)


def _floor_divide(ctx: Writer, x: int | Value, y: int | Value) -> Value:
    """Divide and round down; StableHLO's division rounds to zero."""
    x, y, zero = _size(ctx, x), _size(ctx, y), _size(ctx, 0)
    quotient = _divide(ctx, x, y)
    remainder = ctx.emit("stablehlo.remainder", [x, y], _SIZE)
    signs = [ctx.emit("stablehlo.sign", [v], _SIZE) for v in (remainder, y)]
    other = _compare(ctx, "NE", *signs)
    inexact = _compare(ctx, "NE", remainder, zero)
    both = ctx.emit("stablehlo.and", [other, inexact], _FLAG)
    below = _subtract(ctx, quotient, 1)
    types = "tensor<i1>, tensor<i32>"
    return ctx.emit("stablehlo.select", [both, below, quotient], _SIZE, types=types)


def _modulo(ctx: Writer, x: int | Value, y: int | Value) -> Value:
    return _subtract(ctx, x, _multiply(ctx, _floor_divide(ctx, x, y), y))


_operations: dict[str, Callable[[Any, Any, Any], Value]] = {
    "add": _add,
    "mul": _multiply,
    "floordiv": _floor_divide,
    "mod": _modulo,
    "max": _maximum,
    "min": _minimum,
}


def _bound(ctx: Writer) -> dict[str, Callable[[Any, Any], Value]]:
    return {name: lambda x, y, write=write: write(ctx, x, y) for name, write in _operations.items()}


def dimension_value(ctx: Writer, dimension: int | ir.SymbolicDimension) -> Value:
    """Return a size as a scalar of type ``i32``.

    Raises:
      NotImplementedError: if a variable of it has no value in the function being written.
    """
    if not isinstance(dimension, ir.SymbolicDimension):
        return ctx.constant(dimension, _SIZE)
    value = ctx.sizes.get(dimension)
    if value is None:
        missing = sorted(dimension.variables() - set(ctx.sizes))
        if missing:
            raise NotImplementedError(
                f"The dimension {dimension} has no value in this function: {', '.join(missing)} "
                "is not a variable of its arguments' shapes."
            )
        value = ctx.sizes[dimension] = dimension.evaluate(ctx.sizes, _bound(ctx))
    return value


def shape_value(
    ctx: Writer, sizes: Sequence[int | ir.SymbolicDimension], dtype: ir.DTypeLike = _INT32
) -> Value:
    """Return sizes as a vector of integers."""
    sizes = tuple(sizes)
    if ir.is_static_shape(sizes):
        return ctx.constant(np.array(sizes, dtype), ir.ShapedArray((len(sizes),), dtype))
    key = (sizes, dtype)
    value = ctx.sizes.get(key)
    if value is not None:
        return value
    one = ir.ShapedArray((1,), _INT32)
    parts = [
        ctx.emit("stablehlo.reshape", [dimension_value(ctx, n)], one)
        if ir.is_symbolic_dim(n)
        else ctx.constant(np.array([n], _INT32))
        for n in sizes
    ]
    value = parts[0]
    if len(parts) > 1:
        value = ctx.emit(
            "stablehlo.concatenate", parts, ir.ShapedArray((len(parts),), _INT32), ", dim = 0"
        )
    if dtype != _INT32:
        value = ctx.emit("stablehlo.convert", [value], ir.ShapedArray((len(parts),), dtype))
    ctx.sizes[key] = value
    return value


class _DimensionWriter:
    """Writes the operations of the plan that solves for dimension variables."""

    def __init__(self, ctx: Writer, arguments: Sequence[Value]):
        self.ctx = ctx
        self.arguments = arguments
        self.operations = _bound(ctx)
        self.sizes: dict[tuple[int, int], Value] = {}

    def size(self, argument: int, axis: int) -> Value:
        value = self.sizes.get((argument, axis))
        if value is None:
            x = self.arguments[argument]
            value = self.ctx.emit(
                "stablehlo.get_dimension_size", [x], _SIZE, f", dim = {axis}", full=True
            )
            self.sizes[argument, axis] = value
        return value

    def require(self, value: Any, zero: bool, message: str, values: Sequence[Any]) -> None:
        ctx = self.ctx
        holds = _compare(ctx, "EQ" if zero else "GE", _size(ctx, value), _size(ctx, 0))
        operands = [holds, *(_size(ctx, v) for v in values)]
        ctx.custom_call(
            "shape_assertion",
            operands,
            [],
            api_version=2,
            has_side_effect=True,
            annotations=f"error_message = {string(message)}",
        )


def derive_dimensions(ctx: Writer, arguments: Sequence[Value], names: Sequence[str] = ()) -> None:
    """Write operations that derive the dimension variables from arguments, and check these.

    Args:
      ctx: the context to write in; the variables are added to its ``sizes``.
      arguments: the arguments of the function.
      names: their names, for the messages of failed checks.

    Raises:
      ValueError: if a variable cannot be derived.
    """
    shapes = []
    for i, x in enumerate(arguments):
        name = names[i] if i < len(names) else f"args[{i}]"
        shapes.append((name, getattr(x.aval, "shape", ())))
    ctx.sizes.update(ir.solve_dimensions(shapes, _DimensionWriter(ctx, arguments)))
