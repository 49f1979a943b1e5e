"""Time rows of `bench_peers.py` with one library, in a separate process.

Run as `python bench_peer_side.py {ricci|jax|torch|numpy} THREADS`: reads the names of rows, one a
line, and answers each with a line of JSON: the least time of a call in seconds, or an error.
"""

import gc
import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import bench_peer_models as _models  # noqa: F401  (enters its rows)
import bench_peer_networks as _networks  # noqa: F401  (enters its rows)
import numpy as np
from bench_peer_workloads import ROWS, Row

SECONDS, LEAST_CALLS, MOST_CALLS = 0.2, 3, 2000


def least_time(call: Callable[[], Any]) -> float:
    """The least time of one call, repeated for `SECONDS`."""
    for _ in range(2):
        call()
    gc.collect()
    times: list[float] = []
    until = time.perf_counter() + SECONDS
    while len(times) < LEAST_CALLS or (time.perf_counter() < until and len(times) < MOST_CALLS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def of_xla(api: Any, row: Row) -> Callable[[], Any]:
    """Compile a row with JAX or Ricci."""
    function = row.of_side(api.__name__)
    assert function is not None
    operands = [api.numpy.asarray(x) for x in row.inputs(np.random.default_rng(0))]
    compiled = api.jit(lambda *xs: function(api, *xs))
    return lambda: api.block_until_ready(compiled(*operands))


def of_torch(torch: Any, row: Row) -> Callable[[], Any]:
    """Prepare a row for PyTorch, which runs it eagerly."""
    function = row.of_side("torch")
    assert function is not None
    arrays = [np.asarray(x) for x in row.inputs(np.random.default_rng(0))]
    operands = [torch.from_numpy(x) if x.ndim else x for x in arrays]
    return lambda: function(torch, *operands)


def of_numpy(numpy: Any, row: Row) -> Callable[[], Any]:
    """Prepare a row for NumPy, or SciPy where it has the function."""
    function = row.of_side("numpy")
    assert function is not None
    module = numpy
    if row.scipy is not None:
        for name in ("special", "ndimage"):
            module = importlib.import_module("scipy")
            importlib.import_module(f"scipy.{name}")
    operands = row.inputs(np.random.default_rng(0))
    return lambda: function(module, *operands)


def main() -> None:
    side, threads = sys.argv[1], int(sys.argv[2])
    module = importlib.import_module(side)
    if side == "torch":
        module.set_num_threads(threads)
    elif side != "numpy":
        module.config.update("jax_enable_x64", True)
    prepare = {"torch": of_torch, "numpy": of_numpy}.get(side, of_xla)
    print(json.dumps({"version": module.__version__}), flush=True)
    for line in sys.stdin:
        row = ROWS[line.strip()]
        if row.of_side(side) is None:
            reply: dict[str, Any] = {}
        else:
            try:
                reply = {"seconds": least_time(prepare(module, row))}
            except Exception as error:  # noqa: BLE001 - the report says what failed, and why
                reply = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
