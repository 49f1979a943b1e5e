"""The names of ``ricci.lax``.

Written by tools/drop_in.py.
"""

from ricci.lax import *
from ricci_ir import export_names as _export_names

# isort: split
import jax.lax.linalg as linalg

_export_names(globals(), "linalg")
