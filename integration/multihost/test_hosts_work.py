"""Training over 2 and 4 processes gives the losses of the same program in one process."""

import json
from pathlib import Path

import pytest

pytest.importorskip("jax", reason="the jobs import the drop-in")


import hosts

PROGRAM = Path(__file__).parents[1] / "host_work" / "__main__.py"
JOBS = {
    2: (
        "data_parallel",
        "fsdp",
        "tensor_parallel",
        "ring_attention",
        "pmap_training",
        "accumulated",
        "dropout",
        "with_callback",
    ),
    4: ("fsdp", "ring_attention", "pmap_training", "accumulated", "with_callback"),
}
# Sums over devices are added in another order by gloo than by one process.
ROUNDING = 2e-5
# The programs are compiled without LLVM's optimizations, which take longer than the work.
QUICKLY = {"XLA_FLAGS": "--xla_backend_optimization_level=0"}


def told(count: int, devices: int, *jobs: str) -> list[dict]:
    """The results of jobs in each of some processes."""
    variables = {**QUICKLY, "RICCI_NUM_CPU_DEVICES": str(devices)}
    ends = hosts.run(PROGRAM, count, *jobs, limit=150, variables=variables)
    assert all(end.code == 0 for end in ends), "\n".join(end.err[-2000:] for end in ends)
    return [json.loads(end.out.splitlines()[-1]) for end in ends]


@pytest.fixture(scope="module", params=JOBS)
def both(request):
    """The results of jobs in each of several processes, and in one with as many devices."""
    count = request.param
    jobs = JOBS[count]
    several = told(count, hosts.DEVICES, *jobs, "exchanged", *["preempted"] * (count == 2))
    (alone,) = told(1, hosts.DEVICES * count, *jobs)
    return count, several, alone


def test_losses_are_those_of_one_process(both):
    count, several, alone = both
    for job in JOBS[count]:
        for ranks in several:
            assert isinstance(ranks[job], list), ranks[job]
            assert ranks[job] == several[0][job], job
        assert several[0][job] == pytest.approx(alone[job], rel=ROUNDING), job
        if job != "dropout":
            assert alone[job][-1] < alone[job][0], job


def test_one_process_is_called_back(both):
    _, several, alone = both
    assert [found["called"] for found in several] == [alone["called"], *[0] * (len(several) - 1)]


def test_processes_exchange_values(both):
    count, several, _ = both
    for found in several:
        assert found["exchanged"] == [4.0, 1.0, count * hosts.DEVICES]


def test_all_save_at_one_step_when_one_is_preempted(both):
    count, several, _ = both
    if count == 2:
        assert [found["preempted"] for found in several] == [[1.0, 1.0]] * 2
