"""The prompt of ``debug.breakpoint``: some commands of Python's debugger, on known values."""

import linecache
from collections.abc import Callable, Sequence
from typing import Any

from ricci_ir import CallbackError, TupleRecord, shown_file

_AROUND = 5
_HELP = """\
  p EXPRESSION   show a value; pp does the same
  l              show the lines around this place
  u, d           go to the caller, and back
  w              show all places
  c              resume the program; so does the end of the input
  q              stop the program, with an error
Other input is run as Python, with the variables of this place."""


class Place(TupleRecord):
    """A line of the user's code that led to the breakpoint, and the names of its module."""

    file: str
    line: int
    function: str
    names: dict[str, Any]

    def __str__(self) -> str:
        return f"{shown_file(self.file)}:{self.line} in {self.function}"


class Prompt:
    """Reads commands and answers them, until one resumes or stops the program.

    Args:
      places: the places, the innermost first.
      variables: for each place the arrays among its local variables.
      read: asks for a line, and raises ``EOFError`` at the end of the input.
      write: shows a text.
    """

    def __init__(
        self,
        places: Sequence[Place],
        variables: Sequence[dict[str, Any]],
        read: Callable[[str], str] = input,
        write: Callable[[str], object] = print,
    ):
        self.places = places
        self.variables = variables
        self.read = read
        self.write = write
        self.level = 0

    @property
    def values(self) -> dict[str, Any]:
        """The variables of the current place, which hide those of its callers."""
        found: dict[str, Any] = {}
        for inner in reversed(self.variables[self.level :]):
            found.update(inner)
        return found

    def run(self) -> None:
        """Ask for commands.

        Raises:
          CallbackError: if the program is to be stopped.
        """
        self.write(f"Stopped at {self.places[0]}\n{self._names()}. Commands: p, l, u, d, c, q, h.")
        while True:
            try:
                line = self.read("(ricci) ").strip()
            except EOFError:
                return
            word, _, rest = line.partition(" ")
            if line in ("c", "continue", "cont"):
                return
            if line in ("q", "quit", "exit"):
                raise CallbackError(f"debug.breakpoint: q stopped the program at {self.places[0]}.")
            self._answer(line, word, rest)

    def _answer(self, line: str, word: str, rest: str) -> None:
        if word in ("p", "pp") and rest:
            self._show(rest)
        elif line in _MOVES:
            self._move(_MOVES[line])
        elif line in ("l", "list"):
            self._list()
        elif line in ("w", "where"):
            marks = (">" if i == self.level else " " for i in range(len(self.places)))
            self.write("\n".join(f"{m} {p}" for m, p in zip(marks, self.places, strict=True)))
        elif line in ("h", "help", "?"):
            self.write(_HELP)
        elif line:
            self._run(line)

    def _show(self, expression: str) -> None:
        try:
            self.write(repr(eval(expression, self.places[self.level].names, self.values)))
        except Exception as error:  # noqa: BLE001 - shown, and the prompt goes on
            self.write(f"{type(error).__name__}: {error}")

    def _run(self, line: str) -> None:
        """Run a line of Python; the value of an expression is shown."""
        try:
            compile(line, "<breakpoint>", "eval")
        except SyntaxError:
            values = self.values
            try:
                exec(line, self.places[self.level].names, values)
            except Exception as error:  # noqa: BLE001 - as above
                self.write(f"{type(error).__name__}: {error}")
            self.variables[self.level].update(values)
        else:
            self._show(line)

    def _move(self, step: int) -> None:
        level = self.level + step
        if not 0 <= level < len(self.places):
            self.write(f"This is the {'inner' if step < 0 else 'outer'}most place.")
            return
        self.level = level
        self.write(f"{self.places[level]}\n{self._names()}.")

    def _names(self) -> str:
        return f"Variables: {', '.join(self.variables[self.level]) or 'none'}"

    def _list(self) -> None:
        place = self.places[self.level]
        numbers = range(max(1, place.line - _AROUND), place.line + _AROUND + 1)
        lines = [
            f"{n:>5} {'->' if n == place.line else '  '} {text.rstrip()}"
            for n in numbers
            if (text := linecache.getline(place.file, n))
        ]
        self.write("\n".join(lines) or f"The source of {place.file} is not there.")


_MOVES = {"u": 1, "up": 1, "d": -1, "down": -1}
