"""Times calls of `growth.py` on one side, in a process of its own.

Run as `python growth_side.py {jax|ricci}`: reads pickled pairs of a source and its operands from
stdin, and writes a line of JSON for each: seconds and bytes of temporaries, or an error.
"""

import importlib
import json
import pickle
import sys
import time
from typing import Any

import numpy as np

SECONDS = 0.1  # measured for each call
REPEATS = 20


def measure(api: Any, source: str, operands: dict[str, Any]) -> dict[str, Any]:
    """Time a call, compiled where it can be."""
    names = {"jax": api, "jnp": api.numpy, "lax": api.lax, "np": np}
    code = compile(source, "<call>", "eval")
    operands = {name: api.numpy.asarray(value) for name, value in operands.items()}

    def call(operands: dict[str, Any]) -> Any:
        return eval(code, {**names, **operands})

    temporaries = None
    try:
        function = api.jit(call).lower(operands).compile()
        temporaries = function.memory_analysis().temp_size_in_bytes
    except (api.errors.JAXTypeError, TypeError, ValueError, IndexError, NotImplementedError):
        function = call
    api.block_until_ready(function(operands))
    least, spent = float("inf"), 0.0
    for _ in range(REPEATS):
        start = time.perf_counter()
        api.block_until_ready(function(operands))
        seconds = time.perf_counter() - start
        least, spent = min(least, seconds), spent + seconds
        if spent > SECONDS:
            break
    return {"seconds": least, "bytes": temporaries}


def main() -> None:
    name = sys.argv[1]
    api = importlib.import_module(name)
    for module in ("scipy.special", "scipy.stats", "scipy.signal", "scipy.linalg", "scipy.fft"):
        importlib.import_module(f"{name}.{module}")
    while True:
        try:
            source, operands = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = measure(api, source, operands)
        except Exception as error:  # noqa: BLE001 - the report says what failed, and why
            answer = {"error": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
