"""Interface between ``jit`` and the warm-start cache.

``ricci_xla.warm`` sets the hooks when it is used; until then they are ``None``.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from ricci_xla.devices._runtime_types import CompileOptions, Device, LoadedExecutable

from ._arguments import Arguments


class JitInfo(Protocol):
    """The attributes of a jitted function that a hook reads."""

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
        """The cache of its programs."""
        ...

    @property
    def jit_arguments(self) -> tuple[Any, ...]:
        """The arguments of ``jit`` besides the function."""
        ...


class CallEntry(AbstractContextManager[None], Protocol):
    """The cache entry of a call; its context manager is entered while the function is traced."""

    def result(self) -> tuple[Any, Any] | None:
        """Run the cached executable; return the results and the entry for the C++ dispatcher."""
        ...

    def store(self, compiled: Any) -> None:
        """Store the compiled program of the call."""
        ...


class CallHook(Protocol):
    """Looks calls up before they are traced."""

    def lookup(
        self, info: JitInfo, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> CallEntry | None:
        """Return the entry of a call, or ``None`` if such calls cannot be cached."""
        ...


class CompileHook(Protocol):
    """Looks StableHLO modules up before XLA compiles them."""

    def load_or_compile(
        self,
        text: str | bytes,
        devices: Sequence[Device],
        options: CompileOptions,
        compile: Callable[[CompileOptions], LoadedExecutable],
    ) -> LoadedExecutable:
        """Return the cached executable of a module, else compile it."""
        ...


class _WarmStartHooks:
    """The hooks in use, if any."""

    __slots__ = ("calls", "compile")

    def __init__(self):
        self.calls: CallHook | None = None
        self.compile: CompileHook | None = None


warm_start_hooks = _WarmStartHooks()
