"""Two-stage compilation: quickly for the first calls, with optimizations in the background.

XLA spends most of a compilation on optimizing machine code. The first stage skips that; when the
second is done, its executable replaces the first.
"""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ricci_ir import State
from ricci_xla.devices._runtime_types import LoadedExecutable

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["two_stage_compilation"]

_VARIABLE = "RICCI_TWO_STAGE_COMPILATION"
two_stage_compilation: State = State(
    "two_stage_compilation", None, os.environ.get(_VARIABLE, "").lower() in ("1", "true", "on")
)
"""Whether functions are compiled in two stages; off unless ``RICCI_TWO_STAGE_COMPILATION`` is set.

``with two_stage_compilation(True):`` holds for the calls inside, and
``two_stage_compilation.set_global(True)`` for all. Results of both stages are equal up to rounding.
Functions on several devices, and those with side effects or callbacks, are compiled once; so are
all while a warm start's bundle is in use.
"""

_QUICK: dict[str, Any] = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
}


class _Background:
    """The thread that compiles with optimizations, started on first use."""

    def __init__(self):
        self._thread: Any = None

    def submit(self, function: Callable[[], LoadedExecutable]) -> "Future[LoadedExecutable]":
        """Run a function on the thread."""
        if self._thread is None:
            from ._background import Background  # noqa: PLC0415 - lazy: few programs need it

            self._thread = Background("ricci.compile")
        return self._thread.submit(function)


_background = _Background()


def compile_in_stages(
    compile: Callable[[Mapping[str, Any], bool], LoadedExecutable], options: Mapping[str, Any]
) -> "tuple[LoadedExecutable, Future[LoadedExecutable]]":
    """Return an executable without optimizations, and a future of the optimized one.

    Args:
      compile: called as ``compile(flags, cached)``, with XLA's flags by name, and whether
        caches are used.
      options: the user's flags, for both stages.
    """
    quick = compile({**_QUICK, **options}, False)
    return quick, _background.submit(lambda: compile(options, True))
