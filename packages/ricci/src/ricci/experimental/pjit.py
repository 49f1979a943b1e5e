"""``jit`` under its earlier name."""

from ricci_xla import jit as pjit

__all__ = [
    "pjit",
]
