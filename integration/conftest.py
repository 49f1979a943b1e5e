"""The tables' folders on the path, and the platform, chosen before any device is made."""

import os
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "integration"), str(ROOT / "tools")]

_platforms = {"cpu": "cpu", "gpu": "cuda", "tpu": "tpu"}
os.environ.setdefault("RICCI_NUM_CPU_DEVICES", "8")
os.environ.setdefault("RICCI_PLATFORMS", _platforms[os.environ.get("RICCI_TEST_PLATFORM", "cpu")])


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
