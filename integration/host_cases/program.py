"""The program that faults happen in: data-parallel training that keeps a checkpoint.

It runs on Ricci and on the oracle, as the first argument says. The second is the name of a fault,
the third the rank that misbehaves (negative ones count from the last), the fourth the folder of the
checkpoint. Before its fourth step that rank does what `faults.FAULTS` says.
"""

import os
import sys
import time
from importlib import import_module
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
side, fault, victim, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])

from host_cases.faults import FAULTS  # noqa: E402  (the folder is on the path only now)

jax = import_module("ricci" if side == "ricci" else "jax")
jnp = import_module(f"{jax.__name__}.numpy")
multihost_utils = import_module(f"{jax.__name__}.experimental.multihost_utils")
rank, count = int(os.environ["RICCI_PROCESS_ID"]), int(os.environ["RICCI_NUM_PROCESSES"])
act = FAULTS[fault].act
misbehaves = rank == victim % count
if misbehaves and FAULTS[fault].when == "before":
    exec(act)
limits = {"heartbeat_timeout_seconds": 3, "shutdown_timeout_seconds": 10}
if side == "ricci":
    limits["stall_timeout_seconds"] = 3
jax.distributed.initialize(
    os.environ["RICCI_COORDINATOR_ADDRESS"], count, rank, initialization_timeout=6, **limits
)
if misbehaves and FAULTS[fault].when == "after":
    exec(act)

P = jax.sharding.PartitionSpec
mesh = jax.make_mesh((2 * count,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
divided, whole = jax.NamedSharding(mesh, P("data")), jax.NamedSharding(mesh, P())


def spread(values, sharding):
    return jax.make_array_from_callback(values.shape, sharding, lambda index: values[index])


def loss(weights, inputs, targets):
    return jnp.mean((jnp.tanh(inputs @ weights) - targets) ** 2)


def train(weights, inputs, targets):
    value, slope = jax.value_and_grad(loss)(weights, inputs, targets)
    return weights - 0.1 * slope, value


step = jax.jit(train, out_shardings=(whole, whole))
other = jax.jit(lambda w, x, y: (w, x.max() + y.min()), out_shardings=(whole, whole))
values = np.random.default_rng(0).normal(size=(8 * count, 4)).astype(np.float32)
inputs, targets = spread(values, divided), spread(values.sum(1), divided)
checkpoint = folder / "weights.npz"
first, start = 0, np.zeros(4, np.float32)
if checkpoint.exists():
    with np.load(checkpoint) as saved:
        first, start = int(saved["step"]), saved["weights"]
weights = spread(start, whole)


def wait():
    multihost_utils.sync_global_devices("wait")


for number in range(first, 8):
    if number == 3 and first == 0:
        print(f"fault {time.time():.2f}", flush=True)
        if misbehaves and FAULTS[fault].when == "step":
            exec(act)
        elif FAULTS[fault].others:
            exec(FAULTS[fault].others)
    weights, value = step(weights, inputs, targets)
    print(f"step {number} {float(value):.6f}", flush=True)
    if rank == 0:
        np.savez(folder / "new.npz", step=number + 1, weights=np.asarray(weights))
        os.replace(folder / "new.npz", checkpoint)
    if fault == "preempted" and multihost_utils.reached_preemption_sync_point(number):
        print(f"saved after {number}", flush=True)
        break
    if fault == "preempted":
        time.sleep(0.3)  # the notice takes a while to reach all processes
print("end", flush=True)
