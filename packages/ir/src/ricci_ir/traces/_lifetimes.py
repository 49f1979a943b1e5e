"""Lifetimes of tracers: pausing the garbage collector while tracing, and detecting leaks.

A trace allocates millions of objects that all live until it ends. The collector would traverse them
repeatedly without freeing any: at 100,000 equations it took two thirds of the time. So it does not
run before the outermost trace ends.

The collector is paused by a threshold that is never reached, not by ``gc.disable()``. The traced
function itself may call ``gc.disable()``, and that must stay in effect after the trace.
"""

import gc
import threading
from types import FrameType, ModuleType

from ricci_ir._errors import UnexpectedTracerError
from ricci_ir._source import is_internal_module

from ._trace import Trace, Tracer

__all__ = ["check_leaks"]

_NEVER = (1 << 31) - 1  # more objects than are counted between two collections


class _PausedCollection:
    """A ``with`` block, shared by all threads, in which the collector does not run by itself."""

    __slots__ = ("before", "depth", "lock", "waiting")

    def __init__(self):
        self.lock = threading.Lock()
        self.depth = 0
        self.before = self.waiting = gc.get_threshold()

    def __enter__(self) -> None:
        with self.lock:
            if self.depth == 0:
                self.before = gc.get_threshold()
                self.waiting = (_NEVER, *self.before[1:])
                gc.set_threshold(*self.waiting)
            self.depth += 1

    def __exit__(self, *exception: object) -> None:
        with self.lock:
            self.depth -= 1
            # Unless the user has set another threshold meanwhile.
            if self.depth == 0 and gc.get_threshold() == self.waiting:
                gc.set_threshold(*self.before)


paused_collection = _PausedCollection()


def check_leaks(trace: Trace) -> None:
    """Raise an error if a tracer of a trace that has ended is still in use.

    Args:
      trace: the trace; the caller must hold no references to its tracers.

    Raises:
      UnexpectedTracerError: if tracers leaked; the message names them and the objects that hold
        them.
    """
    leaked = _tracers_of(trace)
    if not leaked:
        return
    del leaked
    gc.collect()  # a tracer that is only held by a reference cycle has not leaked
    leaked = _tracers_of(trace)
    if leaked:
        lines = [line for i in range(min(len(leaked), 3)) for line in _description(leaked, i)]
        raise UnexpectedTracerError(
            "\n".join(
                (
                    f"Leaked trace {type(trace).__name__}. Leaked tracer(s): "
                    f"{len(leaked)} still in use after the function had been traced.",
                    *lines,
                    "Return these values from the function instead of saving them outside of it.",
                )
            )
        )


def _tracers_of(trace: Trace) -> list[Tracer]:
    # Each tracer refers to its trace, so the trace's referrers include all tracers that are alive.
    referrers = gc.get_referrers(trace)
    return [x for x in referrers if isinstance(x, Tracer) and x._trace is trace]


def _description(leaked: list[Tracer], i: int) -> list[str]:
    tracer = leaked[i]
    lines = [f"- {tracer!r}.{tracer._origin_message()}".replace("\n", " ")]
    for holder in gc.get_referrers(tracer):
        owner = None if holder is leaked else _holder(tracer, holder)
        if owner:
            lines.append(f"  It is held by {owner}.")
    return lines[:3]


def _holder(tracer: Tracer, holder: object) -> str | None:
    if isinstance(holder, FrameType):
        if is_internal_module(holder.f_globals.get("__name__")):
            return None
        names = [name for name, value in holder.f_locals.items() if value is tracer]
        return f"the variable {', '.join(names)} of {holder.f_code.co_qualname}"
    if isinstance(holder, dict):
        keys = [key for key, value in holder.items() if value is tracer]
        owner = next(
            (x for x in gc.get_referrers(holder) if getattr(x, "__dict__", None) is holder), None
        )
        if isinstance(owner, ModuleType):
            return f"{owner.__name__}.{keys[0]}"
        if owner is not None:
            return f"the attribute {keys[0]} of an object of type {type(owner).__name__}"
        return f"a dict at {keys[0]!r}" + _named(holder)
    if isinstance(holder, list | tuple | set):
        return f"a {type(holder).__name__}" + _named(holder)
    return f"an object of type {type(holder).__name__}"


def _named(container: object) -> str:
    """The name of a container in the module that holds it; empty if no module does."""
    for holder in gc.get_referrers(container):
        if isinstance(holder, dict) and "__name__" in holder and "__spec__" in holder:
            names = [key for key, value in holder.items() if value is container]
            if names:
                return f", {holder['__name__']}.{names[0]}"
    return ""
