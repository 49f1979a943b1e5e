"""``distributed.initialize`` and ``shutdown``: their errors, and the state after them."""

import subprocess
import sys

import hosts
import pytest

CALLS = """
import ricci
initialize = ricci.distributed.initialize

def tell(label, call):
    try:
        print(label, "->", call())
    except Exception as error:
        print(label, "->", type(error).__name__, str(error).replace(chr(10), " "))
"""


def said(program: str, **variables: str) -> dict[str, str]:
    """The output of a program in one process, by label."""
    clean = hosts.environment(0, 1, hosts.free_port(), {})
    clean = {k: v for k, v in clean.items() if k not in ("RICCI_PROCESS_ID", "RICCI_NUM_PROCESSES")}
    del clean["RICCI_COORDINATOR_ADDRESS"]
    ended = subprocess.run(
        [sys.executable, "-c", CALLS + program],
        env={**clean, **variables},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
    return dict(line.split(" -> ", 1) for line in ended.stdout.splitlines() if " -> " in line)


@pytest.fixture(scope="module")
def refused():
    address = f"127.0.0.1:{hosts.free_port()}"
    return said(f"""
address = {address!r}
tell("nothing", lambda: initialize())
tell("address alone", lambda: initialize(address))
tell("no rank", lambda: initialize(address, 2))
tell("no address", lambda: initialize(num_processes=1, process_id=0))
tell("rank too large", lambda: initialize(address, 2, 2))
tell("negative rank", lambda: initialize(address, 2, -1))
tell("no port", lambda: initialize("127.0.0.1", 2, 0))
tell("slice", lambda: initialize(address, 1, 0, slice_index=1))
tell("stall", lambda: initialize(address, 1, 0, stall_timeout_seconds=0))
tell("unreachable", lambda: initialize(address, 2, 1, initialization_timeout=1))
tell("nobody comes", lambda: initialize(address, 2, 0, initialization_timeout=1))
tell("not yet", ricci.distributed.is_initialized)
tell("shutdown without", ricci.distributed.shutdown)
tell("good", lambda: initialize(address, 1, 0))
tell("is", ricci.distributed.is_initialized)
tell("twice", lambda: initialize(address, 1, 0))
tell("devices", lambda: (ricci.process_count(), ricci.device_count()))
tell("computes", lambda: float(ricci.numpy.ones(3).sum()))
tell("shutdown", ricci.distributed.shutdown)
tell("is not", ricci.distributed.is_initialized)
tell("late", lambda: initialize(address, 1, 0))
""")


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("nothing", "ValueError|coordinator_address|python -m ricci.distributed.run"),
        ("address alone", "ValueError|num_processes, process_id are missing"),
        ("no rank", "ValueError|process_id is missing|num_processes=2"),
        ("no address", "ValueError|coordinator_address is missing"),
        ("rank too large", "ValueError|process_id=2 with num_processes=2"),
        ("negative rank", "ValueError|process_id=-1"),
        ("no port", "ValueError|HOST:PORT"),
        ("slice", "NotImplementedError|slice_index=1"),
        ("stall", "ValueError|stall_timeout_seconds=0"),
        ("unreachable", "RuntimeError|rank 1 did not reach the coordinator|within 1 s"),
        ("nobody comes", "RuntimeError|waited 1 s|rank 1 did not come"),
        ("not yet", "False"),
        ("shutdown without", "None"),
        ("good", "None"),
        ("is", "True"),
        ("twice", "RuntimeError|rank 0 of 1|once"),
        ("devices", "(1, 2)"),
        ("computes", "3.0"),
        ("shutdown", "None"),
        ("is not", "False"),
        ("late", "RuntimeError|too late"),
    ],
)
def test_calls(refused, label, words):
    for word in words.split("|"):
        assert word in refused[label]


def test_stall_variable_must_be_a_number():
    found = said('tell("bad", lambda: initialize("h:1", 1, 0))', RICCI_STALL_TIMEOUT="soon")
    assert found["bad"].startswith("ValueError") and "RICCI_STALL_TIMEOUT" in found["bad"]


def test_ids_and_processes():
    program = (
        CALLS
        + """
initialize()
here = ricci.local_devices()
tell("index", ricci.process_index)
tell("count", ricci.process_count)
tell("indices", ricci.process_indices)
tell("devices", lambda: [d.process_index for d in ricci.devices()])
tell("ids", lambda: len({d.id for d in ricci.devices()}))
tell("other", lambda: [d.process_index for d in ricci.local_devices(1 - ricci.process_index())])
tell("none such", lambda: ricci.local_devices(7))
"""
    )
    first, second = hosts.run(program, 2, limit=60)
    assert first.code == second.code == 0, first.err + second.err
    for rank, end in enumerate((first, second)):
        found = dict(line.split(" -> ", 1) for line in end.out.splitlines() if " -> " in line)
        assert found["index"] == str(rank)
        assert (found["count"], found["indices"]) == ("2", "[0, 1]")
        assert found["devices"] == "[0, 0, 1, 1]" and found["ids"] == "4"
        assert found["other"] == str([1 - rank] * 2)
        assert found["none such"].startswith("ValueError")
