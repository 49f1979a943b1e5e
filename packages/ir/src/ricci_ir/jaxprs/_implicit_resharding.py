"""Hook that reports arrays the SPMD partitioner reshards implicitly."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ricci_ir._hook import Hook

from ._jaxpr import Jaxpr

__all__ = ["array_moves", "ArrayMove"]


class ArrayMove(Protocol):
    """An implicit resharding of an array by the SPMD partitioner, and its place in the code."""

    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...
    @property
    def function(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def operation(self) -> str: ...
    @property
    def value(self) -> str: ...
    @property
    def replicates(self) -> bool: ...
    @property
    def axes_text(self) -> str: ...
    @property
    def bytes_text(self) -> str: ...


# ``(jaxpr, fun, arrays, traced)``: compiles a jaxpr for several devices, and returns the implicit
# reshardings in the executable. ``jaxpr`` is that of ``fun(*arrays)``, and ``traced`` its stage if
# ``fun`` is jitted. Without a runtime there are no executables.
array_moves: Hook[
    Callable[[Jaxpr, Callable[..., Any], Sequence[Any], Any], Sequence[ArrayMove]]
] = Hook(
    "implicit reshardings",
    provided_by="ricci_parallel",
    default=lambda jaxpr, fun, arrays, traced: (),
)
