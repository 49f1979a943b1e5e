"""Runs `find_nan` on models of one library, with a planted cause of a NaN, on the drop-in.

`python run_find_nan.py NAME`: NAME as in `nan_NAME.py`, whose `PROGRAMS` maps names to functions
of no arguments. Each returns what `find_nan` found, the operation that is to be found, and the
function with its line, which ends with `# cause`. The first one that is not found is an error.
"""

import importlib
import inspect
import sys
from collections.abc import Callable
from typing import Any


def line_of_cause(function: Callable[..., Any]) -> int:
    """Return the line of a function that ends with `# cause`."""
    lines, start = inspect.getsourcelines(inspect.unwrap(function))
    (line,) = [start + i for i, text in enumerate(lines) if text.rstrip().endswith("# cause")]
    return line


def run(name: str) -> int:
    """Return the number of programs; an assertion fails at the first wrong finding."""
    programs = importlib.import_module(f"nan_{name}").PROGRAMS
    for title, program in programs.items():
        found, operation, function = program()
        assert found is not None, f"{title}: nothing found"
        made = found.forward or found.cause or found
        place = made.operation, made.source.line
        assert place == (operation, line_of_cause(function)), f"{title}: {found}"
        assert not found.doubt, f"{title}: {found}"
    return len(programs)


if __name__ == "__main__":
    print(run(sys.argv[1]))
