"""Arrays are on the devices that JAX chooses: those of `device_put`, or of the operands.

A run takes a sample of the longer tables; with RICCI_ORACLE_CASES=all, as `nox -s oracle-full` sets
it, it takes all.
"""

import os
import random
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("ricci_xla", reason="devices need the runtime")

from place_cases import FILES, evaluate, names, read

import ricci
from ricci_testing import find_interpreter

EVERYTHING = os.environ.get("RICCI_ORACLE_CASES") == "all"
SAMPLE = {"arrays": 40, "jit": 40, "pmap": 40, "results": 8}
# The number of lines of a text that JAX runs again; recorded results change with the text alone.
WRITTEN = 8


def lines(file: Path, most: int | None = None) -> list[str]:
    """Return the cases of a text that this run takes, ``most`` of them at most."""
    found = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
    if EVERYTHING:
        return found
    count = SAMPLE.get(file.stem, len(found))
    taken = random.Random(file.stem).sample(range(len(found)), count)[:most]
    return [found[i] for i in sorted(taken)]


CASES = [(s, ours) for file in FILES for line in lines(file) for s, _, ours in read(line)]


@pytest.fixture(scope="module")
def known(eight_devices):
    return names(ricci)


@pytest.mark.sampled(45)
@pytest.mark.parametrize(("source", "expected"), CASES)
@pytest.mark.filterwarnings("ignore:Some donated buffers")
def test_where_results_are(source, expected, known):
    assert evaluate(source, known) == expected


@pytest.mark.skipif(find_interpreter() is None, reason="no oracle: run nox -s oracle")
def test_recorded_results_of_jax_are_current(tmp_path):
    """The module writes JAX's results into copies of the texts, which must come out as they are."""
    copies = {}
    for file in FILES:
        copies[tmp_path / file.name] = text = "\n".join(lines(file, WRITTEN)) + "\n"
        (tmp_path / file.name).write_text(text)
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [str(find_interpreter()), str(FILES[0].parent), *map(str, copies)],
        env={**os.environ, **flags, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert {file: file.read_text() for file in copies} == copies
