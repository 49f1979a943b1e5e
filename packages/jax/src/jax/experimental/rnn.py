"""The names of ``ricci.experimental.rnn``.

Written by tools/drop_in.py.
"""

from ricci.experimental.rnn import *
from ricci_ir import export_names as _export_names

_export_names(globals())
