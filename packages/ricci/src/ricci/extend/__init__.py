"""What programs that extend Ricci build on."""

from ricci_ir import export_names as _export_names
from ricci_ir import lazy_names as _lazy_names

from . import core as core
from . import linear_util as linear_util

_export_names(globals(), "core", "linear_util")

__getattr__, __dir__ = _lazy_names(
    globals(),
    {name: f".{name}" for name in ("backend", "random", "source_info_util")},
)
