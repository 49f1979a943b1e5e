"""``debug.breakpoint``: inspect values at run time from a terminal."""

import sys
from types import FrameType
from typing import Any

from ricci_ir import api_boundary, get_aval, is_internal_module

from ._debug import debug_callback
from ._prompt import Prompt, StackFrame

__all__ = ["debug_breakpoint"]


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
    """Open a prompt on the terminal whenever execution reaches this call.

    The prompt has the local variables of the function that makes this call, and of its callers;
    arrays have their values at this point. It takes ``p x`` to show a value, ``l`` for the lines
    around, ``u`` and ``d`` to go to the caller and back, ``c`` to resume the program, ``q`` to stop
    it with an error, ``h`` for a list of these; other input is run as Python. Commands are read
    from ``sys.stdin``, which may be replaced.

    Args:
      backend: ``"cli"`` or ``None``: the terminal.
      filter_frames: leave out frames of this library.
      num_frames: how many frames to show the variables of; all by default.
      ordered: whether prompts open in the order of the calls, and of the executions.
      token: a value returned as it is.
      kwargs: further variables for the prompt.

    Returns:
      ``token``.

    Raises:
      RuntimeError: if there is no terminal to read commands from.
      ValueError: for another ``backend``.

    Example:
      The prompt opens where a value is not finite, and shows the frames of that line:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> @ricci.jit
      ... def check(x):
      ...     def stop(x):
      ...         ricci.debug.breakpoint()
      ...     lax.cond(jnp.isfinite(x), lambda x: None, stop, x)
      ...     return x
      >>> check(jnp.inf)  # doctest: +SKIP
    """
    if backend not in (None, "cli"):
        raise ValueError(
            f"debug.breakpoint: backend={backend!r} is not known; prompts open on the terminal "
            "('cli')."
        )
    if sys.stdin is None or (sys.stdin is sys.__stdin__ and not sys.stdin.isatty()):
        raise RuntimeError(
            "debug.breakpoint needs a terminal, and standard input is none.\n"
            "Run the program from one, put commands into sys.stdin, or print values: "
            'debug.print("{x}", x=x) shows a value, debug.callback(function, x) passes it on.'
        )
    python_frames = _frames(filter_frames)[:num_frames]
    frames = [
        StackFrame(f.f_code.co_filename, f.f_lineno, f.f_code.co_qualname, f.f_globals)
        for f in python_frames
    ]
    variables = [_variables(frame) for frame in python_frames]
    if frames:
        variables[0].update(kwargs)
        debug_callback(lambda values: Prompt(frames, values).run(), variables, ordered=ordered)
    return token


def _frames(filtered: bool) -> list[FrameType]:
    """The frames of the callers, the innermost first."""
    frame, frames = sys._getframe(1), []
    while frame is not None:
        if not (filtered and is_internal_module(frame.f_globals.get("__name__"))):
            frames.append(frame)
        frame = frame.f_back
    return frames


def _variables(frame: FrameType) -> dict[str, Any]:
    """The arrays among the local variables of a frame."""
    arrays: dict[str, Any] = {}
    for name, value in frame.f_locals.items():
        try:
            get_aval(value)
        except TypeError:
            continue
        arrays[name] = value
    return arrays
