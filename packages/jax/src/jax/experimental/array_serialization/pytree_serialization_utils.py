"""The names of ``ricci.experimental.array_serialization.pytree_serialization_utils``.

Written by tools/drop_in.py.
"""

from ricci.experimental.array_serialization.pytree_serialization_utils import *
from ricci_ir import export_names as _export_names

_export_names(globals())
