"""Check the programs in integration/typed with pyright, in strict mode, and with mypy.

    python tools/typed_programs.py

Nothing may be reported of the programs. In the folder of mistakes each line that ends with the mark
``# mistake`` must be reported, and no other.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "integration" / "typed"
MARK = re.compile(r"# mistake$")

# Each reported line of a file, with the report.
type Reports = dict[tuple[str, int], str]


def marked_lines(text: str) -> set[int]:
    """Return the numbers of the lines that are marked as mistakes.

    >>> marked_lines("x = 1\\ny = x['a']  # mistake")
    {2}
    """
    return {i for i, line in enumerate(text.splitlines(), 1) if MARK.search(line)}


def expected(files: Iterable[Path], root: Path) -> set[tuple[str, int]]:
    """Return the lines that checkers must report."""
    return {
        (str(file.relative_to(root)), line)
        for file in files
        for line in marked_lines(file.read_text(encoding="utf-8"))
    }


def pyright_reports(output: str, root: Path) -> Reports:
    """Return the errors in the JSON that pyright prints."""
    return {
        (str(Path(report["file"]).relative_to(root)), report["range"]["start"]["line"] + 1): report[
            "message"
        ]
        for report in json.loads(output)["generalDiagnostics"]
        if report["severity"] == "error"
    }


def mypy_reports(output: str, root: Path) -> Reports:
    """Return the errors in the lines of JSON that mypy prints, its paths being relative."""
    reports = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return {
        (str((root / error["file"]).relative_to(root)), error["line"]): error["message"]
        for error in reports
        if error["severity"] == "error"
    }


def differences(checker: str, lines: set[tuple[str, int]], reports: Mapping) -> list[str]:
    """Return a line for each mistake that was passed over, and for each error that is none.

    >>> differences("mypy", {("a.py", 1)}, {("b.py", 2): "No such name"})
    ['a.py:1: mypy does not report this mistake', 'b.py:2: mypy: No such name']
    """
    passed_over = [
        f"{file}:{line}: {checker} does not report this mistake"
        for file, line in sorted(lines - set(reports))
    ]
    surplus = [
        f"{file}:{line}: {checker}: {message}"
        for (file, line), message in sorted(reports.items())
        if (file, line) not in lines
    ]
    return passed_over + surplus


def _output(*command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, cwd=FOLDER
    )
    if done.returncode not in (0, 1):  # 1: there are errors
        raise RuntimeError(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> int:
    """Run both checkers; return the exit status."""
    files = sorted(FOLDER.glob("*/*.py"))
    lines = expected(files, FOLDER)
    pyright = _output("pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(FOLDER))
    # A gradient is a pytree like an argument, which no annotation can say: its type is Any.
    # Each program is a module of its own, so that their names may be the same as others'.
    options = ["--strict", "--no-warn-return-any", "--output", "json"]
    mypy = _output("mypy", *options, *(str(file.relative_to(FOLDER)) for file in files))
    problems = [
        *differences("pyright", lines, pyright_reports(pyright, FOLDER)),
        *differences("mypy", lines, mypy_reports(mypy, FOLDER)),
    ]
    print("\n".join(problems))
    print(f"{len(files)} files, {len(lines)} mistakes to report, {len(problems)} differences")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
