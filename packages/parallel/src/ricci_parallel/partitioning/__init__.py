"""``custom_partitioning``: operations that a user's function partitions over devices."""

from ._custom_partitioning import custom_partitioning as custom_partitioning
from ._custom_partitioning import custom_partitioning_p as custom_partitioning_p
from ._mappings import BATCHING as BATCHING
from ._mappings import ArrayMapping as ArrayMapping
from ._mappings import CompoundFactor as CompoundFactor
from ._rule import SdyShardingRule as SdyShardingRule

__all__ = [
    "BATCHING",
    "ArrayMapping",
    "CompoundFactor",
    "SdyShardingRule",
    "custom_partitioning",
    "custom_partitioning_p",
]
