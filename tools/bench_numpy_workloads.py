"""The work on `numpy` that `bench.py` measures: large arrays when compiled, small ones eagerly."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from bench_workloads import WORKLOADS, Workload, best, ready

COUNT = 1_000_000
LEVELS = 1_000

# Functions of a million floats, compiled; `levels` are whole numbers below a thousand.

LARGE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "sort": lambda jnp, x, levels: jnp.sort(x),
    "argsort": lambda jnp, x, levels: jnp.argsort(x),
    "unique": lambda jnp, x, levels: jnp.unique(levels, size=LEVELS),
    "median": lambda jnp, x, levels: jnp.median(x),
    "searchsorted": lambda jnp, x, levels: jnp.searchsorted(jnp.arange(-3.0, 3.0, 0.001), x),
    "cumsum": lambda jnp, x, levels: jnp.cumsum(x),
    "histogram": lambda jnp, x, levels: jnp.histogram(x, 100)[0],
    "bincount": lambda jnp, x, levels: jnp.bincount(levels, length=LEVELS),
    "interp": lambda jnp, x, levels: jnp.interp(x, jnp.arange(-3.0, 4.0), jnp.arange(7.0)),
}


def large_workload(call: Callable[[Any, Any, Any], Any]) -> Workload:
    def measure(api: ModuleType) -> float:
        random = np.random.RandomState(0)
        x = api.numpy.asarray(random.randn(COUNT).astype(np.float32))
        levels = api.numpy.asarray(random.randint(0, LEVELS, COUNT).astype(np.int32))
        compiled = api.jit(lambda x, levels: call(api.numpy, x, levels))
        return best(lambda: ready(compiled(x, levels)), 5)

    return measure


for _name, _call in LARGE.items():
    WORKLOADS[f"run jnp.{_name} on 1,000,000 elements"] = large_workload(_call)


# Functions of small arrays, called outside of any program.

EAGER_NUMPY: dict[str, Callable[[Any, Any, np.ndarray], Any]] = {
    "where": lambda jnp, x, host: jnp.where(x, x, x),
    "sum": lambda jnp, x, host: jnp.sum(x),
    "reshape": lambda jnp, x, host: jnp.reshape(x, (4, 16)),
    "asarray": lambda jnp, x, host: jnp.asarray(host),
    "matmul": lambda jnp, x, host: x @ x,
    "concatenate": lambda jnp, x, host: jnp.concatenate([x, x]),
    "diff": lambda jnp, x, host: jnp.diff(x),
    "unique": lambda jnp, x, host: jnp.unique(x),
}


def eager_workload(call: Callable[[Any, Any, np.ndarray], Any]) -> Workload:
    def measure(api: ModuleType) -> float:
        host = np.eye(8, dtype=np.float32)
        x = api.numpy.asarray(host)
        return best(lambda: call(api.numpy, x, host), 20, 100, 50)

    return measure


for _name, _call in EAGER_NUMPY.items():
    WORKLOADS[f"eager jnp.{_name}"] = eager_workload(_call)
