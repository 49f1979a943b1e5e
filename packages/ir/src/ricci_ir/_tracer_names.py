"""Find the user's variable name for a tracer by searching stack frames, for error messages."""

import linecache
import re
import sys
from collections.abc import Iterator, Sequence
from types import FrameType

from ._source import Source, is_internal_module, shown_file

__all__ = ["called_in_frames", "expression", "is_traced"]

_FRAMES = 100  # frames that are searched, from the innermost


def is_traced(value: object) -> bool:
    """Whether a value is a tracer."""
    return hasattr(type(value), "_origin_message")


def called_in_frames(tracer: object, frames: Sequence[FrameType] = ()) -> str:
    """A sentence with the user's name for a tracer; empty if there is none.

    A transformation that computes eagerly, as ``vmap`` outside of ``jit``, does not record where
    values come from. Its arguments are found as variables of the running functions.

    Args:
      tracer: the tracer.
      frames: the frames of the user's code, from the innermost; by default the current stack.
    """
    frames = frames or list(_user_frames(sys._getframe(1)))
    name = _name(tracer, frames)
    if name is not None:
        return f"It is {name}."
    if not frames:
        return ""
    text, values = expression(frames[0], frames[0].f_lasti), frames[0].f_locals
    words = (word for word in re.findall(r"\w+", text) if is_traced(values.get(word)))
    names = [_name(values[word], frames) for word in dict.fromkeys(words)]
    parts = [name for name in names if name is not None]
    place = Source(frames[0].f_code, frames[0].f_lasti)
    return f"It was made of {' and '.join(parts)}, at {place}." if parts else ""


def expression(frame: FrameType, offset: int) -> str:
    """The source text of an instruction; the whole line where its columns are unknown."""
    code = frame.f_code
    line, last, start, end = list(code.co_positions())[offset // 2]
    if line is None:
        return ""
    text = linecache.getline(code.co_filename, line, frame.f_globals)
    if last != line or start is None or end is None:
        return text
    return text.encode()[start:end].decode(errors="ignore")


def _user_frames(frame: FrameType | None) -> Iterator[FrameType]:
    """The frames of the user's code, from the innermost."""
    for _ in range(_FRAMES):
        if frame is None:
            return
        if not is_internal_module(frame.f_globals.get("__name__")):
            yield frame
        frame = frame.f_back


def _name(tracer: object, frames: Sequence[FrameType]) -> str | None:
    """The name of a tracer in the outermost function that has it: the transformed function."""
    for frame in reversed(frames):
        code = frame.f_code
        flags = bool(code.co_flags & 4) + bool(code.co_flags & 8)  # *args and **kwargs
        count = code.co_argcount + code.co_kwonlyargcount + flags
        arguments = code.co_varnames[:count]
        for variable, value in list(frame.f_locals.items()):
            path = _path(value, tracer) if variable.isidentifier() else None
            if path is not None:
                kind = "argument" if variable in arguments else "variable"
                return f"the {kind} {variable}{path} of {_function(frame)}"
    return None


def _path(value: object, tracer: object, depth: int = 0) -> str | None:
    """The path of a tracer in a value: empty if it is the value, ``None`` if it is not in it."""
    if value is tracer:
        return ""
    if depth == _DEPTH or not isinstance(value, dict | list | tuple) or len(value) > _SIZE:
        return None
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        path = _path(inner, tracer, depth + 1)
        if path is not None:
            return f"[{key!r}]{path}"
    return None


# The depth to which containers are searched, and the largest number of entries of one.
_DEPTH, _SIZE = 4, 1000


def _function(frame: FrameType) -> str:
    code = frame.f_code
    if code.co_name != "<lambda>":
        return code.co_name
    return f"the lambda at {shown_file(code.co_filename, short=True)}:{code.co_firstlineno}"
