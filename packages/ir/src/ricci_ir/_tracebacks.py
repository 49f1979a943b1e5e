"""Remove Ricci's frames from tracebacks, and add hints to messages that Python raised."""

import ast
import inspect
import re
from collections.abc import Iterator
from types import FrameType, FunctionType, TracebackType

from ._config import traceback_filtering
from ._errors import ConcretizationTypeError
from ._messages import explained, similar_names
from ._source import is_internal_module
from ._tracer_names import called_in_frames, expression, is_traced

__all__ = ["UnfilteredStackTrace", "filter_traceback", "hide_frames"]


class UnfilteredStackTrace(Exception):
    """The cause of an error whose traceback was filtered: it has the whole traceback."""


def is_own_frame(frame: FrameType) -> bool:
    return is_internal_module(frame.f_globals.get("__name__"))


def _entries(tb: TracebackType | None) -> Iterator[TracebackType]:
    while tb is not None:
        yield tb
        tb = tb.tb_next


def filter_traceback(tb: TracebackType | None) -> TracebackType | None:
    """Return the part of a traceback in user code, ``None`` if it is all internal."""
    # A traceback is a linked list, so the filtered one is built from its innermost entry outwards.
    frames = [entry for entry in _entries(tb) if not is_own_frame(entry.tb_frame)]
    filtered = None
    for entry in reversed(frames):
        filtered = TracebackType(filtered, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return filtered


def _mark_hidden(tb: TracebackType | None) -> None:
    for entry in _entries(tb):
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
    return sum(1 for _ in _entries(tb))


def add_hint(exc: BaseException, tb: TracebackType | None) -> None:
    """Extend an error's message by a hint, if one applies.

    Args:
      exc: the error, whose class stays.
      tb: its unfiltered traceback.
    """
    if tb is None or type(exc) not in (TypeError, ValueError) or len(exc.args) != 1:
        return
    message = exc.args[0]
    if not isinstance(message, str):
        return
    for hint in (_keyword, _unhashable, _element):
        extended = hint(exc, message, tb)
        if extended is not None:
            exc.args = (extended,)
            return


_unknown_keyword = r"^(.*?)([\w.<>]+)(\(\) got an unexpected keyword argument '(\w+)')$"


def _keyword(exc: BaseException, message: str, tb: TracebackType) -> str | None:
    """Append the closest keyword to Python's message on an unexpected one.

    Only where Ricci calls the function, so that its frame holds it; in the user's own calls
    Python's message stays unchanged.
    """
    match = re.match(_unknown_keyword, message)
    *_, frame = _frames(tb)
    if type(exc) is not TypeError or match is None or not is_own_frame(frame):
        return None
    before, name, middle, keyword = match.groups()
    for fun in _functions_called(frame, name):
        # A method may forward its keywords to a function with a private name.
        forwarded = name.startswith("_") and not _is_boundary(frame)
        kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        names = [
            p.name
            for p in inspect.signature(fun).parameters.values()
            if p.kind in kinds[: 1 if forwarded else 2]
            and not p.name.startswith("_")
            and p.name not in ("self", "cls")
        ]
        near = similar_names(keyword, names)
        advice = f"Did you mean {near[0]!r}? " if near else ""
        shown = frame.f_code.co_name if forwarded else name.lstrip("_")
        return f"{before}{shown}{middle}. {advice}It takes: {', '.join(names) or 'none'}."
    return None


def _is_boundary(frame: FrameType) -> bool:
    """Whether a frame is that of a boundary, whose function name is always ``boundary``."""
    return frame.f_code.co_name == "boundary" and is_own_frame(frame)


def _functions_called(frame: FrameType, name: str) -> Iterator[FunctionType]:
    """The functions with a name among a frame's variables, unwrapped."""
    for value in (*frame.f_locals.values(), frame.f_globals.get(name)):
        fun = inspect.unwrap(value) if callable(value) else None
        if type(fun) is FunctionType and name in (fun.__qualname__, fun.__code__.co_name):
            yield fun


_no_hash = r"unhashable type: '(\w+)'\s*$"


def _unhashable(exc: BaseException, message: str, tb: TracebackType) -> str | None:
    """Append the name of the tracer to Python's message on an unhashable value."""
    match = re.search(_no_hash, message)
    if match is None:
        return None
    for entry in reversed(list(_entries(tb))):
        frame = entry.tb_frame
        if is_own_frame(frame):
            continue
        values = {n: x for n, x in frame.f_locals.items() if type(x).__name__ == match[1]}
        traced = {name: value for name, value in values.items() if is_traced(value)}
        hashed = _hashed_names(expression(frame, entry.tb_lasti))
        traced = {name: value for name, value in traced.items() if name in hashed} or traced
        if not traced:
            continue
        frames = [frame for frame in reversed(_frames(tb)) if not is_own_frame(frame)]
        origins = (
            value._origin_message() or called_in_frames(value, frames) for value in traced.values()
        )
        text = (
            f"{message.rstrip()}: {' or '.join(traced)} is a traced array, which has no value to "
            "hash, so that it cannot be a key of a dict, a member of a set or a static argument.",
            *(origin.strip() for origin in origins),
            "To choose by its value index an array, jnp.asarray(table)[i]. An argument that is "
            "known before the call can be static (static_argnums, static_argnames).",
        )
        return explained("\n".join(text), "tracer-value")
    return None


def _hashed_names(text: str) -> set[str]:
    """The variables that an expression hashes: in a dict's keys, an index, else all of them."""
    try:
        top: ast.AST | None = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return set(re.findall(r"\w+", text))
    parts = [top]
    if isinstance(top, ast.Dict):
        parts = [*top.keys]
    elif isinstance(top, ast.Subscript):
        parts = [top.slice]
    nodes = (node for part in parts if part is not None for node in ast.walk(part))
    return {node.id for node in nodes if isinstance(node, ast.Name)}


_SEQUENCE = "setting an array element with a sequence."


def _element(exc: BaseException, message: str, tb: TracebackType) -> str | None:
    """Append to NumPy's message on an element that is a sequence that it is a tracer."""
    cause = exc.__cause__
    if message != _SEQUENCE or not isinstance(cause, ConcretizationTypeError):
        return None
    what, *origin = cause.args[0].splitlines()[:-1]
    kind = re.search(r"a traced array of type \S+", what)
    if kind is None:
        return None
    exc.__cause__ = None
    text = (
        f"{_SEQUENCE} The element is {kind[0]}, and an np.ndarray holds numbers.",
        *origin,
        "Use jnp: jnp.asarray(a).at[index].set(value) is an updated copy, and jnp.stack makes an "
        "array of several.",
    )
    return explained("\n".join(text), "tracer-array")


def _frames(tb: TracebackType) -> list[FrameType]:
    return [entry.tb_frame for entry in _entries(tb)]
