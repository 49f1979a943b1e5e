"""Calls of compiled functions that are registered with XLA by their name.

Imported on first use, since few programs need it.
"""

from ricci_ir import export_names as _export_names

from ._ffi_call import *

_export_names(globals())
