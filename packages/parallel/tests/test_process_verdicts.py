"""What is concluded from the signs of the processes of a cluster."""

import pytest

from ricci_parallel.processes._meeting import Member
from ricci_parallel.processes._signs import Sign
from ricci_parallel.processes._verdict import Heard, Limits, judge
from ricci_parallel.processes._watch import interval

LIMITS = Limits(heartbeat=10.0, stall=20.0)
FINE = Sign(0, "train.py:1 in main")


def heard(*signs: Sign, **of_last: float | bool) -> dict[int, Heard]:
    """What was heard of processes 0, 1, …; the keywords are said of the last of them."""
    found = {i: Heard(Member(i, "host", 100 + i), s._replace(rank=i)) for i, s in enumerate(signs)}
    last = len(signs) - 1
    return {**found, last: found[last]._replace(**of_last)}


WAITING = FINE._replace(waiting=30.0, line="train.py:9 in step")
STARTING = WAITING._replace(line="train.py:5 in main", joining="the first run of loss")
APART = FINE._replace(apart=30.0, line="train.py:7 in read")


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
        pytest.param(heard(WAITING, APART), "nothing with the others for 30 s", id="stalled"),
        pytest.param(heard(WAITING, APART), "Waiting at train.py:9 in step: rank 0.", id="places"),
        pytest.param(
            heard(WAITING, APART._replace(ended=True)), "the end of its script", id="ended"
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
def test_a_failure_is_told(processes, words):
    assert words in (judge(processes, LIMITS) or "")


@pytest.mark.parametrize(
    "processes",
    [
        pytest.param(heard(FINE, FINE), id="both run"),
        pytest.param(heard(FINE, FINE, age=9.0), id="quiet for a while"),
        pytest.param(heard(WAITING, WAITING), id="both in one long step"),
        pytest.param(heard(WAITING, APART._replace(apart=10.0)), id="late for a while"),
        pytest.param(heard(WAITING._replace(waiting=10.0), APART), id="waited for a while"),
        pytest.param(heard(APART, APART), id="both read data"),
        pytest.param(heard(STARTING, STARTING), id="both begin one program"),
    ],
)
def test_no_failure_is_told_of_what_may_go_on(processes):
    assert judge(processes, LIMITS) is None


def test_a_stall_is_never_told_without_a_limit():
    assert judge(heard(WAITING, APART), LIMITS._replace(stall=None)) is None


def test_many_processes_that_wait_are_counted():
    found = judge(heard(*[WAITING] * 20, APART), LIMITS) or ""
    assert "ranks 0, 1, 2, 3, 4, 5 and 14 more." in found
    assert len(found.splitlines()) <= 12


@pytest.mark.parametrize(("count", "expected"), [(2, 0.5), (100, 0.5), (1000, 1.25), (4000, 1.25)])
def test_signs_are_sent_less_often_by_many(count, expected):
    assert interval(LIMITS, count) == pytest.approx(expected)
