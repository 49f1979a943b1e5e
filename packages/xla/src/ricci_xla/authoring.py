"""Tools for packages that build on the runtime: jaxlib's modules and hooks of the compiler.

Users who only call functions do not need these names, so they are not exported by ``ricci_xla``.
"""

from .compile._compiler import module_transformations as module_transformations
from .compile._executable import result_handler as result_handler
from .devices._jaxlib import load_mlir as load_mlir
from .devices._jaxlib import runtime as runtime
