"""Moving elements: repeating, rolling, padding, inserting, flattening, packing bits."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily
from ricci_numpy._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ._along_axes import *
    from ._inserting import *
    from ._moving import *
    from ._packed_bits import *
    from ._padding import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES, within=True)
