"""``debug.breakpoint``: inspect the values of a running program from a terminal."""

import sys
from collections.abc import Callable
from importlib import import_module
from types import FrameType
from typing import Any

from ricci_ir import api_boundary, get_aval, is_internal_module

from ._debug import debug_callback

__all__ = [
    "debug_breakpoint",
]


@api_boundary
def debug_breakpoint(
    *,
    backend: str | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: object = None,
    **kwargs: object,
) -> Any:
    """Open a Python prompt on the terminal each time a program reaches this call.

    The prompt has the local variables of the function that makes this call, and of its callers;
    arrays have their values at this point. Ctrl-D, or ``exit()``, resumes the program.

    Args:
      backend: ``"cli"`` or ``None``: the terminal.
      filter_frames: leave out frames of this library.
      num_frames: how many frames to show the variables of; all by default.
      ordered: whether prompts open in the order of the program, and of its runs.
      token: a value returned as it is.
      kwargs: further variables for the prompt.

    Returns:
      ``token``.

    Raises:
      RuntimeError: if there is no terminal to type at.
      ValueError: for another ``backend``.
    """
    if backend not in (None, "cli"):
        raise ValueError(
            f"debug.breakpoint: backend={backend!r} is not known; prompts open on the terminal "
            "('cli')."
        )
    if sys.stdin is None or not sys.stdin.isatty():
        raise RuntimeError(
            "debug.breakpoint needs a terminal, and standard input is none.\n"
            "Run the program from one, or print what you look for: "
            'debug.print("{x}", x=x) shows a value, debug.callback(function, x) passes it on.'
        )
    variables = {**_variables(filter_frames, num_frames), **kwargs}
    debug_callback(_open_prompt(_caller()), variables, ordered=ordered)
    return token


def _frames(filtered: bool) -> list[FrameType]:
    """The frames of the callers, the innermost first."""
    frame, found = sys._getframe(1), []
    while frame is not None:
        if not (filtered and is_internal_module(frame.f_globals.get("__name__"))):
            found.append(frame)
        frame = frame.f_back
    return found


def _variables(filtered: bool, count: int | None) -> dict[str, Any]:
    """The arrays among the local variables of the frames, inner ones hiding outer ones."""
    found: dict[str, Any] = {}
    for frame in reversed(_frames(filtered)[:count]):
        for name, value in frame.f_locals.items():
            try:
                get_aval(value)
            except TypeError:
                continue
            found[name] = value
    return found


def _caller() -> str:
    frame = _frames(True)[0]
    return f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_qualname}"


def _open_prompt(place: str) -> Callable[..., None]:
    def prompt(variables: dict[str, Any]) -> None:
        names = ", ".join(variables) or "none"
        code = import_module("code")  # loaded when a program stops first
        code.interact(f"At {place}\nVariables: {names}", local=variables, exitmsg="")

    return prompt
