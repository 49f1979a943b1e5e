"""Sparse arrays, with the API of ``jax.experimental.sparse``."""

from ricci_ir import export_names as _export_names

from . import _methods as _methods
from ._api import *
from ._base import *
from .ad import grad as grad
from .ad import jacfwd as jacfwd
from .ad import jacobian as jacobian
from .ad import jacrev as jacrev
from .ad import value_and_grad as value_and_grad
from .bcoo import *
from .bcsr import *
from .coo import COO as COO
from .coo import coo_fromdense as coo_fromdense
from .coo import coo_fromdense_p as coo_fromdense_p
from .coo import coo_matmat as coo_matmat
from .coo import coo_matmat_p as coo_matmat_p
from .coo import coo_matvec as coo_matvec
from .coo import coo_matvec_p as coo_matvec_p
from .coo import coo_todense as coo_todense
from .coo import coo_todense_p as coo_todense_p
from .csr import *
from .layouts import CuSparseEfficiencyWarning as CuSparseEfficiencyWarning
from .layouts import SparseEfficiencyError as SparseEfficiencyError
from .layouts import SparseEfficiencyWarning as SparseEfficiencyWarning
from .transform import SparseTracer as SparseTracer
from .transform import sparsify as sparsify

_export_names(globals())
