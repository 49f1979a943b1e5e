"""Running a function on each device's part of the arguments."""

from ricci_parallel import shard_map as shard_map

__all__ = [
    "shard_map",
]
