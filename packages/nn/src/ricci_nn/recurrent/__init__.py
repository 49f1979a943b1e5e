"""Recurrent layers. Imported when it is first used."""

from ricci_ir import export_names as _export_names

from ._lstm import *
from ._weights import *

_export_names(globals())
