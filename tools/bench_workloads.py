"""The work that `bench.py` measures, written once and run on either side.

Every workload takes `api`, the module `jax` or `ricci`, and nothing else that differs between the
sides; `bench_side.py` runs them.
"""

import gc
import math
import time
import tracemalloc
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

Workload = Callable[[ModuleType], float]
WORKLOADS: dict[str, Workload] = {}


def workload(name: str) -> Callable[[Workload], Workload]:
    """Enter a function into the table; it returns seconds, or bytes if the name has that unit."""

    def enter(function: Workload) -> Workload:
        WORKLOADS[name] = function
        return function

    return enter


def best(call: Callable[[], Any], repeats: int = 5, number: int = 1, warm: int = 1) -> float:
    """The least time of one call over several repeats of `number` calls, in seconds."""
    for _ in range(warm):
        call()
    gc.collect()
    least = math.inf
    for _ in range(repeats):
        start = time.perf_counter_ns()
        for _ in range(number):
            call()
        least = min(least, time.perf_counter_ns() - start)
    return least / number / 1e9


def program(api: ModuleType, equations: int) -> Callable[[Any], Any]:
    """A function of about that many equations, written with the NumPy API."""
    jnp = api.numpy

    def run(x: Any) -> Any:
        y = x
        for _ in range(equations // 5):
            y = jnp.sin(y) * 0.5 + jnp.tanh(x) - y
        return y.sum()

    return run


def mlp(api: ModuleType) -> tuple[Callable[..., Any], list[tuple[Any, Any]], Any, Any]:
    """The loss of a 3-layer perceptron, its parameters, a batch and the targets."""
    jnp = api.numpy
    generator = np.random.default_rng(0)
    sizes = (64, 128, 128, 10)
    parameters = [
        (
            jnp.asarray(generator.normal(size=(m, n)).astype(np.float32) / m**0.5),
            jnp.zeros(n, np.float32),
        )
        for m, n in zip(sizes[:-1], sizes[1:], strict=True)
    ]
    batch = jnp.asarray(generator.normal(size=(32, 64)).astype(np.float32))
    targets = jnp.asarray(generator.normal(size=(32, 10)).astype(np.float32))

    def loss(parameters: list[tuple[Any, Any]], batch: Any, targets: Any) -> Any:
        *hidden, (last_w, last_b) = parameters
        for w, b in hidden:
            batch = jnp.tanh(batch @ w + b)
        return jnp.mean((batch @ last_w + last_b - targets) ** 2)

    return loss, parameters, batch, targets


def ready(result: Any) -> Any:
    """Waits for the first array found in a result."""
    while isinstance(result, tuple | list):
        result = result[0]
    return result.block_until_ready()


def small(api: ModuleType) -> Any:
    return api.numpy.asarray(np.arange(8, dtype=np.float32))


def trace_workload(equations: int, repeats: int) -> Workload:
    def measure(api: ModuleType) -> float:
        x = small(api)

        # A new function each time: neither side may answer from a cache.
        return best(lambda: api.make_jaxpr(program(api, equations))(x), repeats)

    return measure


for _count, _repeats in ((1_000, 7), (3_000, 5), (10_000, 3), (30_000, 2), (100_000, 1)):
    WORKLOADS[f"trace {_count:,} equations"] = trace_workload(_count, _repeats)


@workload("trace the gradient of 3,000 equations")
def trace_gradient(api: ModuleType) -> float:
    x = small(api)
    return best(lambda: api.make_jaxpr(api.grad(program(api, 3_000)))(x), 3)


@workload("trace and lower the Hessian of 20 parameters")
def lower_hessian(api: ModuleType) -> float:
    jnp = api.numpy

    def energy(x: Any) -> Any:
        return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    x = jnp.linspace(0.5, 1.5, 20)
    # A function of its own each time, so that nothing is kept from the last.
    return best(lambda: api.jit(api.hessian(lambda x: energy(x))).lower(x), 8)


@workload("trace a checkpointed gradient of 1,000 equations")
def trace_checkpoint(api: ModuleType) -> float:
    x = small(api)
    fun = program(api, 1_000)
    return best(lambda: api.make_jaxpr(api.grad(api.checkpoint(lambda x: fun(x))))(x), 5)


@workload("trace the gradient of 10 checkpointed layers")
def trace_checkpointed_layers(api: ModuleType) -> float:
    x, layer = small(api), program(api, 100)

    def loss() -> Callable[[Any], Any]:
        # Layers of their own each time, so that nothing is kept from the last.
        block = api.checkpoint(lambda y: x + layer(y))

        def stacked(y: Any) -> Any:
            for _ in range(10):
                y = block(y)
            return y.sum()

        return stacked

    return best(lambda: api.make_jaxpr(api.grad(loss()))(x), 5)


@workload("trace the gradient of 1,000 equations")
def trace_plain(api: ModuleType) -> float:
    x = small(api)
    fun = program(api, 1_000)
    return best(lambda: api.make_jaxpr(api.grad(lambda x: fun(x)))(x), 5)


@workload("lower 3,000 equations to StableHLO")
def lower(api: ModuleType) -> float:
    x = small(api)
    least = math.inf
    for _ in range(6):
        traced = api.jit(program(api, 3_000)).trace(x)
        start = time.perf_counter_ns()
        traced.lower()
        least = min(least, time.perf_counter_ns() - start)
    return least / 1e9


@workload("x + x")
def eager_add(api: ModuleType) -> float:
    x = small(api)
    return best(lambda: x + x, 20, 500, 100)


@workload("jnp.sin(x)")
def eager_sin(api: ModuleType) -> float:
    x, sin = small(api), api.numpy.sin
    return best(lambda: sin(x), 20, 500, 100)


@workload("random.normal(key, (3,))")
def eager_normal(api: ModuleType) -> float:
    key, normal = api.random.key(0), api.random.normal
    return best(lambda: normal(key, (3,)), 20, 500, 100)


@workload("x[i], index varying")
def eager_index(api: ModuleType) -> float:
    x = api.numpy.asarray(np.arange(256, dtype=np.float32))
    ready(x[0])

    # Values not indexed before, so that compiling once per value would show.
    fresh = iter(range(1, 256))
    return best(lambda: x[next(fresh)], 5, 40, 10)


def index_workload(use: Callable[[Any, int, ModuleType], Any]) -> Workload:
    """An eager use of an index, for values that were not used before."""

    def measure(api: ModuleType) -> float:
        x = api.numpy.asarray(np.arange(256, dtype=np.float32))
        ready(use(x, 0, api))
        fresh = iter(range(1, 256))
        return best(lambda: use(x, next(fresh), api), 5, 40, 10)

    return measure


WORKLOADS["x[1:], start varying"] = index_workload(lambda x, n, api: x[n : n + 1])
WORKLOADS["x[i], an array varying"] = index_workload(lambda x, n, api: x[api.numpy.asarray(n)])
WORKLOADS["x.at[i].set(v), index varying"] = index_workload(lambda x, n, api: x.at[n].set(1.0))


@workload("eager grad of three operations")
def eager_grad(api: ModuleType) -> float:
    jnp = api.numpy
    grad = api.grad(lambda x: (jnp.sin(x) * x).sum())
    x = small(api)
    return best(lambda: ready(grad(x)), 8, 20, 20)


@workload("eager vmap of two operations")
def eager_vmap(api: ModuleType) -> float:
    jnp = api.numpy
    mapped = api.vmap(lambda x: jnp.sin(x) * x)
    x = small(api)
    return best(lambda: ready(mapped(x)), 8, 50, 20)


@workload("eager value and gradient of a 3-layer MLP")
def eager_mlp(api: ModuleType) -> float:
    loss, parameters, batch, targets = mlp(api)
    step = api.value_and_grad(loss)
    return best(lambda: ready(step(parameters, batch, targets)), 5, 5, 5)


@workload("jitted call, 1 leaf")
def call_one(api: ModuleType) -> float:
    x = small(api)
    compiled = api.jit(lambda x: x + 1)
    return best(lambda: compiled(x), 20, 1000, 200)


@workload("jitted call, 51 leaves")
def call_many(api: ModuleType) -> float:
    tree = {f"leaf{i}": small(api) for i in range(51)}
    compiled = api.jit(lambda tree: {name: leaf + 1 for name, leaf in tree.items()})
    return best(lambda: compiled(tree), 20, 100, 50)


def mlp_step(api: ModuleType) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A step of gradient descent on the perceptron, and its arguments."""
    loss, parameters, batch, targets = mlp(api)
    value_and_grad = api.value_and_grad(loss)

    def step(parameters: Any, batch: Any, targets: Any) -> Any:
        value, gradient = value_and_grad(parameters, batch, targets)
        updated = [
            (w - 0.01 * dw, b - 0.01 * db)
            for (w, b), (dw, db) in zip(parameters, gradient, strict=True)
        ]
        return value, updated

    return step, (parameters, batch, targets)


@workload("run a compiled MLP step")
def run_compiled(api: ModuleType) -> float:
    step, args = mlp_step(api)
    compiled = api.jit(step)
    return best(lambda: ready(compiled(*args)), 20, 50, 20)


def memory_workload(equations: int) -> Workload:
    def measure(api: ModuleType) -> float:
        x = small(api)
        api.make_jaxpr(program(api, 100))(x)
        gc.collect()
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            jaxpr = api.make_jaxpr(program(api, equations))(x)
            gc.collect()
            allocated = tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
        return allocated / len(jaxpr.eqns)

    return measure


for _count in (3_000, 10_000):
    WORKLOADS[f"bytes per equation, {_count:,} equations"] = memory_workload(_count)
