"""Exported functions: traced, lowered to portable StableHLO, and written to files."""

from ricci_ir import export_names as _export_names

from ._checks import *
from ._export import *
from ._exported import *
from ._nodes import *

_export_names(globals())
