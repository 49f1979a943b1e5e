"""The names of ``ricci.example_libraries``.

Written by tools/drop_in.py.
"""

from ricci.example_libraries import *
from ricci_ir import export_names as _export_names

_export_names(globals())
