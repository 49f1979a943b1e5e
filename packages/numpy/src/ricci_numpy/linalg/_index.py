"""By module, the public names of this package, which are imported at their first use.

Written by `tools/name_index.py` from the modules' `__all__`.
"""

# fmt: off
MODULES = {
    "ricci_numpy.linalg._decompositions": (
        "EigResult EighResult QRResult SVDResult cholesky eig eigh eigvals eigvalsh qr svd "
        "svdvals"
    ),
    "ricci_numpy.linalg._determinants": "SlogdetResult det slogdet",
    "ricci_numpy.linalg._matrix_functions": (
        "cond cross diagonal matmul matrix_power matrix_rank multi_dot outer tensordot trace "
        "vecdot"
    ),
    "ricci_numpy.linalg._norms": "matrix_norm norm vector_norm",
    "ricci_numpy.linalg._solvers": "inv lstsq pinv solve tensorinv tensorsolve",
    "ricci_numpy.shapes._transposing": "matrix_transpose",
}
