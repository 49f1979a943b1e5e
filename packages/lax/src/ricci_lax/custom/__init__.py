"""Functions with rules of their own: ``custom_jvp``, ``custom_vjp``, ``custom_vmap``."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily
from ricci_lax._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ._accumulators import *
    from ._gradient import *
    from ._jvp import *
    from ._linear_call import *
    from ._vjp import *
    from ._vjp_primitives import *
    from ._vjp_rules import *
    from ._vmap import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES, within=True)
