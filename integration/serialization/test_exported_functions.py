"""Exported functions, exchanged with JAX in both directions and with another process of Ricci."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ricci_export", reason="the light tests run where it is not installed")

from export_cases import running

import ricci
import ricci.export

ORACLE = os.environ.get("RICCI_ORACLE_PYTHON")
EVERY = bool(os.environ.get("RICCI_ALL_EXPORTS"))
needs_cpu = pytest.mark.skipif(
    os.environ.get("RICCI_TEST_PLATFORM", "cpu") != "cpu", reason="the oracle runs on the CPU"
)
# In every ordinary run, with one more; RICCI_ALL_EXPORTS=1 runs all.
ALWAYS = [
    "nested trees",
    "custom vjp",
    "platforms of cholesky",
    "sharded matmul",
    "symbolic matmul",
]


def _rows():
    rows = running.read_rows()
    assert len({row.file for row in rows}) == len(rows) >= 80
    some = random.Random("a sample of exports").sample(rows, 1)
    return [row for row in rows if EVERY or row in some or row.name in ALWAYS]


ROWS = _rows()
rows = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


def outcomes(interpreter, library, folder):
    """The other process's outcome of each row."""
    wanted = json.dumps([row.name for row in ROWS])
    environment = dict(os.environ)
    if library == "jax":  # where Ricci's drop-in must not be found
        environment.pop("PYTHONPATH", None)
        environment["JAX_PLATFORMS"] = "cpu"
    done = subprocess.run(
        [interpreter, running.__file__, library, str(folder), wanted],
        capture_output=True,
        text=True,
        env=environment,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory, eight_devices):
    """A folder with the files that Ricci wrote, in both formats."""
    folder = tmp_path_factory.mktemp("exports")
    for row in ROWS:
        with ricci.enable_x64(row.wide):
            running.write(ricci, row, folder / f"{row.file}.ricci_for_ricci")
            running.write(ricci, row, folder / f"{row.file}.ricci_for_jax", format="jax")
    return folder


@pytest.fixture(scope="module")
def with_jax(folder):
    if not ORACLE:
        pytest.skip("no oracle: RICCI_ORACLE_PYTHON is not set")
    found = subprocess.run([ORACLE, "-c", "import flatbuffers"], capture_output=True)
    if found.returncode:
        pytest.skip("the oracle has no flatbuffers, without which JAX writes no files")
    return outcomes(ORACLE, "jax", folder)


@pytest.fixture(scope="module")
def with_ricci(folder):
    return outcomes(sys.executable, "ricci", folder)


def assert_close(found, expected):
    assert [x.dtype for x in found] == [x.dtype for x in expected]
    for mine, its in zip(found, expected, strict=True):
        rtol = {2: 1e-2, 4: 2e-4}.get(mine.dtype.itemsize, 1e-6)
        exact = np.float64 if mine.dtype.kind == "f" else mine.dtype
        np.testing.assert_allclose(mine.astype(exact), its.astype(exact), rtol=rtol, atol=2e-5)


def load(path: Path):
    with np.load(path) as found:
        return [found[f"arr_{i}"] for i in range(len(found.files))]


@pytest.mark.sampled(4)
@needs_cpu
@rows
def test_jax_calls_exports_of_ricci(row, folder, with_jax):
    assert with_jax[row.name] == "ok"
    expected = load(folder / f"{row.file}.expected.npz")
    assert_close(load(folder / f"{row.file}.jax.npz"), expected)


@needs_cpu
@rows
def test_ricci_calls_exports_of_jax(row, folder, with_jax):
    assert with_jax[row.name] == "ok"
    with ricci.enable_x64(row.wide):
        found = running.read(ricci, row, folder / f"{row.file}.jax")
    assert_close(found, load(folder / f"{row.file}.expected.npz"))


@pytest.mark.sampled(4)
@rows
def test_another_process_calls_exports_of_ricci(row, folder, with_ricci):
    assert with_ricci[row.name] == "ok"
    with ricci.enable_x64(row.wide):
        fun, args = running.function_of(ricci, row, running.names(ricci))
        given = running.dynamic(row, args)
        call = lambda *xs: fun(*xs, *args[len(given) :])
        expected = running.values(ricci, row, call, given, row.smooth)
    assert_close(load(folder / f"{row.file}.ricci.npz"), expected)
