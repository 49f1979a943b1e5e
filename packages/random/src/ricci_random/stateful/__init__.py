"""Generators that count their calls. Imported when it is first used."""

from ricci_ir import export_names as _export_names

from ._generator import *

_export_names(globals())
