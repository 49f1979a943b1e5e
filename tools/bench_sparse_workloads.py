"""The work on sparse arrays that `bench.py` measures: products of a million elements, compiled."""

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from bench_workloads import WORKLOADS, Workload, best, ready

SIZE, COUNT, WIDTH = 31_623, 1_000_000, 16  # a density of a thousandth


def total(product: Any) -> Any:
    return (product**2).sum()


# Functions of the module, a BCOO and a BCSR matrix, and a vector or a matrix of `WIDTH` columns.
Function = Callable[[ModuleType, Any, Any, Any], Any]
PRODUCTS: dict[str, Function] = {
    "BCOO @ x": lambda api, m, rows, x: m @ x,
    "BCSR @ x": lambda api, m, rows, x: rows @ x,
    "BCOO.T @ x": lambda api, m, rows, x: m.T @ x,
    "the gradient by x of |BCOO @ x|²": lambda api, m, rows, x: api.grad(lambda x: total(m @ x))(x),
    "the gradient by x of |BCSR @ x|²": lambda api, m, rows, x: api.grad(lambda x: total(rows @ x))(
        x
    ),
    "the gradient by BCOO of |BCOO @ x|²": lambda api, m, rows, x: (
        sparse_of(api).grad(lambda m: total(m @ x))(m).data
    ),
}
ORDERS: dict[str, Function] = {
    "BCOO.T.sort_indices()": lambda api, m, rows, x: m.T.sort_indices().data,
    "BCOO.sum_duplicates(nse)": lambda api, m, rows, x: m.sum_duplicates(nse=COUNT).data,
}


def sparse_of(api: ModuleType) -> ModuleType:
    """The sparse arrays of a side."""
    return importlib.import_module(f"{api.__name__}.experimental.sparse")


def matrices(api: ModuleType) -> tuple[Any, Any]:
    """A random matrix in both formats."""
    sparse, random = sparse_of(api), np.random.default_rng(0)
    places = np.sort(random.choice(SIZE * SIZE, COUNT, replace=False))
    indices = np.stack([places // SIZE, places % SIZE], 1).astype(np.int32)
    data = random.normal(size=COUNT).astype(np.float32)
    known = {"shape": (SIZE, SIZE), "indices_sorted": True, "unique_indices": True}
    mat = sparse.BCOO((api.numpy.asarray(data), api.numpy.asarray(indices)), **known)
    return mat, sparse.BCSR.from_bcoo(mat)


def sparse_workload(call: Function, shape: tuple[int, ...]) -> Workload:
    def measure(api: ModuleType) -> float:
        mat, rows = matrices(api)
        x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
        compiled = api.jit(lambda mat, rows, x: call(api, mat, rows, x))
        x = api.numpy.asarray(x)
        return best(lambda: ready(compiled(mat, rows, x)), 7)

    return measure


SPARSE: list[str] = []
for _kind, _shape in (("a vector", (SIZE,)), (f"{WIDTH} columns", (SIZE, WIDTH))):
    for _name, _call in PRODUCTS.items():
        SPARSE.append(f"run {_name}, {_kind}")
        WORKLOADS[SPARSE[-1]] = sparse_workload(_call, _shape)
for _name, _call in ORDERS.items():
    SPARSE.append(f"run {_name}")
    WORKLOADS[SPARSE[-1]] = sparse_workload(_call, (SIZE,))
