"""Workloads of `bench.py` on eight devices."""

from types import ModuleType
from typing import Any

import numpy as np
from bench_workloads import best, workload

LEAVES = 51
STEP = f"jitted call over 8 devices, {LEAVES} sharded leaves"
MAPPED = "pmapped call over 8 devices, 1 leaf"
MAPPED_TREE = f"pmapped call over 8 devices, {LEAVES} leaves"
FLAGS = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
DISPATCH = (STEP, MAPPED, MAPPED_TREE)


def divided(api: ModuleType) -> dict[str, Any]:
    """A tree of arrays, each divided over eight devices."""
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
