"""Flattening of calls, for interpreters written outside of Ricci."""

from ricci_compat.api_util import argnums_partial as argnums_partial
from ricci_compat.api_util import debug_info as debug_info
from ricci_compat.api_util import donation_vector as donation_vector
from ricci_compat.api_util import rebase_donate_argnums as rebase_donate_argnums
from ricci_compat.api_util import safe_map as safe_map
from ricci_compat.linear_util import flatten_fun as flatten_fun
from ricci_compat.linear_util import flatten_fun_nokwargs as flatten_fun_nokwargs
from ricci_ir import argument_aval as _argument_aval
from ricci_ir import guard_public as _guard_public
from ricci_pytree import flatten_axes as flatten_axes

shaped_abstractify = _argument_aval

_guard_public(globals())
