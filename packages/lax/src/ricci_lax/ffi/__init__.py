"""Calls of compiled functions that are registered with XLA by their name.

Imported when it is first used, since few programs need it.
"""

from ricci_ir import export_names as _export_names

from ._ffi_call import *

_export_names(globals())
