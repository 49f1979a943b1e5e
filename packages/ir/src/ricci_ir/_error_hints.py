"""Add hints to errors that Python or NumPy raised: the closest keyword, the name of a tracer."""

import ast
import inspect
import re
from collections.abc import Iterator
from types import FrameType, FunctionType, TracebackType

from ._errors import ConcretizationTypeError
from ._messages import explained, similar_names
from ._source import entries, is_own_frame
from ._tracer_names import called_in_frames, expression, is_traced


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
    for entry in reversed(list(entries(tb))):
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
    return [entry.tb_frame for entry in entries(tb)]
