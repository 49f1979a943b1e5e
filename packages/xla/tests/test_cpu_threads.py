"""The runtime has threads enough where one processor has many devices."""

import os
from pathlib import Path

import pytest

from ricci_xla import devices
from ricci_xla.devices._factories import enough_threads

THREADS = Path("/proc/self/task")


@pytest.fixture(autouse=True)
def two_processors(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1}, raising=False)
    monkeypatch.delenv("NPROC", raising=False)
    monkeypatch.delenv("XLA_FLAGS", raising=False)


@pytest.mark.parametrize(
    "flags, count, threads",
    [
        ("", None, None),
        ("", 1, None),
        ("", 8, "16"),
        ("--xla_dump_to=/tmp --xla_force_host_platform_device_count=4", None, "8"),
        ("--xla_force_host_platform_device_count=4", 3, "6"),
    ],
)
def test_two_threads_for_each_device_if_there_are_several(monkeypatch, flags, count, threads):
    monkeypatch.setenv("XLA_FLAGS", flags)
    with enough_threads(count):
        assert os.environ.get("NPROC") == threads
    assert "NPROC" not in os.environ


def test_a_number_that_the_user_gave_stays(monkeypatch):
    monkeypatch.setenv("NPROC", "3")
    with enough_threads(8):
        assert os.environ["NPROC"] == "3"
    assert os.environ["NPROC"] == "3"


def test_nothing_is_done_where_there_are_processors_enough(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(64)))
    with enough_threads(8):
        assert "NPROC" not in os.environ


def test_processors_that_the_process_may_not_use_do_not_count(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    with enough_threads(8):
        assert os.environ["NPROC"] == "16"


def test_the_variable_is_removed_if_no_client_can_be_made():
    with pytest.raises(RuntimeError), enough_threads(8):
        raise RuntimeError("no client")
    assert "NPROC" not in os.environ


@pytest.mark.skipif(not THREADS.exists(), reason="the system does not list a process's threads")
def test_the_runtime_has_that_many_threads():
    count = len(devices("cpu"))
    names = [(task / "comm").read_text().strip() for task in THREADS.iterdir()]
    pool = [name for name in names if name.endswith("XLAEigen")]
    assert count == 1 or len(pool) >= 2 * count
