"""Failures that are detected from the heartbeats of a cluster's processes."""

import pytest

from ricci_parallel.processes._heartbeat import Heartbeat, LastHeartbeat, Limits, detect_failures
from ricci_parallel.processes._rendezvous import Member
from ricci_parallel.processes._watch import interval

LIMITS = Limits(heartbeat=10.0, stall=20.0)
FINE = Heartbeat(0, "train.py:1 in main")


def heard(*states: Heartbeat, **of_last: float | bool) -> dict[int, LastHeartbeat]:
    """The last heartbeats of processes 0, 1, …; the keywords are fields of the last one."""
    found = {
        i: LastHeartbeat(Member(i, "host", 100 + i), s._replace(rank=i))
        for i, s in enumerate(states)
    }
    last = len(states) - 1
    return {**found, last: found[last]._replace(**of_last)}


WAITING = FINE._replace(waiting=30.0, line="train.py:9 in step")
STARTING = WAITING._replace(line="train.py:5 in main", joining="the first run of loss")
IDLE = FINE._replace(idle_seconds=30.0, line="train.py:7 in read")


@pytest.mark.parametrize(
    ("processes", "words"),
    [
        pytest.param(
            heard(FINE, FINE._replace(failed="ValueError: x")),
            "rank 1 (process 101 on host) failed at train.py:1 in main: ValueError: x.",
            id="exception",
        ),
        pytest.param(heard(FINE, FINE, gone=True), "rank 1 (process 101 on host) died", id="dead"),
        pytest.param(heard(FINE, FINE, age=11.0), "no sign of life for 11 s", id="silent"),
        pytest.param(heard(WAITING, IDLE), "nothing with the others for 30 s", id="stalled"),
        pytest.param(heard(WAITING, IDLE), "Waiting at train.py:9 in step: rank 0.", id="places"),
        pytest.param(
            heard(WAITING, IDLE._replace(ended=True)), "the end of its script", id="ended"
        ),
        pytest.param(
            heard(WAITING, WAITING._replace(line="train.py:12 in evaluate")),
            "The processes wait for each other",
            id="crossed",
        ),
        pytest.param(
            heard(WAITING, STARTING),
            "Waiting at train.py:5 in main, for the first run of loss: rank 1.",
            id="alone in a program",
        ),
    ],
)
def test_failures_are_reported(processes, words):
    assert words in (detect_failures(processes, LIMITS) or "")


@pytest.mark.parametrize(
    "processes",
    [
        pytest.param(heard(FINE, FINE), id="both run"),
        pytest.param(heard(FINE, FINE, age=9.0), id="quiet for a while"),
        pytest.param(heard(WAITING, WAITING), id="both in one long step"),
        pytest.param(heard(WAITING, IDLE._replace(idle_seconds=10.0)), id="late for a while"),
        pytest.param(heard(WAITING._replace(waiting=10.0), IDLE), id="waited for a while"),
        pytest.param(heard(IDLE, IDLE), id="both read data"),
        pytest.param(heard(STARTING, STARTING), id="both begin one program"),
    ],
)
def test_processes_that_may_go_on_are_not_reported(processes):
    assert detect_failures(processes, LIMITS) is None


def test_stalls_are_not_reported_without_a_limit():
    assert detect_failures(heard(WAITING, IDLE), LIMITS._replace(stall=None)) is None


def test_many_processes_that_wait_are_counted():
    found = detect_failures(heard(*[WAITING] * 20, IDLE), LIMITS) or ""
    assert "ranks 0, 1, 2, 3, 4, 5 and 14 more." in found
    assert len(found.splitlines()) <= 12


@pytest.mark.parametrize(("count", "expected"), [(2, 0.5), (100, 0.5), (1000, 1.25), (4000, 1.25)])
def test_many_processes_send_heartbeats_less_often(count, expected):
    assert interval(LIMITS, count) == pytest.approx(expected)
