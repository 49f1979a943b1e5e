"""Examples of QR, of eigenvalue problems and of singular values."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

import ricci_lax.linalg  # noqa: F401  (defines the primitives)
from ricci_ir import primitives
from ricci_lax import linalg

from ._example import C64, F32, I32, Example, array_of

TALL, WIDE, SQUARE = array_of(4, 3), array_of(3, 4, seed=1), array_of(3, 3, seed=2)
BATCH = array_of(2, 4, 3, seed=3)
TALL_COMPLEX = array_of(4, 3, dtype=C64)
SQUARE_COMPLEX = array_of(3, 3, dtype=C64, seed=2)
EMPTY, NO_COLUMNS = array_of(0, 3), array_of(3, 0)


def _qr() -> list[Example]:
    def of(x: np.ndarray, pivoting: bool = False, full_matrices: bool = False) -> Example:
        options = {"pivoting": pivoting, "full_matrices": full_matrices, "use_magma": None}
        return Example((x,), options)

    return [
        *(of(x) for x in (TALL, WIDE, SQUARE, BATCH, TALL_COMPLEX, EMPTY)),
        *(of(x, full_matrices=True) for x in (TALL, WIDE, BATCH, TALL_COMPLEX, NO_COLUMNS)),
        *(of(x, pivoting=True) for x in (TALL, WIDE, BATCH, TALL_COMPLEX, EMPTY)),
        of(TALL, pivoting=True, full_matrices=True),
    ]


def _reflectors() -> dict[str, list[Example]]:
    def pivoted(x: np.ndarray, *pivots: int) -> Example:
        pivot_array = np.array(pivots or [0] * x.shape[-1], I32)
        pivot_array = np.broadcast_to(pivot_array, (*x.shape[:-2], x.shape[-1])).copy()
        return Example((x, pivot_array), {"use_magma": None}, fixed=(1,))

    def applied(a: np.ndarray, c: np.ndarray, left: bool, transpose: bool) -> Example:
        taus = array_of(*a.shape[:-2], min(a.shape[-2:]), dtype=a.dtype, seed=4)
        return Example((a, taus, c), {"left": left, "transpose": transpose}, fixed=(0, 1))

    taus = [array_of(3, seed=4), array_of(2, 3, seed=4), array_of(3, dtype=C64, seed=4)]
    return {
        "geqrf": [Example((x,)) for x in (TALL, WIDE, BATCH, TALL_COMPLEX)],
        "geqp3": [*map(pivoted, (TALL, WIDE, BATCH, TALL_COMPLEX)), pivoted(TALL, 0, 0, 1)],
        "householder_product": [
            *(Example(pair) for pair in zip((TALL, BATCH, TALL_COMPLEX), taus, strict=True)),
            Example((TALL, taus[0][:2])),
            Example((NO_COLUMNS, array_of(0))),
        ],
        "ormqr": [
            applied(TALL, array_of(4, 5), True, False),
            applied(TALL, array_of(4, 5), True, True),
            applied(TALL_COMPLEX, array_of(4, 2, dtype=C64), True, True),
            applied(TALL_COMPLEX, array_of(2, 4, dtype=C64), False, False),
            applied(WIDE, array_of(2, 3), False, True),
            applied(BATCH, array_of(2, 2, 4), False, False),
            applied(TALL, array_of(4, 0), True, False),
        ],
    }


def _eigh() -> list[Example]:
    # The derivative rule assumes a Hermitian operand, while the values depend on one triangle. So
    # finite differences agree with it for Hermitian tangents only.
    def of(x: np.ndarray, lower: bool = True, **params: Any) -> Example:
        usual = {"sort_eigenvalues": True, "subset_by_index": None, "algorithm": None}
        return Example((x,), {"lower": lower, **usual, **params}, smooth=False)

    return [
        of(SQUARE),
        of(SQUARE, lower=False),
        of(array_of(2, 3, 3)),
        of(SQUARE_COMPLEX),
        of(SQUARE_COMPLEX, lower=False, sort_eigenvalues=False),
        of(SQUARE, algorithm=linalg.EighImplementation.QR),
        of(array_of(1, 1)),
        of(array_of(0, 0)),
    ]


def _svd() -> list[Example]:
    # Complex singular vectors are determined up to phases, which the derivative rule chooses.
    def of(x: np.ndarray, full_matrices: bool = False, compute_uv: bool = True, **params: Any):
        usual = {"subset_by_index": None, "algorithm": None}
        rows, columns = x.shape[-2:]
        determined = x.dtype == F32 and not (full_matrices and rows != columns) or not compute_uv
        options = {"full_matrices": full_matrices, "compute_uv": compute_uv, **usual, **params}
        return Example((x,), options, smooth=determined)

    return [
        *(of(x) for x in (TALL, WIDE, SQUARE, BATCH, TALL_COMPLEX)),
        *(of(x, full_matrices=True) for x in (TALL, WIDE, SQUARE, EMPTY)),
        *(of(x, compute_uv=False) for x in (TALL, BATCH, TALL_COMPLEX)),
        of(TALL, full_matrices=True, compute_uv=False),
        # The vectors of this algorithm may differ in sign from NumPy's.
        of(TALL, compute_uv=False, algorithm=linalg.SvdAlgorithm.QR),
        of(SQUARE, algorithm=linalg.SvdAlgorithm.DIVIDE_AND_CONQUER),
    ]


def spectral_examples() -> dict[str, list[Example]]:
    """The examples of these primitives."""
    return {
        "eigh": _eigh(),
        "qr": _qr(),
        "svd": _svd(),
        "tridiagonal": [
            *(Example((x,), {"lower": True}) for x in (SQUARE, array_of(2, 4, 4), SQUARE_COMPLEX)),
            *(Example((x,), {"lower": False}) for x in (SQUARE, SQUARE_COMPLEX)),
        ],
        **_reflectors(),
    }


# Eigenvalues 1, 3 and -2, with eigenvectors that are neither orthogonal nor nearly parallel.
_VECTORS = np.array([[1.0, 0.4, -0.3], [0.2, 1.0, 0.5], [-0.6, 0.1, 1.0]])
_REAL = _VECTORS @ np.diag([1.0, 3.0, -2.0]) @ np.linalg.inv(_VECTORS)
_COMPLEX = _VECTORS @ np.diag([1.0 + 1j, 3.0, -2.0j]) @ np.linalg.inv(_VECTORS)
# A pair of complex eigenvalues and a real one.
_TURNING = np.array([[1.0, -2.0, 0.5], [0.9, 0.3, 0.2], [0.1, -0.4, 3.0]])
_BATCH = np.stack([_REAL, np.eye(3) - 0.5 * _REAL])
# A matrix that is its own Schur form; other forms are unique only up to order and signs.
_TRIANGULAR = np.triu(array_of(3, 3, dtype=np.float64))


def _eig(
    x: npt.ArrayLike, dtype: npt.DTypeLike, left: bool, right: bool, order: int = 2
) -> Example:
    params = {
        "compute_left_eigenvectors": left,
        "compute_right_eigenvectors": right,
        "enable_eigvec_derivs": True,
        "implementation": None,
    }
    return Example((np.asarray(x, dtype),), params, order=order)


def _schur(x: npt.ArrayLike, dtype: npt.DTypeLike, vectors: bool = True) -> Example:
    params = {"compute_schur_vectors": vectors, "select_callable": None, "sort_eig_vals": False}
    return Example((np.asarray(x, dtype),), params)


def _matrices(x: npt.ArrayLike, dtype: npt.DTypeLike) -> Example:
    return Example((np.asarray(x, dtype),))


def nonsymmetric_examples() -> dict[str, list[Example]]:
    """The examples of those primitives that are defined."""
    table = {
        "eig": [
            _eig(_REAL, F32, False, False),
            _eig(_REAL, F32, False, True),
            _eig(_REAL, F32, True, False),
            _eig(_BATCH, F32, True, True),
            _eig(_TURNING, F32, False, False),
            _eig(_COMPLEX, C64, True, True),
            _eig(_COMPLEX, C64, False, False),
            _eig(_REAL, np.float64, True, True),
            _eig(np.zeros((2, 0, 0)), F32, True, True),
            _eig(np.zeros((0, 2, 2)), F32, False, True),
        ],
        "schur": [
            _schur(_TRIANGULAR, F32),
            _schur(_TRIANGULAR, F32, False),
            _schur(np.stack([_TRIANGULAR, 1j * _TRIANGULAR]), C64),
            _schur(_TRIANGULAR, np.float64),
            _schur(np.zeros((0, 3, 3)), F32),
            _schur(np.zeros((0, 0)), F32),
        ],
        "hessenberg": [
            _matrices(array_of(4, 4), F32),
            _matrices(array_of(2, 4, 4, dtype=C64), C64),
            _matrices(array_of(4, 4), np.float64),
            _matrices(_TRIANGULAR, F32),
            # A matrix of one element is its own form, so the primitive would count as linear.
            replace(_matrices(np.ones((1, 1)), F32), smooth=False),
            _matrices(np.zeros((0, 2, 2)), F32),
            _matrices(np.zeros((2, 0, 0)), F32),
        ],
    }
    return {name: examples for name, examples in table.items() if name in primitives}
