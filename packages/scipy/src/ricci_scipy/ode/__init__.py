"""Ordinary differential equations. Imported when first used."""

from ricci_ir import export_names as _export_names

from ._dormand_prince import *
from ._odeint import *

_export_names(globals())
