"""Runs `precision` on models of one library, with a planted line, on the drop-in.

`python run_precision.py NAME`: NAME as in `precision_NAME.py`, whose `PROGRAMS` maps names to
functions of no arguments. Each returns a report and the function with the line that is to be first
in it, which ends with `# cause`. The first program with another line is an error.
"""

import importlib
import inspect
import sys

from run_find_nan import line_of_cause


def run(name: str) -> int:
    """Return the number of programs; an assertion fails at the first other line."""
    programs = importlib.import_module(f"precision_{name}").PROGRAMS
    for title, program in programs.items():
        report, function = program()
        assert report.lines, f"{title}: {report}"
        first = report.lines[0]
        place = first.file, first.line
        expected = inspect.unwrap(function).__code__.co_filename, line_of_cause(function)
        assert place == expected, f"{title}: {report}"
        assert not report.unfollowed, f"{title}: {report}"
    return len(programs)


if __name__ == "__main__":
    print(run(sys.argv[1]))
