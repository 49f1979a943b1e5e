"""Evaluation of functions operation by operation, for ``find_nan`` and ``precision``."""

from ricci_ir import export_names as _export_names

from ._interpreter import *

_export_names(globals())
