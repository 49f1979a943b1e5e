"""Where tools learn which arrays a compiler moves between devices though nobody asked for it."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ._jaxpr import Jaxpr

__all__ = ["array_moves", "ArrayMove"]


class ArrayMove(Protocol):
    """An array that each device gets more of, since an operation needs it so."""

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
    """Finds involuntary moves in compiled programs; ``parallel`` registers it.

    Without a runtime there are no compiled programs, and none are found.
    """

    __slots__ = ("find",)

    def __init__(self):
        self.find: Callable[..., Sequence[ArrayMove]] = lambda jaxpr, fun, arrays, traced: ()

    def register(
        self,
        find: Callable[[Jaxpr, Callable[..., Any], Sequence[Any], Any], Sequence[ArrayMove]],
    ) -> None:
        """Set ``find(jaxpr, fun, arrays, traced)``, which compiles what is for several devices.

        ``jaxpr`` is the program of ``fun(*arrays)``, and ``traced`` its stage if ``fun`` is jitted.
        """
        self.find = find


array_moves: ArrayMoves = ArrayMoves()
