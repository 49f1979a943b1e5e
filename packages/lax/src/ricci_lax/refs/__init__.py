"""References: mutable arrays, which programs read and write."""

from ricci_ir import export_names as _export_names

from ._functions import *
from ._primitives import *

_export_names(globals())
