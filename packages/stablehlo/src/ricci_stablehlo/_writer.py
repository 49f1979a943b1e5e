"""The protocol of contexts in which modules below ``_lowering`` write operations."""

from collections.abc import Sequence
from typing import Any, Protocol

from ricci_ir import AbstractValue, ArrayLike, ShapedArray

from ._module import Module
from ._values import Value


class Writer(Protocol):
    """The methods of ``Lowering`` that write single operations."""

    @property
    def module(self) -> Module:
        """The module being written."""
        ...

    @property
    def sizes(self) -> dict[Any, Value]:
        """The values of symbolic dimensions: of variables, by name, and of computed ones."""
        ...

    def append(
        self, name: str, body: str, outs: Sequence[AbstractValue], types: str
    ) -> list[Value]:
        """Write an operation in its custom assembly format."""
        ...

    def emit(
        self,
        op: str,
        operands: Sequence[Value],
        out: AbstractValue,
        attributes: str = "",
        types: str = "",
        *,
        full: bool = False,
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
        """Write a constant of a type; by default of the value's."""
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
