"""Derivatives with respect to sparse arrays."""

from ricci_ir import guard_public as _guard_public
from ricci_sparse.ad import flatten_fun_for_sparse_ad as flatten_fun_for_sparse_ad
from ricci_sparse.ad import grad as grad
from ricci_sparse.ad import is_sparse as is_sparse
from ricci_sparse.ad import jacfwd as jacfwd
from ricci_sparse.ad import jacobian as jacobian
from ricci_sparse.ad import jacrev as jacrev
from ricci_sparse.ad import value_and_grad as value_and_grad

_guard_public(globals())
