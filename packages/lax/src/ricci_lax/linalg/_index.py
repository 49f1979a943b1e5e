"""By module, the public names of this package, which are imported at their first use.

Written by `tools/name_index.py` from the modules' `__all__`.
"""

# fmt: off
MODULES = {
    "ricci_lax.linalg._cholesky": (
        "cholesky cholesky_p cholesky_update cholesky_update_p symmetric_product "
        "symmetric_product_p"
    ),
    "ricci_lax.linalg._eig": "EigImplementation eig eig_p",
    "ricci_lax.linalg._eigh": "EighImplementation eigh eigh_p",
    "ricci_lax.linalg._householder": "householder_product householder_product_p ormqr ormqr_p",
    "ricci_lax.linalg._lu": "lu lu_p lu_pivots_to_permutation lu_pivots_to_permutation_p",
    "ricci_lax.linalg._polar": "qdwh",
    "ricci_lax.linalg._qr": "qr qr_p",
    "ricci_lax.linalg._schur": "hessenberg hessenberg_p schur schur_p",
    "ricci_lax.linalg._svd": "SvdAlgorithm svd svd_p",
    "ricci_lax.linalg._triangular_solve": "triangular_solve triangular_solve_p",
    "ricci_lax.linalg._tridiagonal": (
        "tridiagonal tridiagonal_p tridiagonal_solve tridiagonal_solve_p"
    ),
}
