"""References: mutable arrays."""

from ricci_ir import export_names as _export_names

from ._functions import *
from ._primitives import *

_export_names(globals())
