"""Samplers: functions of a key and a distribution's parameters that return random numbers."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily
from ricci_random._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ._binomial import *
    from ._choices import *
    from ._gamma import *
    from ._gamma_family import *
    from ._inversion import *
    from ._normal import *
    from ._poisson import *
    from ._uniform import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES, within=True)
