"""StableHLO: lower jaxprs to its text, and write operations in lowering rules."""

from ricci_ir import export_names as _export_names

from ._attributes import *
from ._callbacks import *
from ._dimensions import *
from ._function_rules import *
from ._host_checks import *
from ._kernel_descriptors import *
from ._locations import *
from ._lower_jaxpr import *
from ._lowering import *
from ._manual_axes import *
from ._module import *
from ._native_kernels import *
from ._operations import *
from ._ordering import *
from ._partitioned_calls import *
from ._types import *
from ._values import *

_export_names(globals())
