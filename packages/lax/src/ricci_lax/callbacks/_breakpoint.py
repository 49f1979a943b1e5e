"""``debug.breakpoint``: inspect values at run time from a prompt on the terminal."""

import linecache
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import ricci_ir as ir

from ._debug import debug_callback

__all__ = ["debug_breakpoint"]

_AROUND = 5
_HELP = """\
  p EXPRESSION   show a value; pp does the same
  l              show the lines around this line
  u, d           go to the caller, and back
  w              show the stack
  c              resume the program; so does the end of the input
  q              stop the program, with an error
Other input is run as Python, with the variables of this frame."""


class StackFrame(ir.TupleRecord):
    """A line of the user's code on the stack of the breakpoint, and the names of its module."""

    file: str
    line: int
    function: str
    names: dict[str, Any]

    def __str__(self) -> str:
        return f"{ir.shown_file(self.file)}:{self.line} in {self.function}"


class Prompt:
    """An interpreter of debugger commands, until one resumes or stops the execution.

    Args:
      frames: the stack frames, the innermost first.
      variables: for each frame the arrays among its local variables.
      read: prompts for a line, and raises ``EOFError`` at the end of the input.
      write: shows a text.
    """

    def __init__(
        self,
        frames: Sequence[StackFrame],
        variables: Sequence[dict[str, Any]],
        read: Callable[[str], str] = input,
        write: Callable[[str], object] = print,
    ):
        self.frames = frames
        self.variables = variables
        self.read = read
        self.write = write
        self.level = 0

    @property
    def values(self) -> dict[str, Any]:
        """The variables of the current frame, which hide those of its callers."""
        values: dict[str, Any] = {}
        # From the outermost frame inwards, so that inner names win.
        for inner in reversed(self.variables[self.level :]):
            values.update(inner)
        return values

    def run(self) -> None:
        """Read and run commands.

        Raises:
          CallbackError: if a command stops the execution.
        """
        self.write(f"Stopped at {self.frames[0]}\n{self._names()}. Commands: p, l, u, d, c, q, h.")
        while True:
            try:
                line = self.read("(ricci) ").strip()
            except EOFError:
                return
            word, _, argument = line.partition(" ")
            if line in ("c", "continue", "cont"):
                return
            if line in ("q", "quit", "exit"):
                raise ir.CallbackError(
                    f"debug.breakpoint: q stopped the program at {self.frames[0]}."
                )
            self._command(line, word, argument)

    def _command(self, line: str, word: str, argument: str) -> None:
        if word in ("p", "pp") and argument:
            self._show(argument)
        elif line in _MOVES:
            self._move(_MOVES[line])
        elif line in ("l", "list"):
            self._list()
        elif line in ("w", "where"):
            marks = (">" if i == self.level else " " for i in range(len(self.frames)))
            self.write("\n".join(f"{m} {p}" for m, p in zip(marks, self.frames, strict=True)))
        elif line in ("h", "help", "?"):
            self.write(_HELP)
        elif line:
            self._run(line)

    def _show(self, expression: str) -> None:
        try:
            self.write(repr(eval(expression, self.frames[self.level].names, self.values)))
        except Exception as error:  # noqa: BLE001 - shown, and the prompt continues
            self.write(f"{type(error).__name__}: {error}")

    def _run(self, line: str) -> None:
        """Run a line of Python; the value of an expression is shown."""
        try:
            # Only expressions compile in this mode; anything else is run as a statement.
            compile(line, "<breakpoint>", "eval")
        except SyntaxError:
            values = self.values
            try:
                exec(line, self.frames[self.level].names, values)
            except Exception as error:  # noqa: BLE001 - as above
                self.write(f"{type(error).__name__}: {error}")
            # Assignments stay visible to later commands; they don't change the program's own
            # variables.
            self.variables[self.level].update(values)
        else:
            self._show(line)

    def _move(self, step: int) -> None:
        level = self.level + step
        if not 0 <= level < len(self.frames):
            self.write(f"This is the {'inner' if step < 0 else 'outer'}most frame.")
            return
        self.level = level
        self.write(f"{self.frames[level]}\n{self._names()}.")

    def _names(self) -> str:
        return f"Variables: {', '.join(self.variables[self.level]) or 'none'}"

    def _list(self) -> None:
        frame = self.frames[self.level]
        numbers = range(max(1, frame.line - _AROUND), frame.line + _AROUND + 1)
        lines = [
            f"{n:>5} {'->' if n == frame.line else '  '} {text.rstrip()}"
            for n in numbers
            if (text := linecache.getline(frame.file, n))
        ]
        self.write("\n".join(lines) or f"The source of {frame.file} is not there.")


_MOVES = {"u": 1, "up": 1, "d": -1, "down": -1}


@ir.api_boundary
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
      RuntimeError: when execution reaches the call, if no terminal can be read from.
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
    python_frames = _frames(filter_frames)[:num_frames]
    frames = [
        StackFrame(f.f_code.co_filename, f.f_lineno, f.f_code.co_qualname, f.f_globals)
        for f in python_frames
    ]
    variables = [_variables(frame) for frame in python_frames]
    if frames:
        variables[0].update(kwargs)
        # Tracers among the variables become arrays as operands of the callback.
        debug_callback(lambda values: _prompt(frames, values), variables, ordered=ordered)
    return token


def _prompt(frames: Sequence[StackFrame], values: Sequence[dict[str, Any]]) -> None:
    """Open the prompt; the terminal is only needed once execution is there."""
    if sys.stdin is None or (sys.stdin is sys.__stdin__ and not sys.stdin.isatty()):
        raise RuntimeError(
            "debug.breakpoint needs a terminal, and standard input is none.\n"
            "Run the program from one, put commands into sys.stdin, or print values: "
            'debug.print("{x}", x=x) shows a value, debug.callback(function, x) passes it on.'
        )
    Prompt(frames, values).run()


def _frames(filtered: bool) -> list[FrameType]:
    """The frames of the callers, the innermost first."""
    # Counted from the caller of this function; frames of the library itself are left out below.
    frame, frames = sys._getframe(1), []
    while frame is not None:
        if not (filtered and ir.is_internal_module(frame.f_globals.get("__name__"))):
            frames.append(frame)
        frame = frame.f_back
    return frames


def _variables(frame: FrameType) -> dict[str, Any]:
    """The arrays among the local variables of a frame."""
    arrays: dict[str, Any] = {}
    for name, value in frame.f_locals.items():
        try:
            ir.get_aval(value)
        except TypeError:
            continue
        arrays[name] = value
    return arrays
