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
PLUGIN = INTEGRATION / "gpu_cases" / "plugin"  # stands in for the CUDA plugin's kernels
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
            "PYTHONPATH": os.pathsep.join(filter(None, [str(INTEGRATION), str(PLUGIN), *paths])),
        }
        command = [python, "-W", "ignore", "-m", "gpu_cases.calls", str(out)]
        started.append((subprocess.Popen(command, env=variables, cwd=folder), out))
    for process, _ in started:
        assert process.wait(300) == 0
    return [json.loads(out.read_text()) for _, out in started]


# Descriptions of calls, ours and JAX's. JAX gives a BCOO matrix a row more, or a column, for
# elements out of bounds, whose value is zero here; it computes a gradient without cuSPARSE where
# the elements are sorted by columns.
DIFFERENCES = {
    "BCSR, gradient, vector": ("csr_matvec(float32, float32, float32, int32, 4, 5, 7, True)", None),
    "BCSR, gradient, matrix": (
        "csr_matmat(float32, float32, float32, int32, 4, 5, 3, 7, True)",
        None,
    ),
    "sorted BCOO, vector": (
        "coo_matvec(float32, float32, float32, int32, 4, 5, 7, False)",
        "coo_matvec(float32, float32, float32, int32, 5, 5, 7, False)",
    ),
    "sorted BCOO, gradient, vector": (
        "coo_matvec(float32, float32, float32, int32, 4, 5, 7, True)",
        "coo_matvec(float32, float32, float32, int32, 4, 6, 7, True)",
    ),
    "sorted BCOO, matrix": (
        "coo_matmat(float32, float32, float32, int32, 4, 5, 3, 7, False, 1, 7, 15)",
        "coo_matmat(float32, float32, float32, int32, 5, 5, 3, 7, False, 1, 7, 15)",
    ),
    "sorted BCOO, gradient, matrix": (
        "coo_matmat(float32, float32, float32, int32, 4, 5, 3, 7, True, 1, 7, 12)",
        "coo_matmat(float32, float32, float32, int32, 4, 6, 3, 7, True, 1, 7, 12)",
    ),
}
TABLES = ["attention", "matrices", "products", "sparse systems", "sparse products"]
TABLES += ["recurrent layers"]


@pytest.mark.parametrize("table", TABLES)
def test_custom_calls_for_cuda_are_those_of_jax(calls, table):
    ours, theirs = (side[table] for side in calls)
    assert ours.keys() == theirs.keys()
    for name, expected in theirs.items():
        assert ours[name] == expected, name


def description(calls):
    """Return the description of the only call, or None."""
    if not calls:
        return None
    [[attributes, _]] = calls
    return attributes["backend_config"].removeprefix('{opaque = "').removesuffix('"}')


def test_products_by_option_are_those_of_jax_but_for_padding(calls):
    ours, theirs = (side["sparse products, by option"] for side in calls)
    assert ours.keys() == theirs.keys()
    differing = {name for name in theirs if ours[name] != theirs[name]}
    pairs = {name: (description(ours[name]), description(theirs[name])) for name in differing}
    assert pairs == DIFFERENCES
