"""Hooks into XLA's compilation."""

from ricci_ir import guard_public as _guard_public
from ricci_xla.extension import PipelineStage as PipelineStage
from ricci_xla.extension import clear_hlo_module_transformation as clear_hlo_module_transformation
from ricci_xla.extension import (
    register_hlo_module_transformation as register_hlo_module_transformation,
)

_guard_public(globals())
