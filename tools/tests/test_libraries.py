"""The comparison of libraries' jobs and calls on the drop-in and on JAX."""

import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from libraries import (
    CALLS,
    JOBS,
    MODELS,
    Side,
    calls_row,
    difference,
    distribution,
    job_row,
    purpose,
    report,
)

ROOT = Path(__file__).parents[2]
FAILED = {"error": "ValueError", "text": "Traceback\nValueError: no"}


def job(losses=(2.0, 1.0), accuracy=0.9, first=1.0, steady=0.1):
    return {
        "losses": list(losses),
        "quality": {"accuracy": accuracy},
        "required": {"accuracy": 0.8},
        "first_step": first,
        "steady_step": steady,
    }


def sides(theirs, ours):
    return Side("jax", "", {"a": theirs}), Side("ricci", "", {"a": ours})


@pytest.mark.parametrize(
    ("ours", "agrees", "shown"),
    [
        (job(), True, "equal"),
        (job(losses=(2.0, 1.00001)), True, "1.0e-05"),
        (job(losses=(2.0, 1.1)), False, "1.0e-01 **differs**"),
        (job(losses=(2.0,)), False, "inf **differs**"),
        (job(accuracy=0.5), False, "equal"),
    ],
)
def test_a_job_must_follow_the_curve_and_reach_its_quality(ours, agrees, shown):
    cells, kept = job_row("a", *sides(job(), ours))
    assert kept is agrees
    assert cells[2] == shown


def test_a_time_over_its_budget_is_marked():
    cells, _ = job_row("a", *sides(job(), job(first=0.8, steady=0.1)))
    assert cells[5] == "0.80 **over**"
    assert cells[8] == "1.00"


def test_failed_jobs_do_not_agree():
    assert job_row("a", Side("jax", ""), Side("ricci", ""))[1] is False


@pytest.mark.parametrize(
    ("theirs", "ours", "same"),
    [
        ([np.float32(1)], [np.float32(1.00001)], True),
        ([np.float32(1)], [np.float32(1.1)], False),
        ([np.float32(1)], [np.float64(1)], False),
        ([np.int32(1)], [np.int32(1)], True),
        ([np.nan], [np.nan], True),
        (["text"], ["text"], True),
        (["text"], [np.ones(2)], False),
        ([np.ones(2)], [np.ones((2, 1))], False),
        ([np.ones(2)], [np.ones(2)] * 2, False),
        (FAILED, FAILED, True),
        (FAILED, [np.ones(2)], False),
        ([np.ones(2)], None, False),
    ],
)
def test_outcomes_are_compared_leaf_by_leaf(theirs, ours, same):
    assert (difference(theirs, ours) is None) is same


def test_calls_that_differ_are_counted_and_named():
    theirs = Side("jax", "", calls={"a": {"one": [np.ones(2)], "two": FAILED}})
    ours = Side("ricci", "", calls={"a": {"one": [np.zeros(2)], "two": FAILED}})
    cells, lines = calls_row("a", theirs, ours)
    assert cells == ["a", "2", "1"]
    assert len(lines) == 1 and lines[0].startswith("a, one: ")


def test_jobs_and_calls_are_found():
    assert set(JOBS) >= {"optax", "chex", "einops", "equinox", "jaxtyping", "haiku", "distrax"}
    assert set(CALLS) >= {"optax", "chex", "einops", "equinox", "jaxtyping", "haiku", "distrax"}


def test_models_with_a_nan_are_found():
    models = {"equinox", "flax_linen", "flax_nnx"}
    science = {"blackjax", "distrax", "dynamax", "e3nn_jax", "flowjax", "jaxopt", "jraph", "netket"}
    assert set(MODELS["run_find_nan.py"]) == {
        *models,
        *science,
        "haiku",
        "numpyro",
        "optax",
        "quax",
    }
    assert set(MODELS["run_precision.py"]) == models
    calls = {"blackjax", "brax", "diffrax", "dynamax", "e3nn_jax", "jaxopt", "netket", "numpyro"}
    assert set(MODELS["run_warm.py"]) == {*calls, "quax"}
    assert set(MODELS["run_tools.py"]) == {*models, "haiku", "keras", "keras_fit", "numpyro"}


def test_every_job_says_what_it_does():
    assert all(purpose(name).endswith(".") for name in JOBS)


def test_every_job_is_of_a_library_that_is_asked_for():
    group = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["libraries"]
    asked = {name.partition("=")[0] for name in group}
    assert {distribution(name) for name in JOBS} <= asked | {"jax"}


def test_the_report_says_that_nothing_agrees_where_nothing_ran():
    text, kept = report(Side("jax", "missing"), Side("ricci", "missing"), ["optax"], [])
    assert not kept and "failed" in text
