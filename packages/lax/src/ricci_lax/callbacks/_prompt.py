"""The prompt of ``debug.breakpoint``: some commands of Python's debugger, on concrete values."""

import linecache
from collections.abc import Callable, Sequence
from typing import Any

from ricci_ir import CallbackError, TupleRecord, shown_file

_AROUND = 5
_HELP = """\
  p EXPRESSION   show a value; pp does the same
  l              show the lines around this line
  u, d           go to the caller, and back
  w              show the stack
  c              resume the program; so does the end of the input
  q              stop the program, with an error
Other input is run as Python, with the variables of this frame."""


class StackFrame(TupleRecord):
    """A line of the user's code on the stack of the breakpoint, and the names of its module."""

    file: str
    line: int
    function: str
    names: dict[str, Any]

    def __str__(self) -> str:
        return f"{shown_file(self.file)}:{self.line} in {self.function}"


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
                raise CallbackError(f"debug.breakpoint: q stopped the program at {self.frames[0]}.")
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
            compile(line, "<breakpoint>", "eval")
        except SyntaxError:
            values = self.values
            try:
                exec(line, self.frames[self.level].names, values)
            except Exception as error:  # noqa: BLE001 - as above
                self.write(f"{type(error).__name__}: {error}")
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
