"""Workloads of `bench.py` on eight devices."""

from types import ModuleType
from typing import Any

import numpy as np
from bench_workloads import best, workload

LEAVES = 51
STEP = f"jitted call over 8 devices, {LEAVES} sharded leaves"
MAPPED = "pmapped call over 8 devices, 1 leaf"
MAPPED_TREE = f"pmapped call over 8 devices, {LEAVES} leaves"
PUT_HOST = "device_put of 100 NumPy arrays over 8 devices"
PUT_DEVICE = "device_put of 100 arrays on a device over 8 devices"
PUT_AGAIN = "device_put of 100 divided arrays, to other axes"
PUT_TREE = "device_put of 100 arrays, to 100 shardings"
FLAGS = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
DISPATCH = (STEP, MAPPED, MAPPED_TREE, PUT_HOST, PUT_DEVICE, PUT_AGAIN, PUT_TREE)


def divided(api: ModuleType) -> dict[str, Any]:
    """A tree of arrays, each sharded over eight devices."""
    mesh = api.sharding.Mesh(np.array(api.devices()[:8]), "x")
    sharding = api.sharding.NamedSharding(mesh, api.sharding.PartitionSpec("x"))
    leaf = np.ones(8, np.float32)
    return {f"leaf{i}": api.device_put(leaf, sharding) for i in range(LEAVES)}


def add_one(api: ModuleType, tree: Any) -> Any:
    return api.tree.map(lambda leaf: leaf + 1, tree)


@workload(STEP)
def jitted_step(api: ModuleType) -> float:
    tree = divided(api)
    step = api.jit(lambda tree: add_one(api, tree))
    return best(lambda: api.block_until_ready(step(tree)), 20, 20, 20)


@workload(MAPPED)
def mapped_leaf(api: ModuleType) -> float:
    mapped = api.pmap(lambda leaf: leaf + 1)
    leaf = mapped(np.ones(8, np.float32))
    return best(lambda: api.block_until_ready(mapped(leaf)), 20, 100, 50)


@workload(MAPPED_TREE)
def mapped_tree(api: ModuleType) -> float:
    mapped = api.pmap(lambda tree: add_one(api, tree))
    tree = mapped(divided(api))
    return best(lambda: api.block_until_ready(mapped(tree)), 20, 20, 20)


def put(api: ModuleType, tree: dict[str, Any], places: Any) -> float:
    return best(lambda: api.block_until_ready(api.device_put(tree, places)), 3, 5, 20)


def halves(api: ModuleType, *spec: str | None) -> Any:
    mesh = api.sharding.Mesh(np.array(api.devices()[:8]).reshape(4, 2), ("x", "y"))
    return api.sharding.NamedSharding(mesh, api.sharding.PartitionSpec(*spec))


def hundred() -> dict[str, Any]:
    return {f"leaf{i}": np.ones((64, 64), np.float32) for i in range(100)}


@workload(PUT_HOST)
def put_from_host(api: ModuleType) -> float:
    return put(api, hundred(), halves(api, "x", "y"))


@workload(PUT_DEVICE)
def put_from_device(api: ModuleType) -> float:
    return put(api, api.device_put(hundred(), api.devices()[0]), halves(api, "x"))


@workload(PUT_AGAIN)
def put_divided(api: ModuleType) -> float:
    return put(api, api.device_put(hundred(), halves(api, "x")), halves(api, None, "x"))


@workload(PUT_TREE)
def put_by_tree(api: ModuleType) -> float:
    tree = hundred()
    places = {name: halves(api, "x" if i % 2 else "y") for i, name in enumerate(tree)}
    return put(api, tree, places)
