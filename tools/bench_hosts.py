"""Workloads of several processes: how long they take to their first step, and each step after it.

As a program, this file is one of the processes: `python bench_hosts.py SIDE ADDRESS COUNT RANK`
trains a small model by data parallelism over two CPU devices of each process, and prints when its
first step was done and how long a further one takes.
"""

import json
import os
import socket
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

STEP = "step of data-parallel training, 2 processes"
START = "start of 4 processes to the first step"
PROCESSES = {STEP: 2, START: 4}
_FLAGS = "--xla_force_host_platform_device_count=2"
_LIMIT = 120.0
_WIDTH = 64
_ROUNDS = 30


def measure(interpreter: Path, side: str, name: str) -> dict[str, Any]:
    """Run a workload once; its answer is as that of `bench_side.py`.

    Raises:
      RuntimeError: if a process fails.
    """
    count = PROCESSES[name]
    with socket.create_server(("", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    variables = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": _FLAGS}
    variables["PYTHONDONTWRITEBYTECODE"] = ""
    if side == "jax":
        variables["PYTHONPATH"] = ""
    began = time.time()
    command = [str(interpreter), __file__, side, address, str(count)]
    processes = [
        subprocess.Popen(
            [*command, str(rank)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=variables,
            text=True,
        )
        for rank in range(count)
    ]
    answers = []
    try:
        for process in processes:
            out, err = process.communicate(timeout=_LIMIT)
            if process.returncode:
                raise RuntimeError((err.strip().splitlines() or ["no message"])[-1])
            answers.append(json.loads(out.splitlines()[-1]))
    finally:
        for process in processes:
            process.kill()
    if name == START:
        value = max(reply["first"] for reply in answers) - began
    else:
        value = max(reply["step"] for reply in answers)
    return {"version": answers[0]["version"], "measured": {name: {"value": value}}}


def _work(side: str, address: str, count: int, rank: int) -> dict[str, object]:
    jax = import_module(side)
    jnp = import_module(f"{side}.numpy")
    jax.distributed.initialize(address, count, rank)
    mesh = jax.make_mesh((2 * count,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    divided = jax.NamedSharding(mesh, jax.P("data"))
    whole = jax.NamedSharding(mesh, jax.P())

    def spread(values, sharding):
        return jax.make_array_from_callback(values.shape, sharding, lambda index: values[index])

    def loss(weights, inputs):
        hidden = inputs
        for weight in weights:
            hidden = jnp.tanh(hidden @ weight)
        return jnp.mean((hidden - inputs) ** 2)

    def train(weights, inputs):
        slopes = jax.grad(loss)(weights, inputs)
        return jax.tree.map(lambda w, slope: w - 0.1 * slope, weights, slopes)

    step = jax.jit(train, out_shardings=whole)
    random = np.random.default_rng(0)
    shape = (_WIDTH, _WIDTH)
    weights = [spread(random.normal(size=shape).astype(np.float32), whole) for _ in range(3)]
    inputs = spread(random.normal(size=(32 * count, _WIDTH)).astype(np.float32), divided)
    weights = jax.block_until_ready(step(weights, inputs))
    first = time.time()
    least = float("inf")
    for _ in range(_ROUNDS if count == PROCESSES[STEP] else 0):
        start = time.perf_counter()
        for _ in range(10):
            weights = step(weights, inputs)
        jax.block_until_ready(weights)
        least = min(least, (time.perf_counter() - start) / 10)
    return {"version": jax.__version__, "first": first, "step": least}


if __name__ == "__main__":
    measured = _work(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    print(json.dumps(measured), flush=True)
