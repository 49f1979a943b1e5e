"""The stages that ``jit`` goes through."""

from ricci_xla import ArgInfo as ArgInfo
from ricci_xla import Compiled as Compiled
from ricci_xla import Lowered as Lowered
from ricci_xla import Traced as Traced

__all__ = [
    "ArgInfo",
    "Compiled",
    "Lowered",
    "Traced",
]
