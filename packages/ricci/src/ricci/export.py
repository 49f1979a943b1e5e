"""Traced functions as files, which other programs and machines can call."""

from ricci_export import *
from ricci_ir import SymbolicScope as SymbolicScope
from ricci_ir import guard_public as _guard_public
from ricci_ir import is_symbolic_dim as is_symbolic_dim
from ricci_ir import symbolic_args_specs as symbolic_args_specs
from ricci_ir import symbolic_dim_bounds as symbolic_dim_bounds
from ricci_ir import symbolic_shape as symbolic_shape

_guard_public(globals())
