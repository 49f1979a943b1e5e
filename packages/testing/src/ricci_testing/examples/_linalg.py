"""Examples of factorizations, and of triangular and tridiagonal systems."""

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from ricci_ir import bfloat16

from ._example import C64, F32, I32, Example, array_of

_F64, _C128 = np.float64, np.complex128


def _positive(*shape: int, dtype: npt.DTypeLike = F32) -> np.ndarray:
    """Positive definite matrices, except for the upper triangles, which must not be read."""
    x = array_of(*shape, dtype=dtype)
    positive = x @ np.conj(np.swapaxes(x, -1, -2)) + 2 * np.eye(shape[-1])
    return (np.tril(positive) + np.triu(x, 1)).astype(dtype)


def _dominant(*shape: int, dtype: npt.DTypeLike = F32) -> np.ndarray:
    """Diagonally dominant matrices."""
    return (array_of(*shape, dtype=dtype) + 4 * np.eye(shape[-2], shape[-1])).astype(dtype)


def _cholesky_examples() -> list[Example]:
    singular = np.array([[1, 0], [2, 1]], F32)
    return [
        *(Example((_positive(3, 3, dtype=t),)) for t in (F32, C64, _F64, _C128)),
        Example((_positive(2, 3, 3),)),
        Example((array_of(0, 0),)),
        Example((array_of(0, 3, 3),)),
        Example((np.stack([_positive(2, 2), singular]),), smooth=False),
    ]


def _cholesky_update_examples() -> list[Example]:
    r = np.triu(_dominant(3, 3))
    return [
        Example((r, array_of(3, seed=1))),
        Example((r, np.array([1, 0, 2], F32))),
        Example((np.triu(_dominant(3, 3, dtype=_F64)), array_of(3, dtype=_F64))),
        Example((array_of(0, 0), array_of(0))),
        Example((np.zeros((2, 2), F32), np.zeros(2, F32))),
    ]


def _symmetric_product_examples() -> list[Example]:
    c = array_of(3, 3, seed=1)
    c = c + c.T
    plain, scaled = {"alpha": 1.0, "beta": 0.0}, {"alpha": 2.0, "beta": -0.5}
    return [
        Example((array_of(3, 2), c), plain),
        Example((array_of(3, 2), c), scaled),
        Example((array_of(2, 3, 4), np.stack([c, 2 * c])), scaled),
        Example((array_of(3, 2, dtype=_F64), c.astype(_F64)), scaled),
        Example((array_of(3, 0), c), scaled),
    ]


def _triangular_solve_examples() -> list[Example]:
    names = ("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal")
    usual: dict[str, Any] = dict.fromkeys(names, False)
    corners: list[dict[str, Any]] = [
        dict(zip(names, flags, strict=True)) for flags in product((False, True), repeat=5)
    ]
    rows, columns = array_of(2, 3, seed=1), array_of(3, 2, seed=1)
    flag_examples = []
    for params in corners:
        dtype = C64 if params["conjugate_a"] else F32
        b = columns if params["left_side"] else rows
        flag_examples.append(Example((_dominant(3, 3, dtype=dtype), b.astype(dtype)), params))
    left = {**usual, "left_side": True}
    return [
        *flag_examples,
        Example((_dominant(3, 3), array_of(3, 5)), left),
        Example((_dominant(2, 3, 3), array_of(2, 3, 2)), left),
        *(
            Example((_dominant(3, 3, dtype=t), rows.astype(t)), usual)
            for t in (bfloat16, np.float16, _F64, _C128)
        ),
        Example((array_of(0, 0), array_of(2, 0)), usual),
        Example((_dominant(3, 3), array_of(0, 3)), usual),
        Example((array_of(0, 3, 3), array_of(0, 2, 3)), usual),
    ]


def _exchanged(*shape: int, dtype: npt.DTypeLike = F32) -> np.ndarray:
    """Matrices that need row exchanges, with pivots that rounding does not change."""
    return np.roll(_dominant(*shape, dtype=dtype), 1, -2)


def _lu_examples() -> list[Example]:
    rank_one = np.array([[1, 2], [2, 4]], F32)
    return [
        *(Example((_exchanged(3, 3, dtype=t),)) for t in (F32, C64, _F64, _C128)),
        *(Example((_exchanged(*shape),)) for shape in ((2, 3), (3, 2), (2, 3, 3), (2, 3, 2))),
        *(Example((array_of(*shape),)) for shape in ((0, 0), (3, 0), (0, 3), (0, 2, 2))),
        Example((rank_one,), smooth=False),
        Example((np.zeros((3, 3), F32),), smooth=False),
    ]


def _pivots_examples() -> list[Example]:
    pivots = np.array([[2, 1, 3], [0, 3, 2]], I32)
    return [
        Example((pivots[0],), {"permutation_size": 5}),
        Example((pivots,), {"permutation_size": 4}),
        Example((pivots[0, :0],), {"permutation_size": 3}),
        Example((pivots[:0],), {"permutation_size": 4}),
        Example((pivots[0, :0],), {"permutation_size": 0}),
    ]


def _tridiagonal_examples() -> list[Example]:
    def example(
        *shape: int, k: int = 2, dtype: npt.DTypeLike = F32, perturb: bool = False
    ) -> Example:
        d = array_of(*shape, dtype=dtype, seed=1) + np.asarray(5, dtype)
        operands = array_of(*shape, dtype=dtype), d, array_of(*shape, dtype=dtype, seed=2)
        b = array_of(*shape, k, dtype=dtype, seed=3)
        return Example((*operands, b), {"perturb_singular": perturb})

    swapped = np.array([0, 1, 0], F32), np.array([0, 0, 1], F32), np.array([1, 0, 0], F32)
    hollow = np.zeros(3, F32), np.array([1, 0, 2], F32), np.zeros(3, F32)
    b = array_of(3, 2)
    return [
        *(example(4, dtype=t) for t in (F32, C64, _F64, _C128)),
        *(example(4, dtype=t, perturb=True) for t in (F32, C64, _F64, _C128)),
        *(example(*shape) for shape in ((1,), (2,), (2, 4), (0,), (0, 3))),
        example(3, k=0),
        Example((*swapped, b), {"perturb_singular": False}),
        Example((*swapped, b), {"perturb_singular": True}),
        Example((*hollow, b), {"perturb_singular": False}, smooth=False),
        Example((*hollow, b), {"perturb_singular": True}, smooth=False),
    ]


def linalg_examples() -> dict[str, list[Example]]:
    """Examples of the primitives that factorise matrices and solve systems."""
    return {
        "cholesky": _cholesky_examples(),
        "cholesky_update": _cholesky_update_examples(),
        "lu": _lu_examples(),
        "lu_pivots_to_permutation": _pivots_examples(),
        "symmetric_product": _symmetric_product_examples(),
        "triangular_solve": _triangular_solve_examples(),
        "tridiagonal_solve": _tridiagonal_examples(),
    }
