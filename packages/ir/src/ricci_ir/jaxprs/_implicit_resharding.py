"""Hook that reports arrays the SPMD partitioner reshards implicitly."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

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


class ArrayMoves:
    """The function that finds implicit reshardings in executables; ``parallel`` registers it.

    Without a runtime there are no executables, and ``find`` returns nothing.
    """

    __slots__ = ("find",)

    def __init__(self):
        self.find: Callable[..., Sequence[ArrayMove]] = lambda jaxpr, fun, arrays, traced: ()

    def register(
        self,
        find: Callable[[Jaxpr, Callable[..., Any], Sequence[Any], Any], Sequence[ArrayMove]],
    ) -> None:
        """Set ``find(jaxpr, fun, arrays, traced)``, which compiles jaxprs for several devices.

        ``jaxpr`` is that of ``fun(*arrays)``, and ``traced`` its stage if ``fun`` is jitted.
        """
        self.find = find


array_moves: ArrayMoves = ArrayMoves()
