"""The stages that ``jit`` goes through."""

import typing as _typing

from ricci._absent import or_advise as _or_advise
from ricci_ir import guard_lazily as _guard_lazily
from ricci_ir import guard_public as _guard_public
from ricci_xla import CompilerOptions as CompilerOptions
from ricci_xla import Wrapped as Wrapped

_guard_public(globals())

if _typing.TYPE_CHECKING:
    from ricci_xla import ArgInfo as ArgInfo
    from ricci_xla import Compiled as Compiled
    from ricci_xla import Lowered as Lowered
    from ricci_xla import Traced as Traced
else:
    _load, __dir__ = _guard_lazily(
        globals(), {"ricci_xla": "ArgInfo Compiled Lowered Traced".split()}
    )
    __getattr__ = _or_advise(__name__, _load)
