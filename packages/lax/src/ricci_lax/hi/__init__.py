"""Operations on values that are made of several arrays."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily
from ricci_lax._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ._accumulators import *
    from ._batching import *
    from ._derived import *
    from ._lowering import *
    from ._parts import *
    from ._primitive import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES, within=True)
