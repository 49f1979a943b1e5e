"""The entry points: ``jit`` with its stages, and the backend that runs single operations."""

from ._eager import *
from ._inner_shardings import *
from ._jit import *
from ._located import *
from ._memory_errors import *
from ._pjit import *
from ._stages import *
from ._trace_call import *
