"""Batching: apply a function of one example to a whole batch at once."""

from ricci_ir import export_names as _export_names

from ._mapped_axes import *
from ._rules import *
from ._trace import *
from ._vmap import *
from ._vmappable import *

_export_names(globals())
