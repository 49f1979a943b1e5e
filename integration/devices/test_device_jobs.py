"""Jobs over eight devices give JAX's losses, with no more communication and instructions."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ricci_xla", reason="devices need the runtime")

from ricci_testing import find_interpreter

FOLDER = Path(__file__).parents[1] / "device_jobs"
JOBS = sorted(file.stem for file in FOLDER.glob("[a-z]*.py"))
ROUNDING = 1e-5


def started(python, job, **variables):
    """Start a job in an interpreter."""
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}
    environment = {**os.environ, **flags, **variables}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [str(python), str(FOLDER), job], env=environment, stdout=pipe, stderr=pipe, text=True
    )


def result(running, job):
    """Return what the job gives: its result, or its error."""
    out, errors = running.communicate()
    assert running.returncode == 0, errors
    return json.loads(out)[job]


@pytest.mark.sampled(1)
@pytest.mark.skipif(find_interpreter() is None, reason="no oracle: run nox -s oracle")
@pytest.mark.parametrize("job", JOBS)
def test_a_job_gives_the_same_with_no_more_work(job):
    pytest.importorskip("jax", reason="the jobs import the drop-in")
    both = started(sys.executable, job), started(find_interpreter(), job, PYTHONPATH="")
    ours, theirs = (result(running, job) for running in both)
    assert "error" not in ours, ours["error"]
    assert ours["losses"] == pytest.approx(theirs["losses"], rel=ROUNDING)
    assert ours["losses"][-1] < ours["losses"][0]
    for program, counts in theirs["collectives"].items():
        assert sum(ours["collectives"][program].values()) <= sum(counts.values()), program
        assert ours["instructions"][program] <= theirs["instructions"][program], program
