"""What programs that extend Ricci build on."""

from ricci_ir import lazy_names

from . import core as core
from . import linear_util as linear_util

__all__ = ["core", "linear_util"]

__getattr__, __dir__ = lazy_names(
    globals(),
    {name: f".{name}" for name in ("backend", "random", "source_info_util")},
)
