"""Traced functions as files, which other programs and machines can call."""

from ricci_export import DisabledSafetyCheck as DisabledSafetyCheck
from ricci_export import Exported as Exported
from ricci_export import default_export_platform as default_export_platform
from ricci_export import deserialize as deserialize
from ricci_export import export as export
from ricci_export import (
    maximum_supported_calling_convention_version as maximum_supported_calling_convention_version,
)
from ricci_export import (
    minimum_supported_calling_convention_version as minimum_supported_calling_convention_version,
)
from ricci_export import register_namedtuple_serialization as register_namedtuple_serialization
from ricci_export import register_pytree_node_serialization as register_pytree_node_serialization
from ricci_ir import SymbolicScope as SymbolicScope
from ricci_ir import guard_public as _guard_public
from ricci_ir import is_symbolic_dim as is_symbolic_dim
from ricci_ir import symbolic_args_specs as symbolic_args_specs
from ricci_ir import symbolic_dim_bounds as symbolic_dim_bounds
from ricci_ir import symbolic_shape as symbolic_shape

_guard_public(globals())
