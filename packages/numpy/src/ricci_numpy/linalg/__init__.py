"""Linear algebra: the API of ``jax.numpy.linalg``."""

from ricci_numpy.shapes._transposing import matrix_transpose as matrix_transpose

from ._decompositions import cholesky as cholesky
from ._decompositions import eig as eig
from ._decompositions import eigh as eigh
from ._decompositions import eigvals as eigvals
from ._decompositions import eigvalsh as eigvalsh
from ._decompositions import qr as qr
from ._decompositions import svd as svd
from ._decompositions import svdvals as svdvals
from ._determinants import det as det
from ._determinants import slogdet as slogdet
from ._matrix_functions import cond as cond
from ._matrix_functions import cross as cross
from ._matrix_functions import diagonal as diagonal
from ._matrix_functions import matmul as matmul
from ._matrix_functions import matrix_power as matrix_power
from ._matrix_functions import matrix_rank as matrix_rank
from ._matrix_functions import multi_dot as multi_dot
from ._matrix_functions import outer as outer
from ._matrix_functions import tensordot as tensordot
from ._matrix_functions import trace as trace
from ._matrix_functions import vecdot as vecdot
from ._norms import matrix_norm as matrix_norm
from ._norms import norm as norm
from ._norms import vector_norm as vector_norm
from ._solvers import inv as inv
from ._solvers import lstsq as lstsq
from ._solvers import pinv as pinv
from ._solvers import solve as solve
from ._solvers import tensorinv as tensorinv
from ._solvers import tensorsolve as tensorsolve

__all__ = [
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]
