"""The names of ``ricci.scipy.cluster.vq``.

Written by tools/drop_in.py.
"""

from ricci.scipy.cluster.vq import *
from ricci_ir import export_names as _export_names

_export_names(globals())
