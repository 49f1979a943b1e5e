"""Arrays are where JAX's would be: where they were put, and where what they came from is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ricci_xla", reason="devices need the runtime")

import ricci
from ricci_testing import find_interpreter

sys.path[:0] = [str(Path(__file__).parent)]

from place_cases import FILES, evaluate, names, read  # noqa: E402

CASES = [case for file in FILES for case in read(file.read_text())]


@pytest.fixture(scope="module")
def known(eight_devices):
    return names(ricci)


@pytest.mark.parametrize(("source", "expected"), [(s, ours) for s, _, ours in CASES])
def test_where_results_are(source, expected, known):
    assert evaluate(source, known) == expected


@pytest.mark.skipif(find_interpreter() is None, reason="no oracle: run nox -s oracle")
def test_what_is_written_of_jax_is_true(tmp_path):
    """The module writes JAX's results into copies of the files, which must come out as they are."""
    folder = tmp_path / "place_cases"
    folder.mkdir()
    for file in FILES[0].parent.glob("*.*"):
        (folder / file.name).write_text(file.read_text())
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [str(find_interpreter()), str(folder)],
        env={**os.environ, **flags, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    for file in FILES:
        assert (folder / file.name).read_text() == file.read_text()
