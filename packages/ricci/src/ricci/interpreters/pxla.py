"""Programs over several devices: the mesh that is entered, and making arrays of results."""

from ricci._absent import or_advise as _or_advise
from ricci_compat.pxla import global_avals_to_results_handler as global_avals_to_results_handler
from ricci_compat.pxla import thread_resources as thread_resources
from ricci_ir import guard_public as _guard_public
from ricci_xla import Lowered as _Lowered

MeshComputation = _Lowered  # a program that is lowered and can be compiled

_guard_public(globals(), classes=False)
globals()["__getattr__"] = _or_advise(__name__)  # not seen by checkers, which know the names
