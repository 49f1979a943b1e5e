"""Jobs over eight devices give JAX's losses, with no more communication and instructions."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ricci_xla", reason="devices need the runtime")

from ricci_testing import find_interpreter

FOLDER = Path(__file__).parent / "device_jobs"
JOBS = sorted(file.stem for file in FOLDER.glob("[a-z]*.py"))
ROUNDING = 1e-5


def run(python, **variables):
    """Return what the jobs give in an interpreter: of each its result, or its error."""
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}
    command = [str(python), str(FOLDER)]
    environment = {**os.environ, **flags, **variables}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def both():
    pytest.importorskip("jax", reason="the jobs import the drop-in")
    return run(sys.executable), run(find_interpreter(), PYTHONPATH="")


@pytest.mark.skipif(find_interpreter() is None, reason="no oracle: run nox -s oracle")
@pytest.mark.parametrize("job", JOBS)
def test_a_job_gives_the_same_with_no_more_work(job, both):
    ours, theirs = (side[job] for side in both)
    assert "error" not in ours, ours["error"]
    assert ours["losses"] == pytest.approx(theirs["losses"], rel=ROUNDING)
    assert ours["losses"][-1] < ours["losses"][0]
    for program, counts in theirs["collectives"].items():
        assert sum(ours["collectives"][program].values()) <= sum(counts.values()), program
        assert ours["instructions"][program] <= theirs["instructions"][program], program
