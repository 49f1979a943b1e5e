"""What a profile that is being recorded wants of the code that makes programs."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from ricci_ir import config

__all__: list[str] = []


class Profiling:
    """Set by ``ricci_xla.profiler``, so that programs are made without it as long as none records.

    Attributes:
      block: ``block(name, **facts)`` names a ``with`` block in the profile; ``None`` while no
        profile is recorded.
    """

    __slots__ = ("block", "users")

    block: Callable[..., AbstractContextManager[Any]] | None

    def __init__(self):
        self.block = None
        self.users = 0

    @property
    def wants_lines(self) -> bool:
        """Whether programs that are compiled now get the lines of the user's code.

        Not with a persistent cache: they would be other programs than those in it, and the profile
        would tell of compiling that a run without it does not need.
        """
        return self.block is not None and not config.jax_compilation_cache_dir

    def begin(self, block: Callable[..., AbstractContextManager[Any]]) -> None:
        """A profile is recorded from now on, or may be: a server waits for requests."""
        self.block = block
        self.users += 1

    def end(self) -> None:
        """Undo one ``begin``."""
        self.users -= 1
        if not self.users:
            self.block = None


profiling = Profiling()
