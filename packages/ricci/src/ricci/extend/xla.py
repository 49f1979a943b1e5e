"""Hooks into XLA's compilation."""

from ricci_compat.hlo_transformations import PipelineStage as PipelineStage
from ricci_compat.hlo_transformations import (
    clear_hlo_module_transformation as clear_hlo_module_transformation,
)
from ricci_compat.hlo_transformations import (
    register_hlo_module_transformation as register_hlo_module_transformation,
)
from ricci_ir import guard_public as _guard_public

_guard_public(globals())
