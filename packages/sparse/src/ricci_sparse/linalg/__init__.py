"""Linear algebra with sparse matrices."""

from ricci_ir import export_names as _export_names

from ._lobpcg import *
from ._spsolve import *

_export_names(globals())
