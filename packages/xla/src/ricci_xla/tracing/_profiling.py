"""Hook by which the profiler sees tracing and compilation."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from ricci_ir import config

__all__: list[str] = []


class Profiling:
    """State set by ``ricci_xla.profiler``, which is imported only to record a profile.

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
        """Whether modules that are lowered now contain the lines of the user's code.

        Not with a persistent cache: the lines would change the keys, and the profile would show
        compilations that a run without it does not need.
        """
        return self.block is not None and not config.jax_compilation_cache_dir

    def begin(self, block: Callable[..., AbstractContextManager[Any]]) -> None:
        """Start naming blocks: a profile is being recorded, or a server waits for requests."""
        self.block = block
        self.users += 1

    def end(self) -> None:
        """Undo one ``begin``."""
        self.users -= 1
        if not self.users:
            self.block = None


profiling = Profiling()
