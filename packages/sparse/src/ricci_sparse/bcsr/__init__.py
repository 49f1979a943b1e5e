"""BCSR arrays: batched compressed sparse rows."""

from ricci_ir import export_names as _export_names

from ._array import *
from ._functions import *
from ._layout import *

_export_names(globals())
