"""Sparse arrays. See ``ricci_sparse``; further names are in the modules inside."""

import typing as _typing

from ricci_ir import guard_public as _guard_public
from ricci_ir import lazy_names as _lazy_names
from ricci_sparse import *

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

_guard_public(globals())

_MODULES = "ad api bcoo bcsr coo csr linalg random transform util".split()
if not _typing.TYPE_CHECKING:  # it would tell checkers that every name is there
    __getattr__, __dir__ = _lazy_names(globals(), {name: f".{name}" for name in _MODULES})
