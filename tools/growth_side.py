"""Compile and time calls of `growth.py` on one side, in a separate process.

Run as `python growth_side.py {jax|ricci}`: reads pickled messages from stdin, and writes a line of
JSON for each. A source, its operands and whether it is differentiated are compiled, and answered by
a digest of the executable's instructions and the bytes of its temporaries; None by the seconds of
the last call.
The first line says that modules are imported.
"""

import hashlib
import importlib
import json
import pickle
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "integration"))

import growth_programs

SECONDS = 0.1  # measured for each call
REPEATS = 20
LARGEST = 2 << 30  # bytes of temporaries and results
MODULES = "scipy.special scipy.stats scipy.signal scipy.linalg scipy.fft scipy.ndimage image"
MODULES += " scipy.integrate scipy.interpolate scipy.cluster.vq scipy.optimize scipy.sparse.linalg"
MODULES += " scipy.spatial.transform experimental.sparse.linalg"
# An instruction of an executable: its shape, and its operation.
INSTRUCTION = re.compile(r"= (\(.*?\)|\S+) ([a-z][\w-]*)\(")


def digest(text: str) -> str:
    """Return a digest of an executable's instructions, whatever their order and names."""
    counts = Counter(INSTRUCTION.findall(re.sub(r"/\*.*?\*/", "", text)))
    targets = Counter(re.findall(r'custom_call_target="(\S+)"', text))
    return hashlib.sha256(repr(sorted((counts + targets).items(), key=str)).encode()).hexdigest()


def with_gradient(api: Any, call: Callable[[dict[str, Any]], Any]) -> Callable[..., Any]:
    """Return the sum of squares of a call's results, with its gradient by the real operands."""
    jnp = api.numpy

    def loss(reals: dict[str, Any], others: dict[str, Any]) -> Any:
        results = api.tree_util.tree_leaves(call({**reals, **others}))
        inexact = [x for x in results if jnp.issubdtype(jnp.result_type(x), np.inexact)]
        return sum(jnp.sum(jnp.real(x * jnp.conj(x))).astype(np.float32) for x in inexact)

    def differentiated(operands: dict[str, Any]) -> Any:
        kinds = {k: jnp.issubdtype(x.dtype, np.floating) for k, x in operands.items()}
        reals = {k: x for k, x in operands.items() if kinds[k]}
        others = {k: x for k, x in operands.items() if not kinds[k]}
        return api.value_and_grad(loss)(reals, others)

    return differentiated


def prepared(
    api: Any, source: str, operands: dict[str, Any], is_gradient: bool
) -> tuple[Callable[[], Any], Any]:
    """Return a call without arguments, compiled where it can be, and its description."""
    names = {"jax": api, "jnp": api.numpy, "lax": api.lax, "np": np, "jsp": api.scipy}
    names |= {"random": api.random, "programs": growth_programs}
    code = compile(source, "<call>", "eval")
    operands = {name: api.numpy.asarray(value) for name, value in operands.items()}

    def call(operands: dict[str, Any]) -> Any:
        return eval(code, {**names, **operands})

    if is_gradient:
        call = with_gradient(api, call)
    try:
        function = api.jit(call).lower(operands).compile()
    except (api.errors.JAXTypeError, TypeError, ValueError, IndexError, NotImplementedError):
        api.block_until_ready(call(operands))  # an error that compiling did not cause is told
        return lambda: call(operands), {"digest": None, "bytes": None}
    memory = function.memory_analysis()
    temporaries = memory.temp_size_in_bytes
    if temporaries + memory.output_size_in_bytes > LARGEST:
        raise MemoryError(f"{temporaries} and {memory.output_size_in_bytes} bytes are too much")
    described = {"digest": digest(function.as_text()), "bytes": temporaries}
    return lambda: function(operands), described


def least_seconds(api: Any, call: Callable[[], Any]) -> float:
    """Return the least time of several calls, after one that is not counted."""
    api.block_until_ready(call())
    least, spent = float("inf"), 0.0
    for _ in range(REPEATS):
        start = time.perf_counter()
        api.block_until_ready(call())
        seconds = time.perf_counter() - start
        least, spent = min(least, seconds), spent + seconds
        if spent > SECONDS:
            break
    return least


def main() -> None:
    name = sys.argv[1]
    api = importlib.import_module(name)
    for module in MODULES.split():
        importlib.import_module(f"{name}.{module}")
    print(json.dumps({"ready": name}), flush=True)
    call: Callable[[], Any] | None = None
    while True:
        try:
            message = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            if message is None:
                assert call is not None
                reply = {"seconds": least_seconds(api, call)}
            else:
                call, reply = prepared(api, *message)
        except Exception as error:  # noqa: BLE001 - the report says what failed, and why
            reply = {"error": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
