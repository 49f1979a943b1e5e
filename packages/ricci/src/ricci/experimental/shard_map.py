"""Running a function on each device's part of the arguments."""

from ricci_ir import export_names as _export_names
from ricci_parallel import shard_map as shard_map

_export_names(globals())
