"""Collectives: operations of all devices, or examples, along named axes."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily
from ricci_parallel._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from ._all_reduce import *
    from ._axis_index import *
    from ._casts import *
    from ._exchange import *
    from ._gathering import *
    from ._permutation import *
    from ._ragged import *
    from ._reductions import *
    from ._send_receive import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES, within=True)
