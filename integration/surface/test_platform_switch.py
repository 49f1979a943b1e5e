"""`RICCI_TEST_PLATFORM` selects the platform of the integration tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ricci", reason="the light tests run where it is not installed")

INTEGRATION = Path(__file__).parents[1]
# A stand-in for a plugin: the platform "cuda" is a CPU with one device.
PLUGIN = """
def pytest_sessionstart(session):
    # Not at the top: the conftest chooses the platform before Ricci is imported.
    from jaxlib import xla_client
    from ricci.extend.backend import register_backend_factory

    register_backend_factory("cuda", lambda: xla_client.make_cpu_client(num_devices=1))
"""
TESTS = """
import numpy as np
import ricci
import ricci.numpy as jnp

def test_one_device():
    assert ricci.device_count() == {count} and ricci.device_count("cpu") == 8
    assert jnp.ones(3).sum() == 3

def test_fixture(eight_devices):
    assert len(eight_devices) == 8

def test_mesh():
    assert ricci.make_mesh((4, 2), ("x", "y")).size == 8

def test_array_of_devices():
    assert np.array(ricci.devices()[:8]).reshape(4, 2)[3, 1]

def test_second_device():
    assert ricci.devices()[1].id == 1

def test_other_errors_are_failures():
    raise ValueError("wrong")
"""


def run(folder, platform, count, plugin=False):
    """Run the tests beside the integration tests' conftest; return the exit status and the text."""
    (folder / "conftest.py").write_text((INTEGRATION / "conftest.py").read_text())
    (folder / "test_devices.py").write_text(TESTS.replace("{count}", str(count)))
    (folder / "fake_gpu.py").write_text(PLUGIN)
    chosen = ("RICCI_PLATFORMS", "JAX_PLATFORMS", "XLA_FLAGS", "RICCI_NUM_CPU_DEVICES")
    variables = {k: v for k, v in os.environ.items() if k not in chosen}
    variables |= {
        "RICCI_TEST_PLATFORM": platform,
        "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)]),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", str(folder)]
    if plugin:
        command += ["-p", "fake_gpu"]
    process = subprocess.run(command, env=variables, cwd=folder, capture_output=True, text=True)
    return process.returncode, process.stdout + process.stderr


def test_cpus_are_eight_devices(tmp_path):
    status, text = run(tmp_path, "cpu", 8)
    assert status == 1 and "1 failed, 5 passed" in text, text


def test_on_a_gpu_tests_that_need_eight_devices_are_skipped_with_the_reason(tmp_path):
    status, text = run(tmp_path, "gpu", 1, plugin=True)
    assert status == 1 and "1 failed, 1 passed, 4 skipped" in text, text
    for reason in (
        "needs 8 devices, cpu has 1",
        "too few devices: make_mesh: a mesh of shape (4, 2) needs 8 devices, but there are 1",
        "too few devices: cannot reshape array of size 1",
        "too few devices: list index out of range",
    ):
        assert reason in text, text


@pytest.mark.parametrize("platform", ["gpu", "tpu"])
def test_a_platform_that_is_missing_fails_and_does_not_run_on_cpus(tmp_path, platform):
    status, text = run(tmp_path, platform, 1)
    if " passed" in text and "failed" not in text.splitlines()[-1]:
        pytest.skip(f"this machine has the platform {platform}")
    name = {"gpu": "cuda", "tpu": "tpu"}[platform]
    assert status == 1 and " passed" not in text, text
    assert f"asks for the platform '{name}'" in text or f"initialize backend '{name}'" in text, text


def test_another_platform_is_refused(tmp_path):
    status, text = run(tmp_path, "npu", 1)
    assert status == 4 and "'npu': it must be one of cpu, gpu, tpu" in text, text
