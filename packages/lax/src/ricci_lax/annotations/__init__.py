"""XLA metadata and annotated calls: attributes that do not change results."""

from ricci_ir import export_names as _export_names

from ._xla_metadata import *

_export_names(globals())
