"""A linter of traced functions: ``check(f)(*args)`` reports problems before ``f`` runs."""

from ricci_ir import export_names as _export_names

from ._check import *
from ._positions import *
from ._report import *
from ._rules import *

_export_names(globals())
