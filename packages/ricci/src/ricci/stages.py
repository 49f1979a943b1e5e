"""The stages that ``jit`` goes through."""

from ricci_ir import export_names as _export_names
from ricci_xla import ArgInfo as ArgInfo
from ricci_xla import Compiled as Compiled
from ricci_xla import CompilerOptions as CompilerOptions
from ricci_xla import Lowered as Lowered
from ricci_xla import Traced as Traced
from ricci_xla import Wrapped as Wrapped

_export_names(globals())
