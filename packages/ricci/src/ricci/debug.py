"""Looking into programs as they run. See ``ricci_lax`` and ``ricci_parallel``."""

from ricci_ir import cache_sizes as caches
from ricci_ir import guard_public as _guard_public
from ricci_lax import DebugEffect as DebugEffect
from ricci_lax import OrderedDebugEffect as OrderedDebugEffect
from ricci_lax import debug_breakpoint as breakpoint
from ricci_lax import debug_callback as callback
from ricci_lax import debug_log as log
from ricci_lax import debug_print as print
from ricci_lax import find_nan as find_nan
from ricci_parallel import inspect_array_sharding as inspect_array_sharding

_guard_public(globals())
