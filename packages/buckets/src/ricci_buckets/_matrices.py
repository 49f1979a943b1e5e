"""Padding rules of matrix decompositions and solves.

A padded square matrix becomes the block-diagonal matrix of itself and an identity. Its Cholesky and
LU factors are those of the two blocks, and so is the solution of a triangular system.
"""

from typing import Any

import numpy as np

from ricci_ir import Array, Primitive, ShapedArray, is_symbolic_dim
from ricci_lax import convert_element_type, eq, select
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

from ._interpreter import PaddingRule, Site

__all__ = ["matrix_rules"]


def _is_padded(aval: ShapedArray) -> bool:
    return any(map(is_symbolic_dim, aval.shape[-2:]))


def _refuse_matrix(site: Site, aval: ShapedArray) -> None:
    site.refuse(
        f"a matrix of type {aval.str_short()} would be decomposed or solved with its padding",
        "pad along a batch dimension, or call it outside of the bucketed function",
    )


def _with_identity(site: Site, x: Array, aval: ShapedArray) -> Array:
    """Replace the padding of matrices by an identity block on the diagonal."""
    if aval.shape[-2] is not aval.shape[-1]:
        _refuse_matrix(site, aval)
    rows, columns = len(aval.shape) - 2, len(aval.shape) - 1
    mask: Any = site.extents.mask(aval, (rows, columns))
    positions = site.extents.positions
    diagonal = eq(positions(mask.shape, rows), positions(mask.shape, columns))
    return select(mask, x, convert_element_type(diagonal, np.dtype(aval.dtype)))


def _factors(site: Site, x: Array) -> Any:
    (aval,) = site.ins
    return site.bind(_with_identity(site, x, aval) if _is_padded(aval) else x)


def _triangular_solve(site: Site, matrix: Array, b: Array) -> Array:
    aval, right = site.ins
    if _is_padded(aval):
        matrix = _with_identity(site, matrix, aval)
        along = len(right.shape) - (2 if site.params["left_side"] else 1)
        b = site.masked(b, right, 0, (along,))
    return site.bind(matrix, b)


def _batches_only(site: Site, *operands: object) -> Any:
    for aval in site.ins:
        if _is_padded(aval):
            _refuse_matrix(site, aval)
    return site.bind(*operands)


matrix_rules: dict[Primitive, PaddingRule] = {
    cholesky_p: _factors,
    lu_p: _factors,
    triangular_solve_p: _triangular_solve,
    **dict.fromkeys(
        (eig_p, eigh_p, householder_product_p, qr_p, schur_p, svd_p, tridiagonal_solve_p),
        _batches_only,
    ),
}
