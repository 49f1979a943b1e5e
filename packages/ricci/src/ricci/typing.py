"""Types for annotations."""

from ricci_ir import ArrayLike as ArrayLike
from ricci_ir import DTypeLike as DTypeLike
from ricci_ir import export_names as _export_names

_export_names(globals())
