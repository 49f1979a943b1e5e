"""Every rule of this package, in the table of the kind ``padding``."""

from ricci_lax.authoring import padding_rules
from ricci_lax.linalg import (
    cholesky_p,
    eig_p,
    eigh_p,
    householder_product_p,
    lu_p,
    qr_p,
    schur_p,
    svd_p,
    triangular_solve_p,
    tridiagonal_solve_p,
)

from ._contractions import contraction_rules, matrices
from ._control import control_rules
from ._indexing import indexing_rules
from ._moves import move_rules
from ._reductions import reduction_rules

_matrix_operations = (
    cholesky_p,
    eig_p,
    eigh_p,
    householder_product_p,
    lu_p,
    qr_p,
    schur_p,
    svd_p,
    triangular_solve_p,
    tridiagonal_solve_p,
)

for _table in (
    reduction_rules,
    move_rules,
    contraction_rules,
    indexing_rules,
    control_rules,
    dict.fromkeys(_matrix_operations, matrices),
):
    for _primitive, _rule in _table.items():
        padding_rules.define(_primitive, _rule)
