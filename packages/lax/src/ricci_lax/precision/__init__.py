"""``precision``: find the lines of a function that lose accuracy."""

from ricci_ir import export_names as _export_names

from ._precision import *
from ._report import *

_export_names(globals())
