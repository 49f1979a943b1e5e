"""Runtime interfaces for libraries written for JAX, loaded at their first use.

HLO module transformations during compilation, the mesh of the current ``with`` block, and handlers
that convert an executable's buffers to arrays.
"""

from ricci_ir import export_names as _export_names

from .compile._module_transformations import PipelineStage as PipelineStage
from .compile._module_transformations import (
    clear_hlo_module_transformation as clear_hlo_module_transformation,
)
from .compile._module_transformations import (
    register_hlo_module_transformation as register_hlo_module_transformation,
)
from .compile._results_handler import ResultsHandler as ResultsHandler
from .compile._results_handler import (
    global_avals_to_results_handler as global_avals_to_results_handler,
)
from .meshes._thread_resources import ResourceEnv as ResourceEnv
from .meshes._thread_resources import thread_resources as thread_resources

_export_names(globals())
