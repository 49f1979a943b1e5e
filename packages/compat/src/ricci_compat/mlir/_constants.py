"""Constants and attributes as MLIR objects."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ricci_ir import AbstractValue, ShapedArray, get_aval, physical_aval
from ricci_stablehlo import dense, element_type, scalar_literal, tensor_type
from ricci_xla.authoring import load_mlir

if TYPE_CHECKING:
    from jaxlib.mlir import ir

__all__ = ["ConstantHandler", "dense_int_array", "dense_int_elements", "i32_attr", "i64_attr"]
__all__ += ["ir_attribute", "ir_constant", "ir_constants", "register_constant_handler"]


class ConstantHandler(Protocol):
    """Writes a constant of a class into the module that is being built."""

    def __call__(
        self, val: Any, aval: AbstractValue | None
    ) -> "ir.Value[Any] | Sequence[ir.Value[Any]]":
        """The MLIR value of a constant, or a sequence of values.

        Args:
          val: the constant.
          aval: its type, if that is known.
        """
        ...


_handlers: dict[type, ConstantHandler] = {}


def register_constant_handler(type_: type, handler_fun: ConstantHandler) -> None:
    """Register a handler that writes constants of a class, and of its subclasses, into modules.

    Args:
      type_: the class.
      handler_fun: ``handler_fun(val, aval)`` returns an MLIR value, or several.
    """
    _handlers[type_] = handler_fun


def ir_constants(
    val: Any, *, const_lowering: Mapping[Any, Any] | None = None, aval: AbstractValue | None = None
) -> "tuple[ir.Value[Any], ...]":
    """The MLIR values of a constant: one, unless a registered handler returns several.

    Args:
      val: an array or a scalar, or a value of a class that has a handler.
      const_lowering: accepted for compatibility; not used.
      aval: the type of the constant, by default that of ``val``.

    Raises:
      TypeError: if the value is not an array, and its class has no handler.
    """
    # The most derived class first, so that a handler of a class beats that of its base.
    for kind in type(val).__mro__:
        if kind in _handlers:
            values = _handlers[kind](val, aval)
            return tuple(values) if isinstance(values, Sequence) else (values,)
    if aval is None:
        # NumPy arrays keep their dtype, also a 64-bit one where these are off.
        is_numpy = isinstance(val, np.ndarray | np.generic)
        aval = ShapedArray(val.shape, val.dtype) if is_numpy else get_aval(val)
    # Keys are arrays of words in a module.
    physical: Any = physical_aval(aval)
    array = np.asarray(val.physical if physical is not aval else val, physical.dtype)
    # A scalar with the type of an array fills the array.
    array = np.broadcast_to(array, physical.shape)
    ir, _ = load_mlir()
    # The whole operation is parsed: the bindings cannot hold an attribute of complex numbers.
    text = f"%0 = stablehlo.constant {dense(array)} : {tensor_type(physical)}"
    operation = ir.Operation.parse(text)
    ir.InsertionPoint.current.insert(operation)
    return (operation.operation.result,)


def ir_constant(
    val: Any, *, const_lowering: Mapping[Any, Any] | None = None, aval: AbstractValue | None = None
) -> "ir.Value[Any]":
    """Write a constant at the current insertion point, and return its MLIR value.

    Args:
      val, const_lowering, aval: see ``ir_constants``.

    Example:
      >>> import numpy as np
      >>> from ricci_compat.mlir import ir, ir_constant, make_ir_context
      >>> with make_ir_context(), ir.Location.unknown():
      ...     module = ir.Module.create()
      ...     with ir.InsertionPoint(module.body):
      ...         print(ir_constant(np.float32([1, 2])).type)
      tensor<2xf32>
    """
    (value,) = ir_constants(val, const_lowering=const_lowering, aval=aval)
    return value


def ir_attribute(val: Any) -> "ir.Attribute":
    """Convert a value to an MLIR attribute.

    Args:
      val: a number, a string, a NumPy array, or a list or dictionary of such.

    Raises:
      TypeError: if it is none of these.

    Example:
      >>> from ricci_compat.mlir import ir_attribute, make_ir_context
      >>> with make_ir_context():
      ...     print(ir_attribute({"axes": [0, 1], "name": "sum"}))
      {axes = [0, 1], name = "sum"}
    """
    ir, _ = load_mlir()
    if isinstance(val, Mapping):
        return ir.DictAttr.get({name: ir_attribute(item) for name, item in val.items()})
    if isinstance(val, list | tuple):
        return ir.ArrayAttr.get([ir_attribute(item) for item in val])
    if isinstance(val, ir.Attribute):
        return val
    # Ahead of the numbers: bool is a subclass of int.
    if isinstance(val, bool | np.bool_):
        return ir.BoolAttr.get(bool(val))
    if isinstance(val, str | bytes):
        return ir.StringAttr.get(val)
    if isinstance(val, int | float | np.generic):
        array: Any = np.asarray(val)
        return ir.Attribute.parse(f"{scalar_literal(array[()])} : {element_type(array.dtype)}")
    if isinstance(val, np.ndarray):
        return ir.Attribute.parse(
            f"{dense(val)} : {tensor_type(ShapedArray(val.shape, val.dtype))}"
        )
    raise TypeError(
        f"ir_attribute: a {type(val).__name__} cannot be an attribute. Pass numbers, strings, "
        "NumPy arrays, or lists and dictionaries of them."
    )


def i32_attr(i: int) -> "ir.IntegerAttr":
    """An integer of 32 bits as an MLIR attribute."""
    return _integer(i, 32)


def i64_attr(i: int) -> "ir.IntegerAttr":
    """An integer of 64 bits as an MLIR attribute."""
    return _integer(i, 64)


def _integer(value: int, width: int) -> "ir.IntegerAttr":
    ir, _ = load_mlir()
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(width), int(value))


def dense_int_array(xs: Sequence[int]) -> "ir.DenseI64ArrayAttr":
    """Integers of 64 bits as an array attribute of MLIR."""
    ir, _ = load_mlir()
    return ir.DenseI64ArrayAttr.get(list(xs))


def dense_int_elements(xs: Sequence[int]) -> "ir.DenseElementsAttr":
    """A vector of integers of 64 bits as an MLIR attribute."""
    ir, _ = load_mlir()
    return ir.DenseIntElementsAttr.get(np.asarray(xs, np.int64))
