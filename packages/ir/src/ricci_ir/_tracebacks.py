"""The tracebacks that users see: their own frames, and what Python's messages leave out."""

import inspect
import re
from collections.abc import Iterator
from difflib import get_close_matches
from types import FrameType, FunctionType, TracebackType

from ._config import traceback_filtering
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
    kept = None
    for entry in reversed(frames):
        kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept


def _mark_hidden(tb: TracebackType | None) -> None:
    while tb is not None:
        if is_own_frame(tb.tb_frame):
            # IPython and pytest leave out frames that have this local variable.
            tb.tb_frame.f_locals["__tracebackhide__"] = True
        tb = tb.tb_next


def hide_frames(exc: BaseException) -> BaseException:
    """``exc`` with the internal frames left out of its traceback.

    The option ``jax_traceback_filtering`` says how: ``"off"`` leaves them, ``"tracebackhide"``
    only marks them for IPython and pytest, everything else removes them. A note says so if there
    were several, unless it is ``"quiet_remove_frames"``.
    """
    mode = traceback_filtering.value
    if mode == "tracebackhide":
        _mark_hidden(exc.__traceback__)
    elif mode != "off":
        whole = exc.__traceback__
        _suggest_keyword(exc, whole)
        exc.__traceback__ = _user_frames(whole)
        _leave_out_own_context(exc)
        quiet = mode == "quiet_remove_frames" or _note in getattr(exc, "__notes__", ())
        if not quiet and _length(whole) - _length(exc.__traceback__) > _FEW:
            exc.add_note(_note)
    return exc


# So many frames are left out without a note: a function of trees that calls the user's, say.
_FEW = 2
_note = "(Ricci's own frames are left out: jax_traceback_filtering='off' shows them.)"


def _leave_out_own_context(exc: BaseException) -> None:
    """Forget the exceptions behind this one that Ricci raised and caught itself.

    Python would print them with "During handling of the above exception, another exception
    occurred". One that passed through the user's code stays.
    """
    context = exc.__context__
    while context is not None and context is not exc.__cause__ and _is_own(context.__traceback__):
        context = exc.__context__ = context.__context__


def _is_own(tb: TracebackType | None) -> bool:
    """Whether a traceback has frames, and all of them are internal."""
    return tb is not None and _user_frames(tb) is None


_unknown_keyword = re.compile(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'$")


def _suggest_keyword(exc: BaseException, tb: TracebackType | None) -> None:
    """Put the nearest keyword behind Python's message on one that a function does not take.

    Only where Ricci calls the function, so that its frame has it among its variables; in the user's
    own calls Python's message stays as it is.
    """
    if type(exc) is not TypeError or len(exc.args) != 1 or tb is None:
        return
    found = _unknown_keyword.search(str(exc.args[0]))
    while tb.tb_next is not None:
        tb = tb.tb_next
    if found is None or not is_own_frame(tb.tb_frame):
        return
    for fun in _functions_called(tb.tb_frame, found[1]):
        names = [
            p.name
            for p in inspect.signature(fun).parameters.values()
            if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        ]
        near = get_close_matches(found[2], names, 1)
        advice = f"Did you mean {near[0]!r}? " if near else ""
        exc.args = (f"{exc.args[0]}. {advice}It takes: {', '.join(names) or 'none'}.",)
        return


def _functions_called(frame: FrameType, name: str) -> Iterator[FunctionType]:
    """The functions of a name among a frame's variables, inside of their wrappers."""
    for value in frame.f_locals.values():
        fun = inspect.unwrap(value) if callable(value) else None
        if type(fun) is FunctionType and fun.__code__.co_name == name:
            yield fun


def _length(tb: TracebackType | None) -> int:
    count = 0
    while tb is not None:
        count, tb = count + 1, tb.tb_next
    return count
