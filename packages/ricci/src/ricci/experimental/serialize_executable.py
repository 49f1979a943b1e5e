"""Compiled functions as bytes, which another process loads without compiling."""

from ricci_ir import export_names as _export_names
from ricci_xla.serialized import deserialize_and_load as deserialize_and_load
from ricci_xla.serialized import serialize as serialize

_export_names(globals())
