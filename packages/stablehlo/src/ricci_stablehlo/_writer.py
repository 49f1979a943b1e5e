"""Append single operations to the body of a function or of a region."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import ricci_ir as ir

from ._module import Module
from ._operations import Details, Metadata, Operation, Region, signature
from ._types import dense, tensor_type
from ._values import Value


class Writer:
    """The body of a function, or of a region, to which operations are appended.

    Attributes:
      module: its module.
      counter: a list of one number, the next SSA name; a function and its regions share it.
      operations: the operations written so far.
      location: the text of the location of its operations.
      sizes: the values of symbolic dimensions: of variables, by name, and of computed ones.
    """

    __slots__ = ("counter", "location", "module", "operations", "sizes")

    def __init__(self, module: Module, counter: list[int]):
        self.module: Module = module
        self.counter: list[int] = counter
        self.operations: list[Operation] = []
        self.location: str = ""
        self.sizes: dict[Any, Value] = {}

    def new_name(self) -> str:
        """Return an SSA name that is unused in the function."""
        n = self.counter[0]
        self.counter[0] = n + 1
        return f"%{n}"

    def append(
        self,
        name: str,
        body: str,
        outs: Sequence[ir.AbstractValue],
        types: str,
        *,
        regions: Sequence[Region] = (),
        annotations: str = "",
        metadata: Metadata = (),
    ) -> list[Value]:
        """Write an operation in its custom assembly format; the arguments as for ``Operation``."""
        count, value = len(outs), self.new_name()
        result = value if count == 1 else f"{value}:{count}" if count else ""
        # An operation without results is not plain: it is printed without ``%0 =``.
        is_plain = count and not (regions or annotations or metadata)
        details = None if is_plain else Details(regions, annotations, metadata)
        self.operations.append((result, name, body, types, self.location, details))
        if count == 1:
            return [Value(value, outs[0])]
        return [Value(f"{value}#{i}", out) for i, out in enumerate(outs)]

    def emit(
        self,
        op: str,
        operands: Sequence[Value],
        out: ir.AbstractValue,
        attributes: str = "",
        types: str = "",
        *,
        full: bool = False,
    ) -> Value:
        """Write an operation in the short form ``%r = op %a, %b attributes : types``.

        By default ``types`` is the type of all operands and the result if they have one, else
        their signature; if ``full``, it is always the signature.
        """
        if not types:
            result = tensor_type(out)
            # An operand often has the very type object of the result, so the identity test spares
            # most of the look-ups.
            kinds = [result if x.aval is out else tensor_type(x.aval) for x in operands]
            if full or kinds.count(result) != len(kinds):
                types = f"({', '.join(kinds)}) -> {result}"
            else:
                types = result
        n = self.counter[0]
        self.counter[0] = n + 1
        name = f"%{n}"
        body = f" {', '.join([x.name for x in operands])}"
        if attributes:
            body += attributes if attributes[0] == "," else f" {attributes}"
        self.operations.append((name, op, body, types, self.location, None))
        value = object.__new__(Value)  # half the time of a call of the class
        value.name = name
        value.aval = out  # pyright: ignore[reportAttributeAccessIssue]
        return value

    def generic(
        self,
        op: str,
        operands: Sequence[Value],
        outs: Sequence[ir.AbstractValue],
        attributes: str = "",
        regions: Sequence[Region] = (),
        annotations: str = "",
        metadata: Metadata = (),
    ) -> list[Value]:
        """Write an operation in MLIR's generic form, with attributes and regions.

        Args:
          op: the full name, such as ``stablehlo.gather``.
          operands: the operands.
          outs: the types of the results.
          attributes: the text between ``<{`` and ``}>``.
          regions: blocks made by ``region``.
          annotations: attributes of other dialects, such as ``sdy.sharding``.
          metadata: frontend attributes, names and texts.
        """
        attrs = f" <{{{attributes}}}>" if attributes else ""
        return self.append(
            f'"{op}"',
            f"({', '.join([x.name for x in operands])}){attrs}",
            outs,
            signature(operands, outs),
            regions=regions,
            annotations=annotations,
            metadata=metadata,
        )

    def write_constant(self, body: str, aval: ir.ShapedArray) -> Value:
        name, types = self.new_name(), tensor_type(aval)
        self.operations.append((name, "stablehlo.constant", body, types, self.location, None))
        return Value(name, aval)

    def constant(self, value: ir.ArrayLike, aval: ir.ShapedArray | None = None) -> Value:
        """Write a constant of type ``aval``; by default of the value's shape and dtype."""
        array = np.asarray(value, None if aval is None else aval.dtype)
        if aval is None:
            aval = ir.ShapedArray(array.shape, array.dtype)
        if array.shape != aval.shape:
            array = np.broadcast_to(array, aval.shape)
        return self.write_constant(f" {dense(array)}", aval)
