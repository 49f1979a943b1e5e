"""Samples of cases: which runs of pytest take them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CASES = """
import os, pytest

@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", range(6))
def test_marked(case):
    print("sampled" if "RICCI_SAMPLE" in os.environ else "whole")
"""


def passed(directory: Path, *options: str) -> tuple[int, bool]:
    """Return how many cases passed under ``RICCI_SAMPLE``, and whether modules saw the variable."""
    shutil.copy(ROOT / "conftest.py", directory)
    (directory / "pytest.ini").write_text("[pytest]\nmarkers = sampled(most): sampled\n")
    (directory / "test_cases.py").write_text(CASES)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rA", "-s", "-p", "no:cacheprovider", *options],
        cwd=directory,
        env={**os.environ, "RICCI_SAMPLE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.count("PASSED"), "sampled" in done.stdout.replace("sampled(", "")


@pytest.mark.parametrize("options", [(), ("test_cases.py",), ("-m", "sampled")])
def test_a_run_of_whole_files_takes_a_sample(tmp_path, options):
    count, sampled = passed(tmp_path, *options)
    assert count == 2
    assert sampled


@pytest.mark.parametrize(
    "options",
    [("-k", "marked"), ("test_cases.py::test_marked",), ("-k", "marked", "-p", "xdist", "-n", "1")],
)
def test_tests_selected_by_name_run_all_their_cases(tmp_path, options):
    count, sampled = passed(tmp_path, *options)
    assert count == 6
    assert not sampled


def test_a_single_case_is_run_where_its_node_id_is_given(tmp_path):
    assert passed(tmp_path, "test_cases.py::test_marked[5]") == (1, False)
