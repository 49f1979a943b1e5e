"""Exporting functions, their files, and loading them, on either side."""

import importlib
from types import ModuleType
from typing import Any

from bench_workloads import best, mlp, program, small, workload

EXPORT = "export 1,000 equations"
EXPORT_MLP = "export the gradient of a 3-layer MLP"
WRITE = "write an exported MLP with its derivative"
READ = "read an exported MLP with its derivative"


def exported(api: ModuleType) -> Any:
    """A jitted loss and gradient, exported, of parameters that are arguments."""
    loss, *args = mlp(api)
    export = importlib.import_module(f"{api.__name__}.export").export
    return export(api.jit(loss))(*args)


@workload(EXPORT)
def export_program(api: ModuleType) -> float:
    x = small(api)
    export = importlib.import_module(f"{api.__name__}.export").export
    return best(lambda: export(api.jit(program(api, 1_000)))(x), 4)


@workload(EXPORT_MLP)
def export_gradient(api: ModuleType) -> float:
    loss, *args = mlp(api)
    export = importlib.import_module(f"{api.__name__}.export").export
    # A new function each time: neither side may answer from a cache.
    fresh = lambda: api.jit(api.value_and_grad(lambda *xs: loss(*xs)))
    return best(lambda: export(fresh())(*args), 5)


@workload(WRITE)
def write_export(api: ModuleType) -> float:
    function = exported(api)
    function.vjp()  # made once, and kept
    return best(lambda: function.serialize(vjp_order=1), 5, number=5)


@workload(READ)
def read_export(api: ModuleType) -> float:
    data = exported(api).serialize(vjp_order=1)
    deserialize = importlib.import_module(f"{api.__name__}.export").deserialize
    return best(lambda: deserialize(data), 5, number=10)
