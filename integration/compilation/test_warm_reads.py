"""Warm starts after a change of a value that is read in an unusual way: right, or not cached."""

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1] / "warm"
# Those whose results are not the value itself.
RANDOM = {
    "NumPy's random numbers",
    "a generator of NumPy",
    "random",
    "the clock",
    "the working folder",
    "a counter",
    "a random state",
    "decimal arithmetic",
    "a new decimal",
    "an array's text",
    "the limit of recursion",
    "a limit of csv",
}


def names_of(table):
    tree = ast.parse((HERE / "reads.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == table:
            assert isinstance(node.value, ast.Dict)
            return [ast.literal_eval(key) for key in node.value.keys if key is not None]
    raise AssertionError(f"reads.py has no table {table}")


def run(folder, *arguments):
    done = subprocess.run(
        [sys.executable, "reads.py", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return {row["name"]: row for row in map(json.loads, done.stdout.splitlines())}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("reads")
    for name in ("reads.py", "outside.py"):
        shutil.copy(HERE / name, path)
    return path


@pytest.fixture(scope="module")
def changed(folder):
    """Outcomes of a second process, after a first one had another value."""
    run(folder, "bundle", "2")
    return run(folder, "bundle", "3")


@pytest.fixture(scope="module")
def unchanged(folder):
    """Outcomes of two equal processes."""
    return run(folder, "equal", "2", "kept"), run(folder, "equal", "2", "kept")


@pytest.mark.sampled(19)
@pytest.mark.parametrize("name", names_of("WAYS"))
def test_a_value_that_changed_is_never_answered_with_the_old_one(changed, name):
    assert changed[name]["outcome"] != "warm"
    if name not in RANDOM:
        assert changed[name]["result"] == 3.0


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", names_of("KEPT"))
def test_functions_without_outside_reads_are_warm(unchanged, name):
    first, second = unchanged
    assert (first[name]["outcome"], second[name]["outcome"]) == ("kept", "warm"), first[name]
    assert first[name]["result"] == second[name]["result"]
