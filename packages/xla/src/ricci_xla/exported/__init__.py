"""Exported functions: lowering, files, and execution without tracing.

``load`` needs only jaxlib and this package. The room is imported when it is first used.
"""

from ricci_ir import export_names as _export_names

from ._functions import *
from ._jax_file import *
from ._load import *
from ._lowering import *
from ._module_text import *
from ._records import *

_export_names(globals())
