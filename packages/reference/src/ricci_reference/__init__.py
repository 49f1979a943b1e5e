"""A second backend, which evaluates every primitive with NumPy and needs no compiler.

Importing this package installs its backend if no other is installed yet.
``ricci_ir.use_backend(reference_backend)`` switches to it inside a ``with`` block.
"""

from ricci_ir import export_names as _export_names
from ricci_ir import has_backend as _has_backend
from ricci_ir import set_backend as _set_backend

from ._array import *
from ._backend import ReferenceBackend as ReferenceBackend
from ._backend import reference_backend as reference_backend
from ._rules import *

if not _has_backend():
    _set_backend(reference_backend)

_export_names(globals())
