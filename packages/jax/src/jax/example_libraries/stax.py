"""The names of ``ricci.example_libraries.stax``.

Written by tools/drop_in.py.
"""

from ricci.example_libraries.stax import *
from ricci_ir import export_names as _export_names

_export_names(globals())
