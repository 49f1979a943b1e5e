"""Operations that a user's function partitions over devices. See ``ricci_parallel``."""

from ricci_ir import guard_public as _guard_public
from ricci_parallel.partitioning import BATCHING as BATCHING
from ricci_parallel.partitioning import ArrayMapping as ArrayMapping
from ricci_parallel.partitioning import CompoundFactor as CompoundFactor
from ricci_parallel.partitioning import SdyShardingRule as SdyShardingRule
from ricci_parallel.partitioning import custom_partitioning as custom_partitioning
from ricci_parallel.partitioning import custom_partitioning_p as custom_partitioning_p

_guard_public(globals())
