"""Tracing and compilation in the log (``jax_log_compiles``) and in profiles.

The logger ``ricci.dispatch`` gets the times, ``ricci.compile`` the functions that are compiled. The
level is WARNING while the option is on, else DEBUG.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from time import perf_counter
from typing import Any

from ricci_ir import Source, caller_source, config, log_compiles, record_event_duration_secs
from ricci_xla.devices._logging import DEBUG, WARNING, logger

__all__: list[str] = []


class Profiling:
    """State set by ``ricci_xla.profiler``, which is imported only to record a profile.

    Attributes:
      block: ``block(name, **facts)`` names a ``with`` block in the profile; ``None`` while no
        profile is recorded.
    """

    __slots__ = ("block", "users")

    def __init__(self):
        self.block: Callable[..., AbstractContextManager[Any]] | None = None
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


def _level() -> int:
    return WARNING if log_compiles.value else DEBUG


class timed:
    """Logs and records the duration of a ``with`` block, unless the block raises an error.

    In profiles the block is named by the message, with the line of the user's code.

    Args:
      what: the message, with ``{}`` in place of the function's name.
      name: the function's name.
      event: the last part of the event's name, for listeners to durations.
    """

    __slots__ = ("block", "event", "name", "start", "what")

    def __init__(self, what: str, name: str, event: str):
        self.what = what
        self.name = name
        self.event = event
        self.block: Any = None

    def __enter__(self) -> None:
        if profiling.block is not None:
            line = str(Source(*caller_source(2)))
            self.block = profiling.block(self.what.format(self.name), line=line)
            self.block.__enter__()
        self.start = perf_counter()

    def __exit__(self, kind: object, *exception: object) -> None:
        if self.block is not None:
            self.block.__exit__(kind, *exception)
        # The time of a failed trace or compilation would be counted as that of one that succeeded.
        if kind is not None:
            return
        took = perf_counter() - self.start
        record_event_duration_secs(f"/jax/core/compile/{self.event}", took, fun_name=self.name)
        times = logger("ricci.dispatch")
        if times.isEnabledFor(level := _level()):
            times.log(level, "%s took %.6f sec", self.what.format(self.name), took)


def log_compilation(name: str, avals: Iterable[Any], shardings: Iterable[object]) -> None:
    """Log that a function is about to be compiled, with its arguments' types and shardings."""
    level = _level()
    compiled = logger("ricci.compile")
    if compiled.isEnabledFor(level):
        types = ", ".join(aval.str_short() for aval in avals) or "none"
        placed = [str(s) for s in shardings if s is not None]
        placement = f", placed by {', '.join(placed)}" if placed else ""
        compiled.log(level, "Compiling jit(%s) for arguments: %s%s", name, types, placement)
