"""Time calls of `eager_calls.py` outside of jit on one side, in a separate process.

Run as `python eager_side.py {jax|ricci}`: reads pickled messages from stdin, and writes a line of
JSON for each. A pair of a source and its operands is called until nothing compiles any more; None
is answered by the processor seconds of one call of the last pair, the least of several loops: of
the process, or of the calling thread where a call runs on several devices.
"""

import gc
import importlib
import json
import pickle
import re
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from growth_side import MODULES

WARM_CALLS = 6  # Ricci computes the first calls of an operation by NumPy
LOOP_SECONDS = 2e-3
LOOPS = 8
KEY = re.compile(r"jax\.random\.key\(\d\)")


# Calls may name these: arrays over all devices, and functions that run on them.
OVER_DEVICES = re.compile(r"\b(ROWS|COPIES|SUM|PAIR|MAPPED|MAPPED_PAIR)\b")


def fixtures(api: Any) -> dict[str, Any]:
    """Return what calls over several devices and calls of many leaves name, on 8 devices."""
    mesh = api.sharding.Mesh(np.array(api.devices()), ("x",))
    ones = np.ones((8, 4), np.float32)
    put = lambda *axes: api.device_put(
        ones, api.sharding.NamedSharding(mesh, api.sharding.PartitionSpec(*axes))
    )
    return {
        "ROWS": put("x"),
        "COPIES": put(),
        "SUM": api.jit(lambda x: x + 1),
        "PAIR": api.jit(lambda x, y: (x + y, x * y)),
        "MAPPED": api.pmap(lambda x: x + 1),
        "MAPPED_PAIR": api.pmap(lambda x, y: (x + y, x * y)),
        "SHARDS": api.pmap(lambda x: x)(ones),
        "LEAVES": {f"leaf {i}": api.numpy.ones(2) for i in range(51)},
        "TREE": api.jit(lambda leaves: {name: x + 1 for name, x in leaves.items()}),
    }


def prepared(api: Any, source: str, operands: dict[str, Any]) -> tuple[Callable[[], Any], int]:
    """Return a function that makes a call, and how often a loop should make it.

    Random keys are operands, so that the time is the function's own.
    """
    names = {"jax": api, "jnp": api.numpy, "lax": api.lax, "np": np, "jsp": api.scipy}
    names["random"] = api.random
    arrays = {name: api.numpy.asarray(value) for name, value in operands.items()}
    if len(api.devices()) > 1:
        names.update(fixtures(api))
    source = KEY.sub("KEY", source)
    code = compile(f"lambda: {source}", "<call>", "eval")
    call = eval(code, {**names, **arrays, "KEY": api.random.key(0)})
    for _ in range(WARM_CALLS):
        api.block_until_ready(call())
    start = time.perf_counter()
    api.block_until_ready([call(), call()])
    seconds = (time.perf_counter() - start) / 2
    return call, max(1, min(500, int(LOOP_SECONDS / seconds)))


def least_seconds(
    api: Any, call: Callable[[], Any], number: int, now: Callable[[], float]
) -> float:
    """Return the least time of a call over several loops, by a clock."""
    gc.collect()
    gc.disable()
    least = float("inf")
    for _ in range(LOOPS):
        start = now()
        for _ in range(number - 1):
            call()
        api.block_until_ready(call())
        least = min(least, now() - start)
    gc.enable()
    return least / number


def main() -> None:
    name = sys.argv[1]
    api = importlib.import_module(name)
    for module in MODULES.split():
        importlib.import_module(f"{name}.{module}")
    print(json.dumps({"ready": name}), flush=True)
    call: Callable[[], Any] | None = None
    number, now = 1, time.process_time
    while True:
        try:
            message = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            if message is None:
                assert call is not None
                reply = {"seconds": least_seconds(api, call, number, now)}
            else:
                over_devices = OVER_DEVICES.search(message[0]) is not None
                now = time.thread_time if over_devices else time.process_time
                call, number = prepared(api, *message)
                reply = {"number": number}
        except Exception as error:  # noqa: BLE001 - the report says what failed, and why
            reply = {"error": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
