"""Types for annotations: plain unions of classes, as tools that inspect annotations expect."""

import typing as _typing

from ricci_ir import ArrayLike as ArrayLike
from ricci_ir import DTypeLike as DTypeLike
from ricci_ir import export_names as _export_names

if not _typing.TYPE_CHECKING:
    ArrayLike, DTypeLike = ArrayLike.union, DTypeLike.union

_export_names(globals())
