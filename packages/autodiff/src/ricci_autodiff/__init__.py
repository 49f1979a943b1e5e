"""Automatic differentiation: jvp, linearize, transposition, vjp and grad of functions of arrays."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily

from ._grad import *
from ._index import MODULES as _MODULES
from ._jet_kinds import *
from ._jvp import *
from ._linearize import *
from ._logs import *
from ._partial_eval import *
from ._references import *
from ._rules import *
from ._tangent import *
from ._transpose import *

if _typing.TYPE_CHECKING:
    from ._api import *
    from ._split_rules import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES)
