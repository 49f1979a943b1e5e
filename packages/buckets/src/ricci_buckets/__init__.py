"""``bucketed``: compile functions of varying array sizes for a few padded sizes only."""

from ricci_ir import export_names as _export_names

from ._bucketed import *
from ._extents import *
from ._interpreter import *

_export_names(globals())
