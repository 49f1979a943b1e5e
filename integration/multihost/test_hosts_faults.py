"""Processes that die, hang or differ: the others end in time, and name the process and the line."""

from pathlib import Path

import hosts
import pytest
from host_cases.faults import FAULTS

PROGRAM = Path(__file__).parents[1] / "host_cases" / "program.py"
GOOD = ("none", "comes late", "preempted")
BAD = [name for name in FAULTS if name not in GOOD]
# The coordinator is in rank 0, so that its faults differ.
OF_RANK_0 = ["kill", "stop", "loop", "raise", "alone"]


def run(folder: Path, fault: str, victim: int = -1, count: int = 2) -> list[hosts.Ended]:
    stuck = [victim % count] if fault == "stop" else []
    arguments = ("ricci", fault, str(victim), str(folder))
    return hosts.run(PROGRAM, count, *arguments, limit=30, stuck=stuck)


def steps(out: str) -> list[str]:
    return [line for line in out.splitlines() if line.startswith("step")]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The output of each process without a fault."""
    ends = run(tmp_path_factory.mktemp("none"), "none")
    assert [end.code for end in ends] == [0, 0], ends[0].err + ends[1].err
    return [steps(end.out) for end in ends]


@pytest.mark.parametrize(
    ("fault", "victim"), [*((f, 1) for f in BAD), *((f, 0) for f in OF_RANK_0)]
)
def test_the_others_end_and_name_the_process(tmp_path, fault, victim):
    case = FAULTS[fault]
    ends = run(tmp_path, fault, victim)
    other = ends[1 - victim]
    assert other.code == 1, other
    words = {"rank": f"rank {victim}", "half": 8, "whole": 16}
    everything = "".join(end.err for end in ends)
    for word in case.says:
        found = everything if "different programs" in case.says else other.err
        assert word.format(**words) in found, found
    if case.when == "step":
        assert (tmp_path / "weights.npz").exists()


def test_a_restart_goes_on_with_the_same_numbers(tmp_path, undisturbed):
    before = run(tmp_path, "kill")
    assert before[0].code == 1 and len(steps(before[0].out)) == 3
    after = run(tmp_path, "none")
    assert [end.code for end in after] == [0, 0]
    assert steps(before[0].out) + steps(after[0].out) == undisturbed[0]


def test_all_save_at_one_step_when_one_is_preempted(tmp_path, undisturbed):
    before = run(tmp_path, "preempted")
    assert [end.code for end in before] == [0, 0], before[0].err + before[1].err
    saved = [line for end in before for line in end.out.splitlines() if "saved" in line]
    assert len(saved) == 2 and len(set(saved)) == 1
    after = run(tmp_path, "none")
    assert steps(before[0].out) + steps(after[0].out) == undisturbed[0]


def test_a_process_that_comes_late_is_waited_for(tmp_path, undisturbed):
    ends = run(tmp_path, "comes late")
    assert [end.code for end in ends] == [0, 0]
    assert [steps(end.out) for end in ends] == undisturbed


def test_the_one_of_four_that_dies_is_named(tmp_path):
    ends = run(tmp_path, "kill", victim=2, count=4)
    assert [end.code for end in ends] == [1, 1, -9, 1]
    for end in (ends[0], ends[1], ends[3]):
        assert "rank 2 (process" in end.err and "died" in end.err


LIVE = """
import os
import time
import ricci
from ricci.experimental.multihost_utils import live_devices, sync_global_devices

ricci.config.update("jax_enable_recoverability", True)
ricci.distributed.initialize(heartbeat_timeout_seconds=3)
sync_global_devices("all are here")
with live_devices(ricci.devices()) as alive:
    print("alive", len(alive), flush=True)
if ricci.process_index() == 1:
    os.kill(os.getpid(), 9)
while len(alive) == 4:
    time.sleep(0.2)
    with live_devices(ricci.devices()) as alive:
        pass
print("alive", len(alive), float(ricci.numpy.ones(3).sum()), flush=True)
"""


def test_the_others_go_on_where_processes_may_come_and_go():
    first, second = hosts.run(LIVE, 2, limit=40)
    assert (first.code, second.code) == (0, -9), first.err
    assert [line for line in first.out.splitlines() if "alive" in line] == [
        "alive 4",
        "alive 2 3.0",
    ]
