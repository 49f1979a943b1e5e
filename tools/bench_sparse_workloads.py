"""The work on sparse arrays that `bench.py` measures: products of a million elements, compiled."""

import copy
import importlib
from collections.abc import Callable
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np
from bench_workloads import WORKLOADS, Workload, best, ready

SIZE, COUNT, WIDTH = 31_623, 1_000_000, 16  # a density of a thousandth


def total(product: Any) -> Any:
    return (product**2).sum()


# The formats of a matrix, and functions of the module, a matrix and a vector or `WIDTH` columns.
FORMATS: tuple[str, ...] = ("BCOO", "BCSR", "COO", "CSR")
Function = Callable[[ModuleType, Any, Any], Any]
PRODUCTS: dict[str, Function] = {
    "{} @ x": lambda api, m, x: m @ x,
    "{}.T @ x": lambda api, m, x: m.T @ x,
    "the gradient by x of |{} @ x|²": lambda api, m, x: api.grad(lambda x: total(m @ x))(x),
    "the gradient by {0} of |{0} @ x|²": lambda api, m, x: api.grad(
        lambda data: total(with_data(m, data) @ x)
    )(m.data),
}
ORDERS: dict[str, Function] = {
    "BCOO.T.sort_indices()": lambda api, m, x: m.T.sort_indices().data,
    "BCOO.sum_duplicates(nse)": lambda api, m, x: m.sum_duplicates(nse=COUNT).data,
}
NEITHER = "BCSR.T @ x"  # neither side has it


def with_data(matrix: Any, data: Any) -> Any:
    """A matrix with other elements at the same places."""
    changed = copy.copy(matrix)
    changed.data = data
    return changed


def sparse_of(api: ModuleType) -> ModuleType:
    """The sparse arrays of a side."""
    return importlib.import_module(f"{api.__name__}.experimental.sparse")


def matrix_of(api: ModuleType, form: str) -> Any:
    """A random matrix, its elements row by row."""
    sparse, random = sparse_of(api), np.random.default_rng(0)
    places = np.sort(random.choice(SIZE * SIZE, COUNT, replace=False))
    indices = np.stack([places // SIZE, places % SIZE], 1).astype(np.int32)
    data = api.numpy.asarray(random.normal(size=COUNT).astype(np.float32))
    rows, columns = map(api.numpy.asarray, indices.T)
    shape = (SIZE, SIZE)
    if form == "COO":
        return sparse.COO((data, rows, columns), shape=shape, rows_sorted=True)
    options = {"shape": shape, "indices_sorted": True, "unique_indices": True}
    mat = sparse.BCOO((data, api.numpy.asarray(indices)), **options)
    if form == "BCOO":
        return mat
    compressed = sparse.BCSR.from_bcoo(mat)
    if form == "BCSR":
        return compressed
    return sparse.CSR((data, compressed.indices, compressed.indptr), shape=shape)


def sparse_workload(call: Function, form: str, shape: tuple[int, ...]) -> Workload:
    def measure(api: ModuleType) -> float:
        matrix = matrix_of(api, form)
        x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
        compiled = api.jit(lambda matrix, x: call(api, matrix, x))
        x = api.numpy.asarray(x)
        return best(lambda: ready(compiled(matrix, x)), 7)

    return measure


SPARSE: list[str] = []
for _kind, _shape in (("a vector", (SIZE,)), (f"{WIDTH} columns", (SIZE, WIDTH))):
    for _form, (_name, _call) in product(FORMATS, PRODUCTS.items()):
        if _name.format(_form) != NEITHER:
            SPARSE.append(f"run {_name.format(_form)}, {_kind}")
            WORKLOADS[SPARSE[-1]] = sparse_workload(_call, _form, _shape)
for _name, _call in ORDERS.items():
    SPARSE.append(f"run {_name}")
    WORKLOADS[SPARSE[-1]] = sparse_workload(_call, "BCOO", (SIZE,))
