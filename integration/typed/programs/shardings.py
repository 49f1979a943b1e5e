"""Shardings and devices: their attributes have types."""

import numpy as onp

import ricci
from ricci.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding


def mesh_of_one() -> Mesh:
    return Mesh(onp.array(ricci.devices()[:1]), ("x",))


def kinds(sharding: NamedSharding) -> set[str]:
    return {device.device_kind for device in sharding.device_set}


def part_of(sharding: NamedSharding, shape: tuple[int, ...]) -> tuple[int, ...]:
    by_rows: NamedSharding = sharding.update(spec=("x",))
    return by_rows.shard_shape(shape)


def is_whole(sharding: NamedSharding) -> bool:
    alone = SingleDeviceSharding(ricci.devices("cpu")[0])
    return sharding.is_fully_replicated or sharding.is_equivalent_to(alone, 2)


def main() -> None:
    columns = NamedSharding(mesh_of_one(), PartitionSpec(None, "x"))
    print(len(kinds(columns)), part_of(columns, (8, 4)), is_whole(columns))
