"""Where ``jit`` and the compiler ask for what an earlier process compiled, and tell what is new.

``ricci_xla.warm`` sets the memories when it is used; until then asking is a look at ``None``.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from ricci_xla.devices._runtime_types import CompileOptions, Device, LoadedExecutable

from ._arguments import Arguments


class JitInfo(Protocol):
    """What a memory reads of a jitted function."""

    @property
    def fun(self) -> Any:
        """The Python function."""
        ...

    @property
    def arguments(self) -> Arguments:
        """Its static and donated arguments."""
        ...

    @property
    def cache(self) -> Any:
        """Its programs."""
        ...

    @property
    def described(self) -> tuple[Any, ...]:
        """What else ``jit`` was given."""
        ...


class RememberedCall(AbstractContextManager[None], Protocol):
    """A call that may be answered, or kept; it is entered while the function is traced."""

    def answer(self) -> tuple[Any, Any] | None:
        """The results and the entry for the dispatcher, if the call is known."""
        ...

    def keep(self, compiled: Any) -> None:
        """Keep the compiled program of the call."""
        ...


class CallMemory(Protocol):
    """Remembers calls."""

    def begin(
        self, info: JitInfo, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> RememberedCall | None:
        """The call that is made now, if it is of a kind that can be remembered."""
        ...


class ProgramMemory(Protocol):
    """Remembers compiled programs."""

    def compiled(
        self,
        text: str | bytes,
        devices: Sequence[Device],
        options: CompileOptions,
        compile: Callable[[CompileOptions], LoadedExecutable],
    ) -> LoadedExecutable:
        """The program that a StableHLO module is compiled to, from the memory or compiled now."""
        ...


class _Memories:
    """The memories in use, if any."""

    __slots__ = ("calls", "programs")

    def __init__(self):
        self.calls: CallMemory | None = None
        self.programs: ProgramMemory | None = None


memories = _Memories()
