"""Remove Ricci's frames from tracebacks, and add hints to messages that Python raised."""

from types import FrameType, TracebackType

from ._config import traceback_filtering
from ._error_hints import add_hint
from ._source import is_internal_module

__all__ = ["hide_frames"]


def is_own_frame(frame: FrameType) -> bool:
    return is_internal_module(frame.f_globals.get("__name__"))


def _user_frames(tb: TracebackType | None) -> TracebackType | None:
    frames = []
    while tb is not None:
        if not is_own_frame(tb.tb_frame):
            frames.append(tb)
        tb = tb.tb_next
    filtered = None
    for entry in reversed(frames):
        filtered = TracebackType(filtered, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return filtered


def _mark_hidden(tb: TracebackType | None) -> None:
    while tb is not None:
        if is_own_frame(tb.tb_frame):
            # IPython and pytest leave out frames that have this local variable.
            tb.tb_frame.f_locals["__tracebackhide__"] = True
        tb = tb.tb_next


def hide_frames(exc: BaseException) -> BaseException:
    """``exc`` with the internal frames left out of its traceback.

    The option ``jax_traceback_filtering`` selects how: ``"off"`` leaves them, ``"tracebackhide"``
    only marks them for IPython and pytest, every other value removes them. If several were removed,
    a note is added, unless the value is ``"quiet_remove_frames"``.
    """
    mode = traceback_filtering.value
    if mode == "tracebackhide":
        _mark_hidden(exc.__traceback__)
    elif mode != "off":
        whole = exc.__traceback__
        add_hint(exc, whole)
        exc.__traceback__ = _user_frames(whole)
        _leave_out_own_context(exc)
        quiet = mode == "quiet_remove_frames" or _note in getattr(exc, "__notes__", ())
        if not quiet and _length(whole) - _length(exc.__traceback__) > _FEW:
            exc.add_note(_note)
    return exc


# Up to this many frames are removed without a note, such as a tree function that calls the user's.
_FEW = 2
_note = "(Ricci's own frames are left out: jax_traceback_filtering='off' shows them.)"


def _leave_out_own_context(exc: BaseException) -> None:
    """Drop the exceptions in ``__context__`` that Ricci raised and caught itself.

    Python would print them with "During handling of the above exception, another exception
    occurred". One that passed through the user's code stays.
    """
    context = exc.__context__
    while context is not None and context is not exc.__cause__ and _is_own(context.__traceback__):
        context = exc.__context__ = context.__context__


def _is_own(tb: TracebackType | None) -> bool:
    """Whether a traceback has frames, and all of them are internal."""
    return tb is not None and _user_frames(tb) is None


def _length(tb: TracebackType | None) -> int:
    count = 0
    while tb is not None:
        count, tb = count + 1, tb.tb_next
    return count
