"""What functions that write operations need of a lowering rule's context, built on them."""

from collections.abc import Sequence
from typing import Any, Protocol

from ricci_ir import AbstractValue, ArrayLike, ShapedArray

from ._module import Module
from ._values import Value


class Writer(Protocol):
    """The part of ``Lowering`` that writes single operations; see there."""

    @property
    def module(self) -> Module:
        """The module being written."""
        ...

    @property
    def sizes(self) -> dict[Any, Value]:
        """The values of symbolic dimensions: of variables, by name, and of what was computed."""
        ...

    def new_name(self) -> str:
        """An SSA name that the function does not use yet."""
        ...

    def write(self, operation: str) -> None:
        """Add an operation, given as text."""
        ...

    def emit(
        self, op: str, operands: Sequence[Value], out: AbstractValue, attributes: str = ""
    ) -> Value:
        """Write an operation in the short form."""
        ...

    def generic(
        self,
        op: str,
        operands: Sequence[Value],
        outs: Sequence[AbstractValue],
        attributes: str = "",
    ) -> list[Value]:
        """Write an operation in MLIR's generic form, with attributes."""
        ...

    def constant(self, value: ArrayLike, aval: ShapedArray | None = None) -> Value:
        """A constant of a type; by default of the value's own."""
        ...

    def custom_call(
        self,
        target: str,
        operands: Sequence[Value],
        outs: Sequence[AbstractValue],
        *,
        api_version: int = 4,
        has_side_effect: bool = False,
        annotations: str = "",
    ) -> list[Value]:
        """Write a call of a function that the platform provides."""
        ...
