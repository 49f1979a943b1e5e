"""The names of ``ricci.scipy.sparse``.

Written by tools/drop_in.py.
"""

from ricci.scipy.sparse import *
from ricci_ir import export_names as _export_names

# isort: split
import jax.scipy.sparse.linalg as linalg

_export_names(globals(), "linalg")
