"""Linear algebra: the API of ``jax.scipy.linalg``."""

from ._factors import cholesky as cholesky
from ._factors import eigh as eigh
from ._factors import hessenberg as hessenberg
from ._factors import lu as lu
from ._factors import polar as polar
from ._factors import qr as qr
from ._factors import rsf2csf as rsf2csf
from ._factors import schur as schur
from ._factors import svd as svd
from ._matrix_functions import expm as expm
from ._matrix_functions import expm_frechet as expm_frechet
from ._matrix_functions import funm as funm
from ._matrix_functions import sqrtm as sqrtm
from ._special_matrices import block_diag as block_diag
from ._special_matrices import circulant as circulant
from ._special_matrices import companion as companion
from ._special_matrices import convolution_matrix as convolution_matrix
from ._special_matrices import dft as dft
from ._special_matrices import fiedler as fiedler
from ._special_matrices import fiedler_companion as fiedler_companion
from ._special_matrices import hadamard as hadamard
from ._special_matrices import hankel as hankel
from ._special_matrices import helmert as helmert
from ._special_matrices import hilbert as hilbert
from ._special_matrices import invhilbert as invhilbert
from ._special_matrices import invpascal as invpascal
from ._special_matrices import leslie as leslie
from ._special_matrices import pascal as pascal
from ._special_matrices import toeplitz as toeplitz
from ._sylvester import qr_multiply as qr_multiply
from ._sylvester import solve_sylvester as solve_sylvester
from ._systems import cho_factor as cho_factor
from ._systems import cho_solve as cho_solve
from ._systems import det as det
from ._systems import inv as inv
from ._systems import lu_factor as lu_factor
from ._systems import lu_solve as lu_solve
from ._systems import solve as solve
from ._systems import solve_triangular as solve_triangular
from ._tridiagonal import eigh_tridiagonal as eigh_tridiagonal

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "circulant",
    "companion",
    "convolution_matrix",
    "det",
    "dft",
    "eigh",
    "eigh_tridiagonal",
    "expm",
    "expm_frechet",
    "fiedler",
    "fiedler_companion",
    "funm",
    "hadamard",
    "hankel",
    "helmert",
    "hessenberg",
    "hilbert",
    "inv",
    "invhilbert",
    "invpascal",
    "leslie",
    "lu",
    "lu_factor",
    "lu_solve",
    "pascal",
    "polar",
    "qr",
    "qr_multiply",
    "rsf2csf",
    "schur",
    "solve",
    "solve_sylvester",
    "solve_triangular",
    "sqrtm",
    "svd",
    "toeplitz",
]
