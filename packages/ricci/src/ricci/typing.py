"""Types for annotations."""

from ricci_ir import ArrayLike as ArrayLike
from ricci_ir import DTypeLike as DTypeLike

__all__ = [
    "ArrayLike",
    "DTypeLike",
]
