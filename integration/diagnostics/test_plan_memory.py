"""The program of docs/guides/memory.md, and the memory that the operating system gives it."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ricci_xla", reason="compiled programs need the runtime")

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
MEASURED = """
import gc, json
import numpy as np
import plan_memory, ricci

def status(name):
    with open("/proc/self/status") as lines:
        return int(next(line for line in lines if line.startswith(name)).split()[1]) * 1024

plan = ricci.memory_plan(
    ricci.jit(plan_memory.step, donate_argnums=0),
    *(args := (plan_memory.parameters(), ricci.ShapeDtypeStruct((8, 256), np.int32))),
)
arrays = ricci.tree.map(lambda x: ricci.device_put(np.zeros(x.shape, x.dtype)), args)
step = ricci.jit(plan_memory.step, donate_argnums=0).lower(*arrays).compile()
gc.collect()
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the highest mark falls to what is in use
before = status("VmRSS")
ricci.block_until_ready(step(*arrays))
grown = status("VmHWM") - before + plan.arguments
print(json.dumps([plan.peak_bytes, plan.live_bytes, plan.kept_bytes, grown]))
"""


@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(),
    reason="the system does not tell how much memory a process took at most since some moment",
)
def test_planned_peak_equals_the_growth_of_the_process():
    ran = subprocess.run(
        [sys.executable, "-c", MEASURED], cwd=EXAMPLES, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    peak, live, kept, grown = map(int, ran.stdout.strip("[]\n").split(","))
    assert 0.9 <= live / peak <= 1.1
    assert kept > peak / 2
    # The process also grows by what threads and libraries take, which differs between machines.
    assert 0.95 * peak <= grown <= 1.3 * peak
