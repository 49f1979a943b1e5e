"""Compiled functions as bytes, for another process. The room is imported when it is first used."""

from ricci_ir import export_names as _export_names

from ._serialize import *

_export_names(globals())
