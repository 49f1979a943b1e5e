"""The work on `lax` that `bench.py` measures: control flow, single primitives, compiled size."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from bench_workloads import WORKLOADS, Workload, best, mlp_step, ready, workload

HIDDEN, BATCH, STEPS = 64, 8, 100
GATES = ("update", "reset", "new")


def gru(api: ModuleType) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The loss of a recurrent network over a sequence, and its arguments."""
    jnp, sigmoid = api.numpy, api.nn.sigmoid
    random = np.random.RandomState(0)
    array = lambda *shape: jnp.asarray(0.1 * random.randn(*shape).astype(np.float32))
    weights = {
        gate: (array(HIDDEN, HIDDEN), array(HIDDEN, HIDDEN), array(HIDDEN)) for gate in GATES
    }

    def gate(weights: Any, x: Any, h: Any) -> Any:
        into, across, bias = weights
        return x @ into + h @ across + bias

    def cell(weights: Any, h: Any, x: Any) -> tuple[Any, Any]:
        z = sigmoid(gate(weights["update"], x, h))
        r = sigmoid(gate(weights["reset"], x, h))
        h = (1 - z) * h + z * jnp.tanh(gate(weights["new"], x, r * h))
        return h, h

    def loss(weights: Any, h: Any, xs: Any) -> Any:
        _, ys = api.lax.scan(lambda h, x: cell(weights, h, x), h, xs)
        return jnp.sum(ys**2)

    return loss, (weights, array(BATCH, HIDDEN), array(STEPS, BATCH, HIDDEN))


def scalars(api: ModuleType, count: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The loss of a loop that carries scalars, and its arguments."""
    jnp = api.numpy

    def loss(start: Any, xs: Any) -> Any:
        carry = [start[i] for i in range(count)]
        carry, _ = api.lax.scan(lambda cs, x: ([c * 0.9 + x for c in cs], None), carry, xs)
        return sum(carry)

    return loss, (jnp.arange(count) * 0.01, jnp.ones(10_000))


@workload("trace and lower the gradient of a GRU over 100 steps")
def lower_gru(api: ModuleType) -> float:
    def lower() -> None:
        loss, args = gru(api)
        api.jit(api.grad(loss)).lower(*args).as_text()

    return best(lower, 8)


@workload("run the gradient of a GRU over 100 steps")
def run_gru(api: ModuleType) -> float:
    loss, args = gru(api)
    compiled = api.jit(api.grad(loss))
    return best(lambda: ready(compiled(*args)["new"][0]), 30, 1, 5)


@workload("eager gradient of a scan")
def eager_scan(api: ModuleType) -> float:
    xs = api.numpy.ones(10)

    def step(c: Any, x: Any) -> tuple[Any, Any]:
        return c + x, c

    grad = api.grad(lambda c: api.lax.scan(step, c, xs)[0])
    return best(lambda: ready(grad(1.0)), 8, 5, 3)


def scalars_workload(count: int) -> Workload:
    def measure(api: ModuleType) -> float:
        loss, args = scalars(api, count)
        compiled = api.jit(api.grad(loss))
        return best(lambda: ready(compiled(*args)), 10, 1, 3)

    return measure


for _count in (4, 60):
    WORKLOADS[f"run the gradient of a scan with {_count} scalar carries"] = scalars_workload(_count)


def instructions(program: Callable[..., Any], args: tuple[Any, ...]) -> float:
    """Count the instructions of an executable, in all its computations."""
    text = program.lower(*args).compile().as_text()  # pyright: ignore[reportFunctionMemberAccess]
    return float(sum(" = " in line for line in text.splitlines()))


@workload("instructions, MLP step")
def count_mlp(api: ModuleType) -> float:
    step, args = mlp_step(api)
    return instructions(api.jit(step), args)


@workload("instructions, gradient of a GRU over 100 steps")
def count_gru(api: ModuleType) -> float:
    loss, args = gru(api)
    return instructions(api.jit(api.grad(loss)), args)


@workload("instructions, gradient of a scan with 60 scalar carries")
def count_scalars(api: ModuleType) -> float:
    loss, args = scalars(api, 60)
    return instructions(api.jit(api.grad(loss)), args)


# Single primitives, called outside of any program.

EAGER: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda lax, x: lax.add(x, x),
    "exp": lambda lax, x: lax.exp(x),
    "select": lambda lax, x: lax.select(lax.gt(x, x), x, x),
    "reshape": lambda lax, x: lax.reshape(x, (4, 16)),
    "transpose": lambda lax, x: lax.transpose(x, (1, 0)),
    "reduce_max": lambda lax, x: lax.reduce_max(x, (0,)),
    "dot": lambda lax, x: lax.dot(x, x),
    "concatenate": lambda lax, x: lax.concatenate([x, x], 0),
    "slice": lambda lax, x: lax.slice(x, (1, 1), (3, 3)),
    "dynamic_slice": lambda lax, x: lax.dynamic_slice(x, (1, 1), (3, 3)),
    "cumsum": lambda lax, x: lax.cumsum(x),
    "sort": lambda lax, x: lax.sort(x),
    "top_k": lambda lax, x: lax.top_k(x, 2),
    "fft": lambda lax, x: lax.fft(x, "RFFT", (8,)),
    "cholesky": lambda lax, x: lax.linalg.cholesky(x),
    "eigh": lambda lax, x: lax.linalg.eigh(x),
}


def eager_workload(call: Callable[[Any, Any], Any]) -> Workload:
    def measure(api: ModuleType) -> float:
        x = api.numpy.asarray(np.eye(8, dtype=np.float32))
        return best(lambda: call(api.lax, x), 20, 200, 100)

    return measure


for _name, _call in EAGER.items():
    WORKLOADS[f"eager lax.{_name}"] = eager_workload(_call)
