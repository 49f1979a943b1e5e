"""The names of ``ricci.nn``.

Written by tools/drop_in.py.
"""

from ricci.nn import *
from ricci_ir import export_names as _export_names

# isort: split
import jax.nn.initializers as initializers

_export_names(globals(), "initializers")
