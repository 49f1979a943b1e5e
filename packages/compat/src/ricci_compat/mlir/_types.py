"""The MLIR types of abstract values and dtypes."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ricci_ir import AbstractToken, AbstractValue, ShapedArray
from ricci_stablehlo import element_type, tensor_type
from ricci_xla.authoring import load_mlir

from ._contexts import ModuleContext

if TYPE_CHECKING:
    from jaxlib.mlir import ir

__all__ = ["aval_to_ir_type", "aval_to_ir_types", "dtype_to_ir_type", "flatten_ir_types"]
__all__ += ["flatten_ir_values", "ir_type_handlers", "shape_tensor", "token_type"]
__all__ += ["unflatten_ir_values_like_types"]

# The MLIR value or type of one value of a jaxpr, or several.
type IrTypes = ir.Type | Sequence[ir.Type]
type IrValues = ir.Value[Any] | Sequence[ir.Value[Any]]


def dtype_to_ir_type(dtype: npt.DTypeLike) -> "ir.Type":
    """The MLIR type of elements of a dtype.

    Args:
      dtype: a NumPy dtype.

    Raises:
      TypeError: if StableHLO has no such elements.
    """
    ir, _ = load_mlir()
    return ir.Type.parse(element_type(np.dtype(dtype)))


def token_type() -> "ir.Type":
    """The MLIR type of tokens."""
    ir, _ = load_mlir()
    return ir.Type.parse("!stablehlo.token")


def aval_to_ir_types(ctx: ModuleContext | None, aval: AbstractValue) -> "tuple[ir.Type, ...]":
    """The MLIR types of the values that represent a value of a jaxpr: one, unless registered.

    Args:
      ctx: the module that is being built.
      aval: the abstract value.

    Raises:
      TypeError: if values of this type have no MLIR type.
    """
    handler = next((ir_type_handlers[k] for k in type(aval).__mro__ if k in ir_type_handlers), None)
    if handler is None:
        raise TypeError(f"values of type {aval} have no MLIR type")
    types = handler(ctx, aval)
    return tuple(types) if isinstance(types, Sequence) else (types,)


def aval_to_ir_type(ctx: ModuleContext | None, aval: AbstractValue) -> "ir.Type":
    """The MLIR type of a value of a jaxpr; see ``aval_to_ir_types``.

    Example:
      >>> import numpy as np
      >>> from ricci.core import ShapedArray
      >>> from ricci_compat.mlir import aval_to_ir_type, make_ir_context
      >>> with make_ir_context():
      ...     print(aval_to_ir_type(None, ShapedArray((2, 3), np.float32)))
      tensor<2x3xf32>
    """
    (type_,) = aval_to_ir_types(ctx, aval)
    return type_


def _tensor_type(ctx: ModuleContext | None, aval: AbstractValue) -> "ir.Type":
    ir, _ = load_mlir()
    return ir.Type.parse(tensor_type(aval))


# By class of abstract values: ``handler(ctx, aval)`` returns an MLIR type, or several. Libraries
# may add classes, for this module's functions; operands of primitives are arrays and tokens.
ir_type_handlers: dict[type, Any] = {ShapedArray: _tensor_type, AbstractToken: _tensor_type}


def _flat(xs: Iterable[Any]) -> Iterator[Any]:
    for x in xs:
        if isinstance(x, list | tuple):
            yield from _flat(x)
        else:
            yield x


def flatten_ir_types(xs: Iterable[IrTypes]) -> "list[ir.Type]":
    """A flat list of MLIR types, given a type or a sequence of types for each value."""
    return list(_flat(xs))


def flatten_ir_values(xs: Iterable[IrValues]) -> "list[ir.Value[Any]]":
    """A flat list of MLIR values, given a value or a sequence of values for each."""
    return list(_flat(xs))


def unflatten_ir_values_like_types(
    xs: "Iterable[ir.Value[Any]]", ys: Sequence[IrTypes]
) -> list[IrValues]:
    """The inverse of ``flatten_ir_values``, given the types of the values.

    Args:
      xs: a flat sequence of MLIR values.
      ys: the MLIR type, or a sequence of types, of each value of the jaxpr.

    Raises:
      ValueError: if there are more values, or fewer, than types.
    """
    values = list(xs)
    count = len(flatten_ir_types(ys))
    if len(values) != count:
        raise ValueError(f"there are {len(values)} values for {count} types")
    flat = iter(values)
    return [tuple(next(flat) for _ in y) if isinstance(y, list | tuple) else next(flat) for y in ys]


def shape_tensor(
    ctx: ModuleContext | None, sizes: "Sequence[int | ir.Value[Any]]"
) -> "ir.Value[Any]":
    """A shape as a vector of 32-bit integers, for operations with dynamic shapes.

    Args:
      ctx: the module that is being built.
      sizes: integers, or MLIR values that are scalars.
    """
    ir, _ = load_mlir()
    i32 = ir.IntegerType.get_signless(32)
    vector = ir.RankedTensorType.get([1], i32)
    if all(isinstance(n, int | np.integer) for n in sizes):
        elements = np.asarray(sizes, np.int32).reshape(len(sizes))
        return _constant(ir.DenseIntElementsAttr.get(elements, type=i32, shape=[len(sizes)]))
    parts = []
    for n in sizes:
        if isinstance(n, int | np.integer):
            element = np.asarray([n], np.int32)
            parts.append(_constant(ir.DenseIntElementsAttr.get(element, type=i32, shape=[1])))
        else:
            parts.append(_as_element(n, vector))
    if len(parts) == 1:
        return parts[0]
    whole = ir.RankedTensorType.get([len(parts)], i32)
    dimension = {"dimension": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)}
    return ir.Operation.create("stablehlo.concatenate", [whole], parts, dimension).result


def _constant(value: "ir.DenseElementsAttr") -> "ir.Value[Any]":
    ir, _ = load_mlir()
    return ir.Operation.create("stablehlo.constant", [value.type], [], {"value": value}).result


def _as_element(n: "ir.Value[Any]", vector: "ir.RankedTensorType") -> "ir.Value[Any]":
    ir, _ = load_mlir()
    scalar = ir.RankedTensorType.get([], vector.element_type)
    if n.type != scalar:
        n = ir.Operation.create("stablehlo.convert", [scalar], [n]).result
    return ir.Operation.create("stablehlo.reshape", [vector], [n]).result
