"""``shard_map``: run a function on each device's shards of the arguments."""

from ricci_ir import guard_public as _guard_public
from ricci_parallel import experimental_shard_map as shard_map

_guard_public(globals())
