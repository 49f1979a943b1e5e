"""JAX's own kernels, executed from its wheel, compute the same on the drop-in as on JAX.

The calls are those of `libraries/api_jax_kernels.py`. A run takes a sample, and with
RICCI_ORACLE_CASES=all, as `nox -s oracle-full` sets it, all.
"""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jax", reason="kernels run on the drop-in")
pytest.importorskip("ricci_xla", reason="kernels are compiled")

from ricci_testing import Oracle, find_interpreter

LIBRARIES = Path(__file__).parents[1] / "libraries"
SAMPLE = [
    "tpu.flash_attention, causal",
    "tpu.random.philox, keys",
    "gpu.decode_attention.gqa, lengths",
]
WHERE = "import jax, os; print(os.path.dirname(jax.__file__))"
SCRIPT = f"""
import pickle, sys
sys.path.insert(0, {str(LIBRARIES)!r})
from run_api import plain
import api_jax_kernels as api
import jax
file, *names = sys.argv[1:]
cases = {{**api.CASES, "gathered": api.gathered, "ragged": api.ragged_kernel}}
run = lambda name: [plain(leaf) for leaf in jax.tree.leaves(cases[name]())]
with open(file, "wb") as out:
    pickle.dump({{name: run(name) for name in names or api.CASES}}, out)
"""

pytestmark = pytest.mark.skipif(
    not Oracle.available(), reason="oracle environment missing: run nox -s oracle"
)


def _outside() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def _results(python, environment, file, names):
    oracle = [str(find_interpreter()), "-W", "ignore", "-c", WHERE]
    folder = subprocess.run(oracle, capture_output=True, check=True, text=True, env=_outside())
    kernels = f"{folder.stdout.strip()}/experimental/pallas/ops"
    done = subprocess.run(
        [python, "-W", "ignore", "-c", SCRIPT, str(file), *names],
        capture_output=True,
        check=False,
        text=True,
        env={**environment, "JAX_KERNELS": kernels, "JAX_PLATFORMS": "cpu"},
    )
    assert done.returncode == 0, done.stderr.strip().splitlines()[-1]
    return pickle.loads(file.read_bytes())


def test_kernels_of_the_wheel_compute_what_they_do_on_jax(tmp_path):
    names = [] if os.environ.get("RICCI_ORACLE_CASES") == "all" else SAMPLE
    ours = _results(sys.executable, os.environ, tmp_path / "ours", names)
    theirs = _results(str(find_interpreter()), _outside(), tmp_path / "theirs", names)
    for name, expected in theirs.items():
        assert [x.dtype for x in ours[name]] == [x.dtype for x in expected], name
        for x, y in zip(ours[name], expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=2e-5, atol=2e-5, err_msg=name)


def test_each_device_gathers_all_shards_by_the_kernel_of_the_wheel(tmp_path):
    """JAX's interpreter leaves parts of the result unwritten, so that there is none to compare."""
    results = _results(sys.executable, os.environ, tmp_path / "ours", ["gathered"])
    expected, gathered = results["gathered"]
    np.testing.assert_array_equal(gathered, expected)


def test_ragged_paged_attention_of_the_wheel_computes_what_its_reference_does(tmp_path):
    """JAX's interpreter does not run the kernel, so that its result cannot be compared."""
    results = _results(sys.executable, os.environ, tmp_path / "ours", ["ragged"])
    expected, result = results["ragged"]
    np.testing.assert_allclose(result, expected, atol=1e-4)
