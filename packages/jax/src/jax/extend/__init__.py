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
    from . import random as random
    from . import sharding as sharding
    from . import source_info_util as source_info_util
else:
    import jax.extend.core as core
    import jax.extend.linear_util as linear_util

_export_names(globals(), "core", "linear_util")

if not _typing.TYPE_CHECKING:
    __getattr__, __dir__ = _lazy_names(
        globals(),
        {
            "backend": ".backend",
            "random": ".random",
            "sharding": ".sharding",
            "source_info_util": ".source_info_util",
        },
    )
