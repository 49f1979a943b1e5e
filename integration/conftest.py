"""The tables' folders on the path, and the platform, chosen before any device is made."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "integration"), str(ROOT / "tools")]

# The platforms by ``RICCI_TEST_PLATFORM``. The first one is the default; beside an accelerator, the
# CPU is for tests that ask for its devices. One that is missing is an error, not a run on CPUs.
PLATFORMS = {"cpu": "cpu", "gpu": "cuda,cpu", "tpu": "tpu,cpu"}
_platform = os.environ.get("RICCI_TEST_PLATFORM", "cpu")
if _platform not in PLATFORMS:
    raise pytest.UsageError(
        f"RICCI_TEST_PLATFORM={_platform!r}: it must be one of {', '.join(PLATFORMS)}"
    )
os.environ.setdefault("RICCI_NUM_CPU_DEVICES", "8")
os.environ.setdefault("RICCI_PLATFORMS", PLATFORMS[_platform])

# Errors of tests with more devices than there are: of meshes, of NumPy's arrays of devices that are
# reshaped to a mesh, and of a device by its number.
_TOO_FEW = re.compile(
    r"needs \d+ devices, but there (is|are) \d|requires \d+ .*devices|"
    r"cannot reshape array of size \d into shape|list index out of range"
)


@contextmanager
def _skipping_for_devices() -> Iterator[None]:
    """Skip a test that fails for want of devices, where there are fewer than eight.

    Most machines with an accelerator have one. With eight, as in CI, every error is a failure.
    """
    try:
        yield
    except (ValueError, IndexError) as error:
        ricci = sys.modules.get("ricci")
        reason = str(error).split("\n")[0]
        if ricci is None or ricci.device_count() >= 8 or not _TOO_FEW.search(reason):
            raise
        pytest.skip(f"{ricci.default_backend()} has too few devices: {reason}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Skip a test whose fixtures need more devices than there are."""
    with _skipping_for_devices():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Skip a test that needs more devices than there are."""
    with _skipping_for_devices():
        return (yield)


@pytest.fixture(scope="session")
def eight_devices():
    """The devices, where there are at least eight."""
    ricci = pytest.importorskip("ricci", reason="the light tests run where it is not installed")

    if ricci.device_count() < 8:
        pytest.skip(f"needs 8 devices, {ricci.default_backend()} has {ricci.device_count()}")
    return ricci.devices()[:8]


@pytest.fixture
def compilations():
    """The compilations so far, as ``ricci.monitoring`` tells them."""
    ricci = pytest.importorskip("ricci", reason="the light tests run where it is not installed")
    found: list[str] = []

    def listen(event: str, duration: float, **details: object) -> None:
        if "backend_compile" in event:
            found.append(event)

    ricci.monitoring.register_event_duration_secs_listener(listen)
    yield found
    ricci.monitoring.unregister_event_duration_listener(listen)


@pytest.fixture
def names(monkeypatch, eight_devices):
    """The names that examples may use; `jax` is Ricci, imported as it may be."""
    ricci = pytest.importorskip("ricci", reason="the light tests run where it is not installed")
    monkeypatch.setitem(sys.modules, "jax", ricci)
    monkeypatch.setitem(sys.modules, "jax.numpy", ricci.numpy)
    return {"jax": ricci, "jnp": ricci.numpy, "np": np, "partial": partial}
