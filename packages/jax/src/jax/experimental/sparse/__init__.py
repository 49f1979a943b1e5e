"""The names of ``ricci.experimental.sparse``.

Written by tools/drop_in.py.
"""

import typing as _typing

from ricci.experimental.sparse import *
from ricci_ir import export_names as _export_names
from ricci_ir import lazy_names as _lazy_names

# isort: split
if _typing.TYPE_CHECKING:
    from . import ad as ad
    from . import api as api
    from . import bcoo as bcoo
    from . import bcsr as bcsr
    from . import coo as coo
    from . import csr as csr
    from . import linalg as linalg
    from . import random as random
    from . import transform as transform
    from . import util as util

_export_names(globals())

if not _typing.TYPE_CHECKING:
    __getattr__, __dir__ = _lazy_names(
        globals(),
        {
            "ad": ".ad",
            "api": ".api",
            "bcoo": ".bcoo",
            "bcsr": ".bcsr",
            "coo": ".coo",
            "csr": ".csr",
            "linalg": ".linalg",
            "random": ".random",
            "transform": ".transform",
            "util": ".util",
        },
    )
