"""The check for a GPU, dry: its comparisons, and its parts on a CPU."""

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

import gpu_check


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([1.0, np.nan], [1.0, np.nan], 0.0),
        ([np.inf, 1.0], [np.inf, 1.5], 0.5 / 1.5),
        ([1.0, np.nan], [1.0, 2.0], np.inf),
        ([1.0], [1.0, 2.0], np.inf),
        ([100.0, 1.0], [100.0, 2.0], 0.01),
    ],
)
def test_gaps_are_relative_to_the_largest_value(ours, theirs, expected):
    assert gpu_check.gap(np.array(ours), np.array(theirs)) == pytest.approx(expected)


def test_integers_are_the_same_or_not():
    assert gpu_check.gap(np.array([1, 2]), np.array([1, 2])) == 0
    assert gpu_check.gap(np.array([1, 2]), np.array([1, 3])) == np.inf


def test_facts_in_which_the_sides_differ_are_reported():
    sides = {"jax": {"a": 1, "b": [2], "_device": 0}, "ricci": {"a": 1, "b": [3], "_device": 1}}
    assert gpu_check.differing(sides) == {"compared": 2, "differ": {"b": [[2], [3]]}}


def test_a_phase_that_fails_on_both_sides_is_reported():
    sides = {"jax": {"_failed": "no driver"}, "ricci": {"_failed": "no driver"}}
    assert gpu_check.differing(sides)["differ"] == {"_failed": ["no driver", "no driver"]}


def test_a_process_that_runs_past_its_limit_is_reported_as_killed(tmp_path):
    options = argparse.Namespace(budget=300.0, cap=1.0, out=tmp_path)
    out = tmp_path / "facts.json"
    out.with_suffix(".log").touch()
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    facts = gpu_check.Check(options).facts(process, out)
    assert facts == {"_failed": "killed after 1 seconds; its output: "}


def test_times_are_medians_and_ratios():
    runs = [{"jax": {"x": t, "y": "error"}, "ricci": {"x": 2 * t, "y": 1}} for t in (1, 5, 2)]
    assert gpu_check.ratios(runs) == {"x": [2.0, 4.0, 2.0]}


def test_a_dry_run_on_the_cpu_has_the_facts_of_a_side(tmp_path):
    pytest.importorskip("jax", reason="a side imports jax: the drop-in")
    options = argparse.Namespace(
        budget=300.0, cap=200.0, platform="cpu", jax=sys.executable, out=tmp_path, step=1
    )
    check = gpu_check.Check(options)
    facts = check.facts(*check.start("ricci", "features"))
    assert facts["donation"] == [True, True] and facts["nans"] == "FloatingPointError"
    assert facts["offloaded_residuals"] == 1.44016
    assert not [fact for fact in facts.values() if "Error:" in str(fact)]


@pytest.mark.parametrize(
    ("theirs", "ours", "fails"),
    [
        ([5.0857, 4.7811], [5.0855, 4.7812], False),
        ([5.0857, 4.7811], [5.0857, 4.5], True),
        ([1.0], [float("nan")], True),
        ([1.0], [1.0, 2.0], True),
        ([1.0], "TypeError: no rule", True),
        ("no driver", None, True),
    ],
)
def test_diverging_losses_fail_the_check_and_rounding_does_not(theirs, ours, fails):
    assert gpu_check.diverged({"model": [theirs, ours]}) == ["model"] * fails
