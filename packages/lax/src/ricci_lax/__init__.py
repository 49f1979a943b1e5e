"""Every primitive operation on arrays, with all its rules."""

import typing as _typing

# These declare the kinds of rules that every primitive gives.
import ricci_autodiff as _autodiff
import ricci_batching as _batching
import ricci_stablehlo as _stablehlo
from ricci_ir import export_lazily as _export_lazily

from . import _providers as _providers
from ._index import MODULES as _MODULES

if _typing.TYPE_CHECKING:
    from . import linalg as linalg
    from . import refs as refs
    from .annotations import *
    from .callbacks import *
    from .contractions import *
    from .control_flow import *
    from .custom import *
    from .derivatives import *
    from .effects import *
    from .elementwise import *
    from .hi import *
    from .nan import *
    from .random_bits import *
    from .reductions import *
    from .rules import *
    from .shapes import *
    from .special import *
    from .staged_calls import *
    from .structure import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES)
