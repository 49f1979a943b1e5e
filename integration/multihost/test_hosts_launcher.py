"""Programs that `python -m ricci.distributed.run` starts compute together."""

import os
import re
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import numpy as np
import ricci
from ricci.sharding import NamedSharding, PartitionSpec

ricci.distributed.initialize()
rank = ricci.process_index()
counts = ricci.process_count(), ricci.local_device_count(), ricci.device_count()
sys.stdout.write(f"<found {rank} {counts}>\\n")
if rank == 1 and sys.argv[1] == "fail":
    raise ValueError("a bad batch")

mesh = ricci.make_mesh((6,), ("x",))
ones = ricci.make_array_from_callback(
    (6,), NamedSharding(mesh, PartitionSpec("x")), lambda index: np.ones(6, "float32")[index]
)
total = float(ricci.jit(ricci.numpy.sum)(ones).addressable_shards[0].data)
sys.stdout.write(f"<sum {rank} {total}>\\n")
"""


@pytest.fixture
def launch(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "ricci.distributed.run", "-n", "2", "--virtual-devices", "3"]

    def launch(*arguments: str) -> subprocess.CompletedProcess[str]:
        variables = {k: v for k, v in os.environ.items() if k != "JAX_PLATFORMS"}
        return subprocess.run(
            [*command, str(program), *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            env=variables,
        )

    return launch


def test_launched_processes_join_one_cluster(launch):
    done = launch("go")
    assert done.returncode == 0
    # gloo prints as well, also into the lines of others, but not into text that is written at once.
    assert sorted(re.findall(r"<.*?>", done.stdout)) == [
        "<found 0 (2, 3, 6)>",
        "<found 1 (2, 3, 6)>",
        "<sum 0 6.0>",
        "<sum 1 6.0>",
    ]


def test_the_cause_comes_before_its_consequences(launch):
    done = launch("fail")
    assert done.returncode == 1
    said = re.findall(r"^\[(\d)\] .*(a bad batch$|cannot go on)", done.stderr, re.MULTILINE)
    assert said[:2] == [("1", "a bad batch"), ("0", "cannot go on")]
    assert "ricci.distributed.run: rank 1 failed first: exit code 1." in done.stderr
