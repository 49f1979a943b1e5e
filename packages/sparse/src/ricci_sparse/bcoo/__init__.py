"""BCOO arrays: batched coordinates."""

from ricci_ir import export_names as _export_names

from ._arithmetic import *
from ._array import *
from ._dimensions import *
from ._functions import *
from ._layout import *
from ._products import *
from ._slicing import *

_export_names(globals())
