"""StableHLO: lower jaxprs to its text, and write operations in lowering rules."""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily

from ._attributes import *
from ._dimensions import *
from ._host_checks import *
from ._huge_pages import *
from ._index import MODULES as _MODULES
from ._kernel_descriptors import *
from ._locations import *
from ._lower_jaxpr import *
from ._lowering import *
from ._module import *
from ._native_kernels import *
from ._operations import *
from ._ordering import *
from ._partitioned_calls import *
from ._types import *
from ._values import *

if _typing.TYPE_CHECKING:
    from ._callbacks import *
    from ._expansions import *
    from ._function_rules import *
    from ._manual_axes import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES)
