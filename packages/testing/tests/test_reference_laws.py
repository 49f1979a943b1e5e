"""The laws of references, on random programs."""

import numpy as np
import pytest

from ricci_ir import use_backend
from ricci_reference import reference_backend
from ricci_testing import check_references
from ricci_testing.laws import _references as laws


@pytest.fixture(autouse=True)
def _reference():
    with use_backend(reference_backend):
        yield


@pytest.mark.parametrize("seed", range(6))
def test_random_programs_have_the_same_effect_on_references_and_arrays(seed):
    check_references(seed)


def test_a_lost_write_fails_the_law(monkeypatch):
    run = laws.run_on_references
    monkeypatch.setattr(laws, "run_on_references", lambda steps, *rest: run(steps[:-1], *rest))
    with pytest.raises(AssertionError, match="program 1, eager"):
        check_references(1)


def test_programs_have_loops_and_branches_and_differ():
    kinds = {step.kind for seed in range(6) for step in laws.random_program(seed)}
    assert kinds == {"set", "add", "swap", "loop", "branch"}
    values = np.ones((2, 4, 3))
    laws.run_on_arrays(laws.random_program(0), values)
    assert not np.array_equal(values, np.ones((2, 4, 3)))
