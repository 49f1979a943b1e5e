"""``custom_partitioning``: operations that a user's function partitions over devices."""

from ricci_ir import export_names as _export_names

from ._custom_partitioning import *
from ._rule import *

_export_names(globals())
