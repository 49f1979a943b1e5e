"""The marks of the typed programs are compared with what checkers print."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from typed_programs import FOLDER, differences, expected, mypy_reports, pyright_reports

ROOT = Path("/root")


def test_a_mark_ends_its_line(tmp_path):
    file = tmp_path / "a.py"
    file.write_text("x = 1  # mistake\n# mistake or not\ny = 2\nz = 3  # mistake\n")
    assert expected([file], tmp_path) == {("a.py", 1), ("a.py", 4)}


def test_errors_of_pyright_have_lines_from_one():
    place = {"start": {"line": 4, "character": 0}}
    found = [
        {"file": "/root/a.py", "severity": "error", "message": "no", "range": place},
        {"file": "/root/a.py", "severity": "warning", "message": "hm", "range": place},
    ]
    assert pyright_reports(json.dumps({"generalDiagnostics": found}), ROOT) == {("a.py", 5): "no"}


def test_notes_of_mypy_are_not_errors():
    lines = [
        json.dumps({"file": "a.py", "line": 3, "message": "no", "severity": "error"}),
        json.dumps({"file": "a.py", "line": 4, "message": "see", "severity": "note"}),
        "Found 1 error",
    ]
    assert mypy_reports("\n".join(lines), ROOT) == {("a.py", 3): "no"}


def test_differences_both_ways():
    wanted = {("a.py", 1), ("a.py", 2)}
    found = {("a.py", 2): "no", ("b.py", 7): "such name"}
    assert differences("mypy", wanted, found) == [
        "a.py:1: mypy does not report this mistake",
        "b.py:7: mypy: such name",
    ]


def test_the_mistakes_are_marked():
    assert len(expected(FOLDER.glob("mistakes/*.py"), FOLDER)) > 50
    assert not expected(FOLDER.glob("programs/*.py"), FOLDER)


def test_there_are_fifty_programs():
    assert len(list(FOLDER.glob("programs/*.py"))) >= 50
