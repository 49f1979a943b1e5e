"""The names of ``ricci.ad_checkpoint``.

Written by tools/drop_in.py.
"""

from ricci.ad_checkpoint import *
from ricci_ir import export_names as _export_names

_export_names(globals(), "checkpoint_policies")
