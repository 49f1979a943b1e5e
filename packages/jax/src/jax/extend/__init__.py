"""The names of ``ricci.extend``.

Written by tools/drop_in.py.
"""

import typing as _typing

from ricci.extend import *
from ricci_ir import export_names as _export_names
from ricci_ir import lazy_names as _lazy_names

# isort: split
if _typing.TYPE_CHECKING:
    from . import backend as backend
    from . import core as core
    from . import linear_util as linear_util
    from . import lowering as lowering
    from . import mlir as mlir
    from . import pallas as pallas
    from . import random as random
    from . import sharding as sharding
    from . import source_info_util as source_info_util
    from . import xla as xla
else:
    import jax.extend.core as core
    import jax.extend.linear_util as linear_util

_export_names(globals(), "core", "linear_util")

if not _typing.TYPE_CHECKING:
    __getattr__, __dir__ = _lazy_names(
        globals(),
        {
            "backend": ".backend",
            "lowering": ".lowering",
            "mlir": ".mlir",
            "pallas": ".pallas",
            "random": ".random",
            "sharding": ".sharding",
            "source_info_util": ".source_info_util",
            "xla": ".xla",
        },
    )
