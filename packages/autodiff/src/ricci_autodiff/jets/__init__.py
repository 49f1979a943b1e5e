"""Propagation of truncated power series (jets) through functions. Imported at its first use."""

from ricci_ir import export_names as _export_names

from ._coefficient_rules import *
from ._series import *
from ._trace import *

_export_names(globals())
