"""Interfaces for libraries that extend Ricci."""

import typing as _typing

from ricci_ir import export_names as _export_names
from ricci_ir import lazy_names as _lazy_names

from . import core as core
from . import linear_util as linear_util

if _typing.TYPE_CHECKING:
    from . import backend as backend
    from . import lowering as lowering
    from . import mlir as mlir
    from . import pallas as pallas
    from . import random as random
    from . import sharding as sharding
    from . import source_info_util as source_info_util
    from . import xla as xla

_export_names(globals(), "core", "linear_util")

if not _typing.TYPE_CHECKING:  # it would tell checkers that every name is there
    __getattr__, __dir__ = _lazy_names(
        globals(),
        {
            name: f".{name}"
            for name in "backend lowering mlir pallas random sharding source_info_util xla".split()
        },
    )
