"""The tables and functions by which primitives from outside of Ricci get their rules."""

from ricci_ir import export_names as _export_names

from . import ad as ad
from . import batching as batching
from . import mlir as mlir
from . import partial_eval as partial_eval
from . import pxla as pxla
from . import xla as xla

_export_names(globals(), "ad", "batching", "mlir", "partial_eval", "pxla", "xla")
