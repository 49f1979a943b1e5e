"""What users tell the compiler of operations and of whole functions, beyond their meaning."""

from ricci_ir import export_names as _export_names

from ._annotated_call import *
from ._xla_metadata import *

_export_names(globals())
