"""Linear algebra: factorisations, solvers and their derivatives, on batches of matrices."""

from ._cholesky import cholesky as cholesky
from ._cholesky import cholesky_p as cholesky_p
from ._cholesky import cholesky_update as cholesky_update
from ._cholesky import cholesky_update_p as cholesky_update_p
from ._cholesky import symmetric_product as symmetric_product
from ._cholesky import symmetric_product_p as symmetric_product_p
from ._eig import EigImplementation as EigImplementation
from ._eig import eig as eig
from ._eig import eig_p as eig_p
from ._eigh import EighImplementation as EighImplementation
from ._eigh import eigh as eigh
from ._eigh import eigh_p as eigh_p
from ._lu import lu as lu
from ._lu import lu_p as lu_p
from ._lu import lu_pivots_to_permutation as lu_pivots_to_permutation
from ._lu import lu_pivots_to_permutation_p as lu_pivots_to_permutation_p
from ._polar import qdwh as qdwh
from ._qr import geqp3_p as geqp3_p
from ._qr import geqrf_p as geqrf_p
from ._qr import householder_product as householder_product
from ._qr import householder_product_p as householder_product_p
from ._qr import ormqr as ormqr
from ._qr import ormqr_p as ormqr_p
from ._qr import qr as qr
from ._qr import qr_p as qr_p
from ._schur import hessenberg as hessenberg
from ._schur import hessenberg_p as hessenberg_p
from ._schur import schur as schur
from ._schur import schur_p as schur_p
from ._svd import SvdAlgorithm as SvdAlgorithm
from ._svd import svd as svd
from ._svd import svd_p as svd_p
from ._triangular_solve import triangular_solve as triangular_solve
from ._triangular_solve import triangular_solve_p as triangular_solve_p
from ._tridiagonal import tridiagonal as tridiagonal
from ._tridiagonal import tridiagonal_p as tridiagonal_p
from ._tridiagonal import tridiagonal_solve as tridiagonal_solve
from ._tridiagonal import tridiagonal_solve_p as tridiagonal_solve_p

__all__ = [
    "EigImplementation",
    "EighImplementation",
    "SvdAlgorithm",
    "cholesky",
    "cholesky_p",
    "cholesky_update",
    "cholesky_update_p",
    "eig",
    "eig_p",
    "eigh",
    "eigh_p",
    "hessenberg",
    "hessenberg_p",
    "householder_product",
    "householder_product_p",
    "lu",
    "lu_p",
    "lu_pivots_to_permutation",
    "lu_pivots_to_permutation_p",
    "ormqr",
    "ormqr_p",
    "qdwh",
    "qr",
    "qr_p",
    "schur",
    "schur_p",
    "svd",
    "svd_p",
    "symmetric_product",
    "symmetric_product_p",
    "triangular_solve",
    "triangular_solve_p",
    "tridiagonal",
    "tridiagonal_p",
    "tridiagonal_solve",
    "tridiagonal_solve_p",
]
