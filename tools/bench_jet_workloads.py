"""Higher derivatives that `bench.py` measures on either side: jets, and nested jvp beside them."""

import importlib
from collections.abc import Callable
from math import factorial
from types import ModuleType
from typing import Any

import numpy as np
from bench_workloads import best, ready, workload

ORDERS = (3, 5)
SIZE = 256
JETS = {order: f"run a jet of order {order} of a tanh network" for order in ORDERS}
NESTED = {order: f"run nested jvp of order {order} of a tanh network" for order in ORDERS}
FIRST_JET = "first call of a jet of order 5"
FIRST_NESTED = "first call of nested jvp of order 5"


def network(api: ModuleType) -> tuple[Callable[[Any], Any], tuple[Any, ...]]:
    """A network of three layers; its argument, and the derivatives of a curve there."""
    random = np.random.RandomState(0)
    array = lambda *shape: api.numpy.asarray(random.randn(*shape).astype(np.float32))
    layers = [array(SIZE, SIZE) / np.float32(SIZE**0.5) for _ in range(3)]

    def forward(x: Any) -> Any:
        for layer in layers:
            x = api.numpy.tanh(x @ layer)
        return x

    return forward, tuple(array(SIZE, SIZE) for _ in range(1 + max(ORDERS)))


def by_jet(api: ModuleType, fun: Callable[[Any], Any], order: int) -> Callable[..., Any]:
    """All derivatives up to an order along a curve, by a jet."""
    jet = importlib.import_module(f"{api.__name__}.experimental.jet").jet
    return lambda x, *terms: jet(fun, (x,), (terms[:order],))[1]


def by_nesting(api: ModuleType, fun: Callable[[Any], Any], order: int) -> Callable[..., Any]:
    """The same by nested jvp."""

    def derivatives(x: Any, *terms: Any) -> list[Any]:
        along = lambda t: fun(
            x + sum(term * (t**k / factorial(k)) for k, term in enumerate(terms[:order], 1))
        )
        times = []
        for _ in range(order):
            along = _derivative(api, along)
            times.append(along(api.numpy.float32(0)))
        return times

    return derivatives


def _derivative(api: ModuleType, fun: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda t: api.jvp(fun, (t,), (api.numpy.ones_like(t),))[1]


def _enter(order: int) -> None:
    @workload(JETS[order])
    def run_jet(api: ModuleType) -> float:
        fun, args = network(api)
        compiled = api.jit(by_jet(api, fun, order))
        return best(lambda: ready(compiled(*args)[-1]), 30, 1, 5)

    @workload(NESTED[order])
    def run_nested(api: ModuleType) -> float:
        fun, args = network(api)
        compiled = api.jit(by_nesting(api, fun, order))
        return best(lambda: ready(compiled(*args)[-1]), 30, 1, 5)


for _order in ORDERS:
    _enter(_order)


@workload(FIRST_JET)
def first_jet(api: ModuleType) -> float:
    fun, args = network(api)
    return best(lambda: ready(api.jit(by_jet(api, fun, 5))(*args)[-1]), 3)


@workload(FIRST_NESTED)
def first_nested(api: ModuleType) -> float:
    fun, args = network(api)
    return best(lambda: ready(api.jit(by_nesting(api, fun, 5))(*args)[-1]), 3)
