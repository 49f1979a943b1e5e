"""The names of ``ricci.experimental.array_serialization.tensorstore_impl``.

Written by tools/drop_in.py.
"""

from ricci.experimental.array_serialization.tensorstore_impl import *
from ricci.experimental.array_serialization.tensorstore_impl import __dir__ as __dir__  # pyright: ignore
from ricci.experimental.array_serialization.tensorstore_impl import __getattr__ as __getattr__  # pyright: ignore
from ricci_ir import export_names as _export_names

_export_names(globals())
