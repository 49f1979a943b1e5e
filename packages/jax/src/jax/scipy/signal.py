"""The names of ``ricci.scipy.signal``.

Written by tools/drop_in.py.
"""

from ricci.scipy.signal import *
from ricci_ir import export_names as _export_names

_export_names(globals())
