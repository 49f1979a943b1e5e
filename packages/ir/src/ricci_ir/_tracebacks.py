"""Remove Ricci's frames from tracebacks."""

from types import TracebackType

from ._config import traceback_filtering
from ._source import entries, is_own_frame

__all__ = ["UnfilteredStackTrace", "filter_traceback", "hide_frames"]


class UnfilteredStackTrace(Exception):
    """The cause of an error whose traceback was filtered: it has the whole traceback."""


def filter_traceback(tb: TracebackType | None) -> TracebackType | None:
    """Return the part of a traceback in user code, ``None`` if it is all internal."""
    # A traceback is a linked list, so the filtered one is built from its innermost entry outwards.
    frames = [entry for entry in entries(tb) if not is_own_frame(entry.tb_frame)]
    filtered = None
    for entry in reversed(frames):
        filtered = TracebackType(filtered, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return filtered


def _mark_hidden(tb: TracebackType | None) -> None:
    for entry in entries(tb):
        if is_own_frame(entry.tb_frame):
            # IPython and pytest leave out frames that have this local variable.
            entry.tb_frame.f_locals["__tracebackhide__"] = True


def hide_frames(exc: BaseException) -> BaseException:
    """``exc`` with the internal frames left out of its traceback.

    The option ``jax_traceback_filtering`` selects how: ``"off"`` leaves them, ``"tracebackhide"``
    only marks them for IPython and pytest, every other value removes them. A note is added by
    ``"quiet_remove_frames"``, and by ``"auto"`` if several were removed; ``"remove_frames"`` chains
    the whole traceback as the cause.
    """
    mode = traceback_filtering.value
    if mode == "tracebackhide":
        _mark_hidden(exc.__traceback__)
    elif mode != "off":
        from ._error_hints import add_hint  # noqa: PLC0415 - lazy: only errors need it

        whole = exc.__traceback__
        add_hint(exc, whole)
        exc.__traceback__ = filter_traceback(whole)
        _leave_out_own_context(exc)
        removed = _length(whole) - _length(exc.__traceback__)
        if mode == "remove_frames":
            if removed and not isinstance(exc.__cause__, UnfilteredStackTrace):
                exc.__cause__ = _unfiltered(exc, whole)
        elif removed > (0 if mode == "quiet_remove_frames" else _FEW):
            if _note not in getattr(exc, "__notes__", ()):
                exc.add_note(_note)
    return exc


# Up to this many frames are removed without a note, such as a tree function that calls the user's.
_FEW = 2
_note = "(Ricci's own frames are left out: jax_traceback_filtering='off' shows them.)"


def _unfiltered(exc: BaseException, tb: TracebackType | None) -> UnfilteredStackTrace:
    """Return a cause with the whole traceback of an error, and the error's own cause."""
    cause = UnfilteredStackTrace(
        f"{type(exc).__name__}: {exc}\n\nThe traceback above is whole; the one below leaves out "
        "the frames of the library."
    ).with_traceback(tb)
    cause.__cause__ = exc.__cause__
    return cause


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
    return tb is not None and filter_traceback(tb) is None


def _length(tb: TracebackType | None) -> int:
    return sum(1 for _ in entries(tb))
