"""Automatic differentiation: jvp, linearize, transposition, vjp and grad of functions of arrays."""

from ricci_ir import export_names as _export_names

from ._api import *
from ._grad import *
from ._jet_kinds import *
from ._jvp import *
from ._linearize import *
from ._logs import *
from ._partial_eval import *
from ._references import *
from ._rules import *
from ._split_rules import *
from ._tangent import *
from ._transpose import *

_export_names(globals())
