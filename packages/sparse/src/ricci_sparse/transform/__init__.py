"""``sparsify`` and the rules by which it applies operations to sparse arrays."""

from ricci_ir import export_names as _export_names

from . import _control_flow as _control_flow
from . import _operations as _operations
from ._sparsify import *
from ._values import *

_export_names(globals())
