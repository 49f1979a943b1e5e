"""Reading the logs of libraries' tests, and the reports on them."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from library_suites import SUITES, Outcome, Result, explained, outcomes, report
from sections import with_section, write_section


def line(name, when="call", outcome="passed", said=""):
    entry = {"$report_type": "TestReport", "nodeid": name, "when": when, "outcome": outcome}
    return json.dumps({**entry, "longrepr": said})


def test_a_test_fails_with_any_of_its_phases():
    log = [
        line("a", "setup"),
        line("a"),
        line("a", "teardown", "failed", "E   ValueError: no"),
        line("b", "setup", "skipped", "no device"),
        line("b", "teardown"),
        line("c", "setup"),
    ]
    found = outcomes(log)
    assert found["a"] == Outcome("failed", "ValueError: no")
    assert found["b"].result == "skipped"
    assert "c" not in found  # it never ended


def test_a_module_that_cannot_be_collected_is_a_failure():
    said = {"$report_type": "CollectReport", "nodeid": "m.py", "outcome": "failed"}
    found = outcomes([json.dumps({**said, "longrepr": "E   ImportError: cannot import name 'x'"})])
    assert found == {"m.py": Outcome("failed", "ImportError: cannot import name 'x'")}


def result(here_only):
    ours = {"t.py::a": Outcome("passed"), **here_only}
    return Result(SUITES["chex"], "1.0", 3, ours, here_only)


def test_a_failure_without_reason_makes_the_report_fail():
    found = result({"t.py::b": Outcome("failed", "TypeError: no")})
    text, whole = report([found], 200, 0)
    assert not whole
    assert "- chex, `t.py::b`: **no reason known**: TypeError: no" in text
    assert report([result({})], 0, 0)[1]


def test_a_reason_counts_for_its_library_alone():
    found = result({"t.py::b": Outcome("failed", "TypeError: no")})
    assert list(explained(found, [("chex", "t.py::b", "why")])) == [("t.py::b", "why")]
    assert list(explained(found, [("optax", "t.py::b", "why")])) == [("t.py::b", "")]


def test_sections_are_replaced_one_by_one(tmp_path):
    file = tmp_path / "report.md"
    write_section(file, "a", "# A\n")
    write_section(file, "b", "# B\n")
    write_section(file, "a", "# A again\n")
    assert file.read_text() == "<!-- a -->\n# A again\n\n<!-- b -->\n# B\n"
    assert with_section("head\n", "a", "A") == "head\n\n<!-- a -->\nA\n"
