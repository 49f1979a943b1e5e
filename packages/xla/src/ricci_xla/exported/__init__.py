"""Exported functions: lowering, files, and execution without tracing.

``load`` needs only jaxlib and this package. The room is imported when it is first used.
"""

from ricci_ir import export_names as _export_names

from ._functions import *
from ._jax_trees import *
from ._load import *
from ._lowering import *
from ._names import *
from ._portable import *
from ._reading import *
from ._records import *
from ._sizes import *

_export_names(globals())
