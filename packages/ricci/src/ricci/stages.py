"""The stages that ``jit`` goes through."""

from ricci_ir import guard_public as _guard_public
from ricci_xla import ArgInfo as ArgInfo
from ricci_xla import Compiled as Compiled
from ricci_xla import CompilerOptions as CompilerOptions
from ricci_xla import Lowered as Lowered
from ricci_xla import Traced as Traced
from ricci_xla import Wrapped as Wrapped

_guard_public(globals())
