"""Recurrent layers. Imported on first use."""

from ricci_ir import export_names as _export_names

from ._lstm import *
from ._lstm_weights import *

_export_names(globals())
