"""Other processors: the variables that select them, and the plugins that pytest loads."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ricci", reason="the tools work on the whole workspace")

TOOLS = Path(__file__).parents[1]

sys.path.insert(0, str(TOOLS))

import machines  # noqa: E402
from machines import EXAMPLES, MACHINES, VALUES, command, environment, main  # noqa: E402

BY_NAME = {machine.name: machine for machine in MACHINES}


def run_pytest(folder: Path, text: str, plugin: str) -> str:
    """The output of pytest on a file of tests, with a plugin of tools/."""
    (folder / "test_it.py").write_text(text)
    paths = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(TOOLS))))
    run = [
        sys.executable,
        "-m",
        "pytest",
        "-rA",
        "-p",
        plugin,
        "-p",
        "no:cacheprovider",
        str(folder),
    ]
    variables = {**os.environ, "PYTHONPATH": paths}
    return subprocess.run(run, capture_output=True, text=True, env=variables, cwd=folder).stdout


def test_options_of_xla_are_added_to_those_that_are_set(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
    found = environment(BY_NAME["sandybridge"])["XLA_FLAGS"].split()
    assert found == ["--xla_force_host_platform_device_count=8", "--xla_cpu_max_isa=AVX"]


def test_only_features_that_numpy_found_are_turned_off(monkeypatch):
    found = ["X86_V3", "X86_V4", "AVX512_ICL"]
    monkeypatch.setattr(machines, "numpy_features", lambda: found)
    off = {name: environment(m)["NPY_DISABLE_CPU_FEATURES"] for name, m in BY_NAME.items()}
    assert off["nehalem"].split() == found
    assert off["haswell"].split() == ["X86_V4", "AVX512_ICL"]
    assert off["skylake-x"].split() == ["AVX512_ICL"]
    assert off["last-place"] == ""


def test_a_machine_that_needs_more_is_left_out(monkeypatch, capsys):
    ran = []
    done = subprocess.CompletedProcess([], 0)
    monkeypatch.setattr(machines.subprocess, "run", lambda *args, **_: ran.append(args) or done)
    monkeypatch.setattr(machines, "processor_features", lambda: {"sse4_2", "avx", "avx2"})
    assert main([]) == 0
    assert len(ran) == 3
    assert "haswell      left out: this processor lacks fma" in capsys.readouterr().out


def test_a_failure_on_one_machine_is_the_runs(monkeypatch, capsys):
    status = iter([1, 0])
    run = lambda *_, **__: subprocess.CompletedProcess([], next(status))
    monkeypatch.setattr(machines.subprocess, "run", run)
    monkeypatch.setattr(machines, "processor_features", lambda: {"sse4_2"})
    assert main(["--short"]) == 1
    assert "nehalem      failed with exit status 1" in capsys.readouterr().out


SHORT = [path for machine in MACHINES for path in machine.short]


@pytest.mark.parametrize("path", sorted({*VALUES, *EXAMPLES, *machines.FIRST_CALLS, *SHORT}))
def test_files_of_the_table_exist(path):
    assert (machines.ROOT / path).exists()


def test_first_calls_are_not_compared_with_changed_results():
    run = command(BY_NAME["last-place"], short=False, arguments=["-x"])
    assert run[-1] == "-x"
    assert not set(machines.FIRST_CALLS) & set(run)


LAST_PLACE = """
import numpy as np
import ricci.numpy as jnp

m = np.sin(np.arange(12.0, dtype=np.float32)).reshape(4, 3)  # of rank 2

def test_a_sine():
    assert float(jnp.sin(1.0)) == np.float32(np.sin(1.0))

def test_a_rounded_sine():
    assert round(float(jnp.sin(1.0)), 5) == 0.84147

def test_a_sine_that_is_exact():
    assert float(jnp.sin(0.0)) == 0.0

def test_a_factor_that_is_not_determined():
    assert np.allclose(abs(jnp.linalg.qr(m).Q), abs(np.linalg.qr(m)[0]), atol=1e-3)

def test_a_property():
    q, r = jnp.linalg.qr(m)
    assert np.allclose(q @ r, m, atol=1e-5)

def test_what_numpy_computes_first():
    assert (jnp.float32(0.1) * jnp.float32(0.3)) == np.float32(0.1) * np.float32(0.3)
"""


def test_the_last_place_is_changed(tmp_path):
    said = run_pytest(tmp_path, LAST_PLACE, "last_place")
    lines = {line for line in said.splitlines() if "::" in line}
    failed = {line.partition("::")[2].partition(" ")[0] for line in lines if "FAILED" in line}
    assert failed == {"test_a_sine", "test_a_factor_that_is_not_determined"}, said


WITHOUT_FLOAT16 = """
import sys

def test_what_cannot_be_compiled():
    print("Symbols not found: [ __extendhfsf2 ]", file=sys.stderr)
    raise RuntimeError("Failed to materialize symbols")

def test_what_is_wrong():
    raise RuntimeError("Failed to materialize symbols")
"""


def test_programs_that_xla_cannot_compile_are_skipped(tmp_path):
    said = run_pytest(tmp_path, WITHOUT_FLOAT16, "without_float16")
    assert "1 failed, 1 skipped" in said
    assert "no conversion of float16" in said
