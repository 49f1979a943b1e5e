"""Custom calls for NVIDIA GPUs beside JAX's: targets, attributes, layouts and types.

Programs are lowered for the platform, which needs no GPU and none of its libraries.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ricci_testing import find_interpreter

pytest.importorskip("ricci_xla", reason="programs are lowered for the runtime")
pytest.importorskip("jax", reason="both sides import jax: the drop-in, or JAX")

INTEGRATION = Path(__file__).parents[1]
ORACLE = find_interpreter()
pytestmark = pytest.mark.skipif(ORACLE is None, reason="no oracle: run nox -s oracle")


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """The custom calls of each function of each table, ours and JAX's."""
    folder = tmp_path_factory.mktemp("calls")
    started = []
    for name, python, paths in (("ours", sys.executable, sys.path), ("theirs", ORACLE, [])):
        out = folder / f"{name}.json"
        variables = {
            **os.environ,
            "JAX_PLATFORMS": "cpu",
            "PYTHONPATH": os.pathsep.join(filter(None, [str(INTEGRATION), *paths])),
        }
        command = [python, "-W", "ignore", "-m", "gpu_cases.calls", str(out)]
        started.append((subprocess.Popen(command, env=variables, cwd=folder), out))
    for process, _ in started:
        assert process.wait(300) == 0
    return [json.loads(out.read_text()) for _, out in started]


@pytest.mark.parametrize("table", ["attention", "matrices", "products", "sparse systems"])
def test_custom_calls_for_cuda_are_those_of_jax(calls, table):
    ours, theirs = (side[table] for side in calls)
    assert ours.keys() == theirs.keys()
    for name, expected in theirs.items():
        assert ours[name] == expected, name
