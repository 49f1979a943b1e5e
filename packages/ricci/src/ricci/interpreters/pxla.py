"""Programs over several devices: the mesh that is entered, and making arrays of results."""

from ricci_ir import guard_public as _guard_public
from ricci_xla import Lowered as _Lowered
from ricci_xla.extension import (
    global_avals_to_results_handler as global_avals_to_results_handler,
)
from ricci_xla.extension import thread_resources as thread_resources

MeshComputation = _Lowered  # a program that is lowered and can be compiled

_guard_public(globals(), classes=False)
