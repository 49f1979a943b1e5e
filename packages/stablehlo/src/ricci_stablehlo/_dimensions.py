"""The values of symbolic dimensions in a module, and the operations that take sizes.

A function with symbolic shapes takes the variables of its dimensions as its first arguments,
integers. ``@main`` derives them from the shapes of its arguments and checks these. Any other
dimension is computed before its first use.

Where all sizes are static, they are attributes of an operation. Where some are symbolic, its
dynamic form takes them as operands. The functions that write operations choose the form, so that
lowering rules need not.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir

from ._attributes import custom_call_attributes
from ._types import int_array, int_list, string, tensor_type
from ._values import Value
from ._writer import Writer

__all__ = ["write_broadcast", "write_dynamic_slice", "write_gather", "write_iota", "write_pad"]
__all__ += ["write_reshape", "write_slice"]


def write_broadcast(ctx: Writer, x: Value, dims: Sequence[int], out: ir.ShapedArray) -> Value:
    """Write ``broadcast_in_dim``: dimension ``i`` of ``x`` becomes dimension ``dims[i]``."""
    if not ctx.module.symbolic or ir.is_static_shape(out.shape):
        return ctx.emit(
            "stablehlo.broadcast_in_dim", [x], out, f", dims = {int_list(dims)}", full=True
        )
    operands, dimensions = [x, shape_value(ctx, out.shape)], f", dims = {int_list(dims)}"
    return ctx.emit("stablehlo.dynamic_broadcast_in_dim", operands, out, dimensions, full=True)


def write_reshape(ctx: Writer, x: Value, out: ir.ShapedArray) -> Value:
    """Write ``reshape``."""
    if not ctx.module.symbolic or ir.is_static_shape(out.shape):
        return ctx.emit("stablehlo.reshape", [x], out, full=True)
    return ctx.emit("stablehlo.dynamic_reshape", [x, shape_value(ctx, out.shape)], out, full=True)


def write_iota(ctx: Writer, dimension: int, out: ir.ShapedArray) -> Value:
    """Write ``iota``."""
    if not ctx.module.symbolic or ir.is_static_shape(out.shape):
        return ctx.append("stablehlo.iota", f" dim = {dimension}", [out], tensor_type(out))[0]
    sizes = [shape_value(ctx, out.shape)]
    return ctx.emit("stablehlo.dynamic_iota", sizes, out, f", dim = {dimension}", full=True)


def write_slice(
    ctx: Writer,
    x: Value,
    starts: Sequence[int],
    limits: Sequence[int],
    strides: Sequence[int],
    out: ir.ShapedArray,
) -> Value:
    """Write ``slice``."""
    if not ctx.module.symbolic or ir.is_static_shape((*starts, *limits, *strides)):
        parts = [
            f"{start}:{limit}" + (f":{stride}" if stride != 1 else "")
            for start, limit, stride in zip(starts, limits, strides, strict=True)
        ]
        return ctx.emit("stablehlo.slice", [x], out, f"[{', '.join(parts)}]", full=True)
    ends = [shape_value(ctx, sizes) for sizes in (starts, limits, strides)]
    return ctx.emit("stablehlo.real_dynamic_slice", [x, *ends], out, full=True)


def write_dynamic_slice(
    ctx: Writer, x: Value, indices: Sequence[Value], sizes: Sequence[int], out: ir.ShapedArray
) -> Value:
    """Write ``dynamic_slice``, which clamps the indices so that the slice lies within ``x``."""
    if not ctx.module.symbolic or ir.is_static_shape(sizes):
        text = f", sizes = {int_list(sizes)}"
        return ctx.emit("stablehlo.dynamic_slice", [x, *indices], out, text, full=True)
    one = indices[0].aval.resized((1,))
    parts = [ctx.emit("stablehlo.reshape", [v], one) for v in indices]
    position = parts[0]
    if len(parts) > 1:
        # A dynamic slice is a gather of one window: every dimension is an offset dimension, and the
        # only index vector is its start. Like ``dynamic_slice``, gather clamps it.
        joined = one.resized((len(parts),))
        position = ctx.emit("stablehlo.concatenate", parts, joined, ", dim = 0")
    every = int_list(range(len(parts)))
    return write_gather(
        ctx, x, position, f"offset_dims = {every}, start_index_map = {every}", sizes, out
    )


def write_pad(
    ctx: Writer, x: Value, value: Value, config: Sequence[tuple[int, int, int]], out: ir.ShapedArray
) -> Value:
    """Write ``pad``; ``config`` has the padding of each dimension, as in ``lax.pad``."""
    low, high, interior = zip(*config, strict=True) if config else ((), (), ())
    if not ctx.module.symbolic or ir.is_static_shape((*low, *high, *interior)):
        text = f", low = {int_list(low)}, high = {int_list(high)}, interior = {int_list(interior)}"
        return ctx.emit("stablehlo.pad", [x, value], out, text, full=True)
    ends = [shape_value(ctx, sizes) for sizes in (low, high, interior)]
    return ctx.emit("stablehlo.dynamic_pad", [x, value, *ends], out, full=True)


def write_gather(
    ctx: Writer,
    x: Value,
    indices: Value,
    numbers: str,
    sizes: Sequence[int],
    out: ir.ShapedArray,
    indices_are_sorted: bool = False,
) -> Value:
    """Write ``gather``; ``numbers`` is the text of its dimension numbers."""
    attributes = (
        f"dimension_numbers = #stablehlo.gather<{numbers}>, "
        f"indices_are_sorted = {str(indices_are_sorted).lower()}"
    )
    if not ctx.module.symbolic or ir.is_static_shape(sizes):
        attributes += f", slice_sizes = {int_array(sizes)}"
        return ctx.generic("stablehlo.gather", [x, indices], [out], attributes)[0]
    operands = [x, indices, shape_value(ctx, sizes)]
    return ctx.generic("stablehlo.dynamic_gather", operands, [out], attributes)[0]


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


# Parameters may hold sizes, such as the shape of a broadcast, alone or in nested tuples.
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
    # Rounding to zero and down differ by 1 if the division is inexact and the operands differ in
    # sign. The remainder has the sign of the dividend.
    signs = [ctx.emit("stablehlo.sign", [v], _SIZE) for v in (remainder, y)]
    other = _compare(ctx, "NE", *signs)
    inexact = _compare(ctx, "NE", remainder, zero)
    both = ctx.emit("stablehlo.and", [other, inexact], _FLAG)
    below = _subtract(ctx, quotient, 1)
    types = "tensor<i1>, tensor<i32>"
    return ctx.emit("stablehlo.select", [both, below, quotient], _SIZE, types=types)


# The modulus of Python, which has the sign of the divisor; StableHLO's remainder has that of the
# dividend.
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
    # A dimension is computed once per function and reused, as is each shape below.
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
    # Static sizes become constants of one element, symbolic ones scalars reshaped to one; all are
    # joined to a vector.
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
    # Sizes are computed as ``i32`` and converted at the end, where an operation wants other
    # integers.
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
        # The compiler evaluates this once it knows the shapes, and fails with the message.
        call = custom_call_attributes("shape_assertion", 0, api_version=2, has_side_effect=True)
        text = ", ".join(f"{name} = {value}" for name, value in call.items())
        note = f"error_message = {string(message)}"
        ctx.generic("stablehlo.custom_call", operands, [], text, annotations=note)


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
