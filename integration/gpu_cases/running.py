"""One side of `tools/gpu_check.py`: a phase in its own process, whose facts are JSON.

`python -m gpu_cases.running PHASE OUT SHARD SHARDS`, where `jax` is real JAX or the drop-in.
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import jax
import jax.numpy as jnp
from gpu_cases import arrays, features, learning, matrices, models
from gpu_cases.case import Table

MODULES = (arrays, matrices, learning)
START = time.perf_counter()
LIMIT = float(os.environ.get("GPU_CHECK_LIMIT", "inf"))


def attempt(function: Callable[[], Any]) -> Any:
    """Return what a function returns, or the error as text."""
    try:
        return function()
    except Exception as error:  # noqa: BLE001 - the table shows it
        return f"{type(error).__name__}: {str(error)[:300]}"


def out_of_time() -> bool:
    """Whether the time of this process is used up."""
    return time.perf_counter() - START > LIMIT


def values(out: Path, shard: int, shards: int, with_numpy: bool) -> dict[str, Any]:
    """Run the programs, and write their results to a file of NumPy's.

    Args:
      out: the file of the facts; the results are beside it.
      shard, shards: which part of the programs is run here.
      with_numpy: whether to compute NumPy's results instead, where there is a reference.
    """
    table = Table()
    for module in MODULES:
        module.add_programs(table)
    results: dict[str, Any] = {}
    facts: dict[str, Any] = {}
    step = int(os.environ.get("GPU_CHECK_STEP", "1"))
    for name, program in list(table.programs.items())[::step][shard::shards]:
        if out_of_time():
            facts[name] = "not run: no time"
            continue
        if with_numpy and program.reference is None:
            continue
        function: Any = program.reference if with_numpy else jax.jit(program.function)
        leaves = attempt(lambda f=function, p=program: jax.tree.leaves(f(*p.arguments)))
        if isinstance(leaves, str):
            facts[name] = leaves
            continue
        arrays_ = attempt(lambda leaves=leaves: [np.asarray(x) for x in leaves])
        if isinstance(arrays_, str):
            facts[name] = arrays_
            continue
        results |= {f"{name}|{i}": x for i, x in enumerate(arrays_)}
        facts[name] = [len(arrays_), program.tolerance, program.exact]
    np.savez(out.with_suffix(".npz"), **results)
    return facts


def training() -> dict[str, Any]:
    """Train three models for five steps in three precisions; return the losses."""

    def losses(name: str, dtype: Any) -> list[float]:
        weights, batch, loss = models.models(big=False)[name]
        step, found = models.training_step(loss, dtype), []
        weights = jax.device_put(weights)
        for _ in range(5):
            weights, value = step(weights, *batch)
            found.append(round(float(value), 5))
        return found

    names = [(m, p) for m in models.models(big=False) for p in models.DTYPES]
    return {f"{m}.{p}": attempt(lambda m=m, p=p: losses(m, models.DTYPES[p])) for m, p in names}


def time_of(function: Callable[..., Any], *args: Any, count: int = 200) -> float:
    """Return the median of five times of a call, in microseconds."""
    jax.block_until_ready(function(*args))
    times = []
    for _ in range(5):
        start = time.perf_counter()
        jax.block_until_ready([function(*args) for _ in range(count)][-1])
        times.append((time.perf_counter() - start) / count * 1e6)
    return statistics.median(times)


def speed() -> dict[str, Any]:
    """Return times of dispatch, transfers and training steps, and bytes of temporaries."""
    x = jnp.ones((8, 8))
    tree = {str(i): jnp.ones(4) for i in range(50)}
    host = np.ones(1 << 20, np.float32)
    calls = {
        "jit us": lambda: time_of(jax.jit(lambda x: x + 1), x),
        "jit of 50 arrays us": lambda: time_of(
            jax.jit(lambda t: jax.tree.map(lambda v: v + 1, t)), tree
        ),
        "eager sum us": lambda: time_of(lambda x: x + x, x),
        "eager gradient us": lambda: time_of(jax.grad(lambda x: (x * x).sum()), x, count=20),
        "put 4 MB us": lambda: time_of(jax.device_put, host, count=20),
    }
    facts = {name: attempt(call) for name, call in calls.items()}
    big = jax.devices()[0].platform != "cpu"
    for name, (weights, batch, loss) in models.models(big).items():
        for precision, dtype in models.DTYPES.items():
            if out_of_time():
                return facts
            facts |= step_times(f"{name}.{precision}", loss, dtype, weights, batch)
    return facts


def step_times(name: str, loss: Any, dtype: Any, weights: Any, batch: Any) -> dict[str, Any]:
    """Return the times of tracing, compiling and running a step, and its temporary bytes."""

    def measure() -> dict[str, float]:
        held, data = jax.device_put((weights, batch))
        step = models.training_step(loss, dtype)
        start = time.perf_counter()
        lowered = step.lower(held, *data)
        traced = time.perf_counter()
        compiled = lowered.compile()
        done = time.perf_counter()
        times = []
        for _ in range(12):
            begin = time.perf_counter()
            held, value = step(held, *data)
            jax.block_until_ready((held, value))
            times.append((time.perf_counter() - begin) * 1e3)
        return {
            f"{name} trace s": traced - start,
            f"{name} compile s": done - traced,
            f"{name} temporaries MB": compiled.memory_analysis().temp_size_in_bytes / 1e6,
            f"{name} step ms": statistics.median(times[2:]),
        }

    found = attempt(measure)
    return found if isinstance(found, dict) else {name: found}


def start() -> dict[str, Any]:
    """Return the time until the first step of a transformer, and how often the cache had it."""
    hits: list[str] = []
    listen = lambda event, **details: hits.append(event) if "cache_hits" in event else None
    jax.monitoring.register_event_listener(listen)
    weights, batch, loss = models.models(big=False)["transformer"]
    _, value = models.training_step(loss, np.float32)(weights, *batch)
    seconds = time.perf_counter() - START
    return {"loss": float(value), "first step s": seconds, "cache hits": len(hits)}


def main(phase: str, out: str, shard: str = "0", shards: str = "1") -> None:
    """Run a phase, and write its facts."""
    path = Path(out)
    phases: dict[str, Callable[[], dict[str, Any]]] = {
        "values": lambda: values(path, int(shard), int(shards), False),
        "numpy": lambda: values(path, int(shard), int(shards), True),
        "training": training,
        "features": lambda: {name: attempt(f) for name, f in features.FEATURES.items()},
        "speed": speed,
        "start": start,
    }
    facts = phases[phase]()
    device = jax.devices()[0]
    facts["_device"] = [device.device_kind, device.platform, jax.__version__]
    path.write_text(json.dumps(facts, default=str))


if __name__ == "__main__":
    main(*sys.argv[1:])
