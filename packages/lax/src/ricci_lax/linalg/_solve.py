"""Systems of linear equations: solved by LU factorisation, differentiated implicitly."""

from collections.abc import Callable

import numpy as np

from ricci_batching import vmap
from ricci_ir import Array, ArrayLike, composite
from ricci_lax.contractions._dot import dot_general
from ricci_lax.contractions._precision import Precision
from ricci_lax.control_flow._linear_solve import custom_linear_solve
from ricci_lax.reductions._sorting import sort
from ricci_lax.structure._broadcasting import broadcast_in_dim, expand_dims
from ricci_lax.structure._filling import iota
from ricci_lax.structure._identity import stop_gradient
from ricci_lax.structure._operand_types import array_aval, shape_of
from ricci_lax.structure._reshaping import squeeze

from ._lu import lu
from ._matrices import rows_at
from ._triangular_solve import triangular_solve

_INT32 = np.dtype(np.int32)


@composite("_lu_solve")
def _lu_solve(factors: ArrayLike, permutation: ArrayLike, b: Array, *, transposed: bool) -> Array:
    """The solutions for a batch of vectors, from the LU factors of their matrices."""
    rank = len(shape_of(b))
    x = expand_dims(b, (rank,))
    if not transposed:
        x = rows_at(x, permutation)
        x = triangular_solve(factors, x, left_side=True, lower=True, unit_diagonal=True)
        x = triangular_solve(factors, x, left_side=True)
    else:
        x = triangular_solve(factors, x, left_side=True, transpose_a=True)
        x = triangular_solve(
            factors, x, left_side=True, lower=True, transpose_a=True, unit_diagonal=True
        )
        shape = shape_of(permutation)
        places = iota(_INT32, shape[-1])
        if rank > 1:
            places = broadcast_in_dim(places, shape, (rank - 1,))
        _, inverse = sort((permutation, places), rank - 1, num_keys=1)
        x = rows_at(x, inverse)
    return squeeze(x, (rank,))


def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """The solutions ``x`` of ``a @ x == b``.

    Args:
      a: square matrices, of shape ``(…, n, n)``.
      b: matrices of right-hand sides, ``(…, n, k)``, with the same batch and dtype.
    """
    aval = array_aval(a)
    last, batch = aval.ndim - 1, tuple(range(aval.ndim - 2))
    numbers = (((last,), (last - 1,)), (batch, batch))
    factors, _, permutation = lu(stop_gradient(a))

    def solver(transposed: bool) -> Callable[..., Array]:
        return lambda _, y: _lu_solve(factors, permutation, y, transposed=transposed)

    def solve_vectors(y: ArrayLike) -> Array:
        matvec = lambda x: dot_general(a, x, numbers, Precision.HIGHEST)
        return custom_linear_solve(matvec, y, solver(False), solver(True))

    return vmap(solve_vectors, last, last)(b)
