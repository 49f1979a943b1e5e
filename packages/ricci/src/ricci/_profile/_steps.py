"""Recorder of tracing, lowering and compiling: durations, and reasons of repeated traces."""

import logging
import threading
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, NamedTuple

from ricci_ir import (
    config,
    register_event_duration_secs_listener,
    unregister_event_duration_listener,
)

_KINDS = {
    "/jax/core/compile/jaxpr_trace_duration": "trace",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lower",
    "/jax/core/compile/backend_compile_duration": "compile",
}
_logger = logging.getLogger("ricci.tracing")
_OPTION = "jax_explain_cache_misses"


class Step(NamedTuple):
    """A step towards an executable.

    Attributes:
      kind: ``trace``, ``lower`` or ``compile``.
      name: the function's name.
      start, end: its times, by ``perf_counter_ns``.
      key: the line of the user's code that needs the executable.
    """

    kind: str
    name: str
    start: int
    end: int
    key: int


class Miss(NamedTuple):
    """A function that was traced although it had been traced before.

    Attributes:
      name: the function's name.
      key: the line that calls it.
      reasons: the differences of the call from the most similar one before.
    """

    name: str
    key: int
    reasons: tuple[str, ...]


class StepRecorder(logging.Handler):
    """Records steps and misses of the main thread.

    Args:
      current_line: returns the key of the line that the thread is at.
    """

    def __init__(self, current_line: Callable[[], int]):
        super().__init__()
        self.steps: list[Step] = []
        self.misses: list[Miss] = []
        self._current_line = current_line

    def start(self) -> None:
        """Begin to record."""
        register_event_duration_secs_listener(self._listen)
        self._explained = getattr(config, _OPTION)
        self._propagated = _logger.propagate
        config.update(_OPTION, True)
        _logger.addHandler(self)
        _logger.propagate = self._explained

    def stop(self) -> None:
        """Stop recording."""
        unregister_event_duration_listener(self._listen)
        _logger.removeHandler(self)
        _logger.propagate = self._propagated
        config.update(_OPTION, self._explained)

    def _listen(self, event: str, seconds: float, **facts: Any) -> None:
        kind = _KINDS.get(event)
        if kind is None or threading.current_thread() is not threading.main_thread():
            return
        end = perf_counter_ns()
        name = str(facts.get("fun_name", "")).removeprefix("jit(").removesuffix(")")
        self.steps.append(Step(kind, name, end - int(seconds * 1e9), end, self._current_line()))

    def emit(self, record: logging.LogRecord) -> None:
        """Record the data of a message on a cache miss."""
        miss = getattr(record, "cache_miss", None)
        if miss is not None and not miss.is_first:
            self.misses.append(Miss(miss.name, self._current_line(), tuple(miss.reasons)))
