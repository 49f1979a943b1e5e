"""Examples of nonsymmetric eigenvalue problems."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

import ricci_lax.linalg  # noqa: F401  (defines the primitives)
from ricci_ir import primitives

from ._example import Example
from ._values import C64, F32, array_of

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
