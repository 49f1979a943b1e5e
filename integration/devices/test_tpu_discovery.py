"""Whether libtpu is tried on a machine without TPUs, by the environment's variables."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.skipif(
        find_spec("libtpu") is None and "RICCI_TEST_LIBTPU" not in os.environ,
        reason="the package libtpu is not installed: nox -s integration-tpu",
    ),
    pytest.mark.skipif(
        any(Path("/dev").glob("accel[0-9]*")) or any(Path("/dev/vfio").glob("[0-9]*")),
        reason="this machine may have a TPU",
    ),
]
PROGRAM = """
import ricci
try:
    print(ricci.devices()[0].platform)
except RuntimeError as error:
    print(error)
print("libtpu.so" in open("/proc/self/maps").read())
"""


def output(**variables):
    # The tests' own platform must not decide.
    own = {k: v for k, v in os.environ.items() if not k.endswith(("_PLATFORMS", "_PLATFORM_NAME"))}
    environment = {**own, "TPU_SKIP_MDS_QUERY": "1", **variables}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, check=True
    )
    return done.stdout, done.stderr


def test_libtpu_is_not_loaded_unasked():
    assert output(JAX_PLATFORMS="") == ("cpu\nFalse\n", "")


def test_libtpu_is_tried_if_asked_for():
    said = output(JAX_PLATFORMS="tpu")[0]
    assert "Unable to initialize backend 'tpu'" in said
    assert "No jellyfish device found" in said
    assert said.endswith("True\n")


def test_libtpu_is_tried_quietly_where_the_environment_names_a_tpu():
    said, errors = output(JAX_PLATFORMS="", TPU_NAME="local")
    assert said == "cpu\nTrue\n"
    assert "could not be started" not in errors
