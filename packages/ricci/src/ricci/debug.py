"""Debugging of running programs. See ``ricci_lax`` and ``ricci_parallel``."""

from ricci_ir import cache_sizes as caches
from ricci_ir import guard_public as _guard_public
from ricci_lax import DebugEffect as DebugEffect
from ricci_lax import OrderedDebugEffect as OrderedDebugEffect
from ricci_lax import find_nan as find_nan
from ricci_parallel import inspect_array_sharding as inspect_array_sharding
from ricci_parallel import visualize_array_sharding as visualize_array_sharding
from ricci_parallel import visualize_sharding as visualize_sharding

from .lax import debug_breakpoint as _debug_breakpoint
from .lax import debug_callback as _debug_callback
from .lax import debug_log as _debug_log
from .lax import debug_print as _debug_print

breakpoint = _debug_breakpoint
callback = _debug_callback
log = _debug_log
print = _debug_print

_guard_public(globals())
