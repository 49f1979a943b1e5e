"""Functions of matrices: powers, ranks, condition numbers, chains of products.

Also the variants that ``linalg`` has of functions such as ``cross``, with other arguments.
"""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from operator import index as as_int
from typing import Any

import numpy as np

import ricci_lax as lax
from ricci_ir import Array, ArrayLike, DTypeLike, composite, dispatched
from ricci_numpy import _promotion as promotion
from ricci_numpy.arrays._broadcasting import broadcast
from ricci_numpy.indexing._where import where
from ricci_numpy.reductions._axis_reductions import any, max, sum
from ricci_numpy.sequences._diagonals import diagonal as diagonal_of_axes
from ricci_numpy.sequences._diagonals import trace as trace_of_axes
from ricci_numpy.sequences._triangles import eye
from ricci_numpy.shapes._reshaping import expand_dims
from ricci_numpy.ufuncs._binary import greater

from ._decompositions import svd
from ._einsum import einsum
from ._norms import norm
from ._outer_products import outer as outer_of_any
from ._outer_products import tensordot as tensordot_over
from ._products import dot, product
from ._products import matmul as matmul_to
from ._products import vecdot as vecdot_along
from ._solvers import inv, real_eps
from ._vector_products import cross as cross_of_any

__all__ = ["cond", "cross", "diagonal", "matmul", "matrix_power", "matrix_rank", "multi_dot"]
__all__ += ["outer", "tensordot", "trace", "vecdot"]


@dispatched("n")
def matrix_power(a: ArrayLike, n: int) -> Array:
    """Square matrices to an integer power.

    Args:
      a: an array of shape ``(..., m, m)``.
      n: the exponent; a negative one is of the inverse.

    Returns:
      An array of the shape of ``a``.

    Raises:
      TypeError: if ``a`` is not an array, has no square matrices, or ``n`` is not an integer.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.linalg.matrix_power(jnp.array([[1, 1], [0, 1]]), 3).tolist()
      [[1, 3], [0, 1]]

    Source: numpy.linalg.matrix_power.
    """
    (a,) = promotion.operands("matrix_power", a)
    shape = np.shape(a)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise TypeError(f"matrix_power: the operand must hold square matrices, got shape {shape}.")
    try:
        n = as_int(n)
    except TypeError as error:
        raise TypeError(f"matrix_power: the exponent must be an integer, got {n!r}.") from error
    return _matrix_power(a, n=n)


@composite("matrix_power")
def _matrix_power(a: Array, *, n: int) -> Array:
    if n == 0:
        shape = np.shape(a)
        return broadcast(eye(shape[-1], dtype=promotion.dtype_of(a)), shape)
    # One inversion, of the matrix and not of its power, which is worse conditioned.
    if n < 0:
        a, n = inv(a), -n
    # In NumPy's order; the loop below would compute a (a a), which rounds differently.
    if n == 3:
        return matmul_to(matmul_to(a, a), a)
    # Binary exponentiation: the product of the powers a^(2^i) for the bits i that are set in n.
    power, product = a, None
    while n:
        n, odd = divmod(n, 2)
        if odd:
            product = power if product is None else matmul_to(product, power)
        if n:
            power = matmul_to(power, power)
    assert product is not None  # since n > 0
    return product


@dispatched("hermitian")
def matrix_rank(
    M: ArrayLike,
    rtol: ArrayLike | None = None,
    *,
    hermitian: bool = False,
    tol: ArrayLike | None = None,
) -> Array:
    """The numbers of singular values of matrices that are not negligible.

    Args:
      M: an array of shape ``(..., m, n)``; of a vector or a scalar the rank is 1 unless it is zero.
      rtol: singular values up to this count as zero; an array broadcasts with the leading
        dimensions. By default the machine's precision times the largest singular value and the
        larger of ``m`` and ``n``.
      hermitian: whether to take the matrices for Hermitian ones, which is faster.
      tol: the same as ``rtol``.

    Returns:
      An integer array of shape ``(...)``.

    Raises:
      TypeError: if ``M`` is not an array.
      ValueError: if both ``rtol`` and ``tol`` are given.

    Example:
      >>> import ricci.numpy as jnp
      >>> int(jnp.linalg.matrix_rank(jnp.ones((3, 3))))
      1

    Source: numpy.linalg.matrix_rank.
    """
    (M,) = promotion.operands("matrix_rank", M)
    if tol is not None:
        if rtol is not None:
            raise ValueError("matrix_rank: rtol and tol are the same; give only one of them.")
        rtol = tol
    if rtol is not None:
        (rtol,) = promotion.operands("matrix_rank", rtol)
    return _matrix_rank(M, rtol, hermitian=bool(hermitian))


@composite("matrix_rank")
def _matrix_rank(M: Array, tolerance: ArrayLike | None, *, hermitian: bool) -> Array:
    (M,) = promotion.promote_dtypes_inexact(M)
    if np.ndim(M) < 2:
        nonzero = any(lax.ne(M, promotion.strong_constant(promotion.dtype_of(M), 0)))
        return lax.convert_element_type(nonzero, np.int32)
    s = svd(M, compute_uv=False, full_matrices=False, hermitian=hermitian)
    dtype = promotion.dtype_of(s)
    if tolerance is None:
        # The rounding error of the largest singular value times the size, as in NumPy and MATLAB:
        # a smaller one may be 0.
        rows, columns = np.shape(M)[-2:]
        larger = promotion.strong_constant(dtype, np.maximum(rows, columns))
        tolerance = lax.mul(lax.mul(max(s, axis=-1), larger), real_eps(dtype))
    counts = greater(s, expand_dims(promotion.convert(tolerance, dtype), -1))
    return sum(counts, axis=-1)


@dispatched("p")
def cond(x: ArrayLike, p: float | str | None = None) -> Array:
    """The condition numbers of matrices: the norm times that of the inverse.

    Args:
      x: an array of shape ``(..., m, n)``, square unless ``p`` is ``None``, 2 or -2.
      p: the norm, see ``norm``; ``None`` is 2, the ratio of the largest and the smallest singular
        value, and -2 the inverse ratio.

    Returns:
      A real array of shape ``(...)``, infinite where NaN would come of a matrix without NaN.

    Raises:
      TypeError: if ``x`` is not an array.
      ValueError: if it has fewer than two dimensions, or there is no such norm.

    Example:
      >>> import ricci.numpy as jnp
      >>> round(float(jnp.linalg.cond(jnp.array([[4.0, 0.0], [0.0, 2.0]]))), 3)
      2.0

    Source: numpy.linalg.cond.
    """
    (x,) = promotion.operands("cond", x)
    if np.ndim(x) < 2:
        raise ValueError(f"cond: the operand must hold matrices, got shape {np.shape(x)}.")
    if 0 in np.shape(x):
        raise ValueError(f"cond: an empty array, of shape {np.shape(x)}, has no norms.")
    return _cond(x, p=p)


@composite("cond")
def _cond(x: Array, *, p: float | str | None) -> Array:
    if p is None or p in (2, -2):
        s = svd(x, compute_uv=False)
        last = np.ndim(s) - 1
        ends = [lax.index_in_dim(s, i, last, keepdims=False) for i in (0, -1)]
        numbers = lax.div(*(ends[::-1] if p == -2 else ends))
    else:
        norms = partial(norm, ord=p, axis=(-2, -1))
        numbers = lax.mul(norms(x), norms(inv(x)))
    input_nan = any(lax.ne(x, x), axis=(-2, -1))
    # A singular matrix may give NaN, as 0 / 0 or 0 times infinity; its condition number is
    # infinite.
    new_nan = lax.bitwise_and(lax.ne(numbers, numbers), lax.bitwise_not(input_nan))
    return where(new_nan, promotion.constant_like(numbers, np.inf), numbers)


def multi_dot(arrays: Sequence[ArrayLike], *, precision: lax.PrecisionLike = None) -> Array:
    """The product of several matrices, in the order that is cheapest.

    Args:
      arrays: at least two matrices; the first and the last may be vectors.
      precision: see ``dot``.

    Returns:
      A matrix; a vector or a scalar array where the first or the last operand is a vector.

    Raises:
      ValueError: if there are fewer than two, or one has another number of dimensions.
      TypeError: if sizes differ, or an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.linalg.multi_dot([jnp.ones((2, 3)), jnp.ones((3, 4)), jnp.ones(4)]).tolist()
      [12.0, 12.0]

    Source: numpy.linalg.multi_dot.
    """
    arrays = promotion.operands("multi_dot", *arrays)
    count = len(arrays)
    if count < 2:
        raise ValueError(f"multi_dot: at least two arrays are needed, got {count}.")
    for i, x in enumerate(arrays):
        ends = i in (0, count - 1)
        if np.ndim(x) != 2 and not (ends and np.ndim(x) == 1):
            raise ValueError(
                f"multi_dot: array {i} of {count} has shape {np.shape(x)}, but only the first and "
                "the last may have one dimension, and the others must have two."
            )
    for i, (x, y) in enumerate(pairwise(arrays)):
        if np.shape(x)[-1] != np.shape(y)[0]:
            raise ValueError(
                f"multi_dot: arrays {i} and {i + 1} have no product: the last size of "
                f"{np.shape(x)} is not the first one of {np.shape(y)}."
            )
    if count == 2:
        return dot(*arrays, precision=precision)
    # Matrix i has the letters i and i + 1, so adjacent matrices share the one that is summed over.
    letters = [[i, i + 1] for i in range(count)]
    if np.ndim(arrays[0]) == 1:
        letters[0] = [1]
    if np.ndim(arrays[-1]) == 1:
        letters[-1] = [count - 1]
    arguments: list[Any] = [item for pair in zip(arrays, letters, strict=True) for item in pair]
    result_letters = [0] * (np.ndim(arrays[0]) == 2) + [count] * (np.ndim(arrays[-1]) == 2)
    return einsum(*arguments, result_letters, optimize="optimal", precision=precision)


@dispatched("axis")
def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """The cross products of vectors of size 3.

    Args:
      x1, x2: arrays that broadcast.
      axis: the dimension that holds the vectors.

    Returns:
      An array of the broadcast shape.

    Raises:
      ValueError: if a vector's size is not 3.
      TypeError: if an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.linalg.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0])).tolist()
      [0, 0, 1]

    Source: numpy.linalg.cross.
    """
    x1, x2 = promotion.operands("cross", x1, x2)
    for x in (x1, x2):
        size = np.shape(x)[promotion.canonical_axis(axis, np.ndim(x))]
        if size != 3:
            raise ValueError(f"cross: vectors must have size 3 along axis {axis}, got {size}.")
    return cross_of_any(x1, x2, axis=axis)


@dispatched()
def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The products of all pairs of elements of two vectors.

    Args:
      x1, x2: vectors, of shapes ``(m,)`` and ``(n,)``; the result's is ``(m, n)``.

    Returns:
      A matrix of shape ``(m, n)``.

    Raises:
      ValueError: if an operand is not a vector.
      TypeError: if an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.linalg.outer(jnp.array([1, 2]), jnp.array([3, 4])).tolist()
      [[3, 4], [6, 8]]

    Source: numpy.linalg.outer.
    """
    x1, x2 = promotion.operands("outer", x1, x2)
    if np.ndim(x1) != 1 or np.ndim(x2) != 1:
        raise ValueError(
            f"outer: operands must be vectors, got shapes {np.shape(x1)} and {np.shape(x2)}."
        )
    return outer_of_any(x1, x2)


@dispatched("offset")
def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """The diagonals of matrices.

    Args:
      x: an array of shape ``(..., m, n)``.
      offset: which diagonal: 0 is the main one, positive ones are above.

    Returns:
      An array of shape ``(..., min(m, n))``, shorter for other diagonals.

    Raises:
      ValueError: if ``x`` has fewer than two dimensions.
      TypeError: if ``x`` is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.linalg.diagonal(jnp.array([[1, 2], [3, 4]])).tolist()
      [1, 4]

    Source: numpy.linalg.diagonal.
    """
    return diagonal_of_axes(x, offset=offset, axis1=-2, axis2=-1)


@dispatched("offset", "dtype")
def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Array:
    """The sums of the diagonals of matrices.

    Args:
      x: an array of shape ``(..., m, n)``.
      offset: which diagonal: 0 is the main one, positive ones are above.
      dtype: the dtype of the sums.

    Returns:
      An array of shape ``(...)``.

    Raises:
      ValueError: if ``x`` has fewer than two dimensions.
      TypeError: if ``x`` is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> int(jnp.linalg.trace(jnp.array([[1, 2], [3, 4]])))
      5

    Source: numpy.linalg.trace.
    """
    return trace_of_axes(x, offset=offset, axis1=-2, axis2=-1, dtype=dtype)


@product()
def matmul(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    precision: lax.PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The matrix product, over leading dimensions that broadcast.

    Args:
      x1, x2, precision, preferred_element_type: see ``ricci.numpy.matmul``.

    Returns:
      As ``ricci.numpy.matmul`` returns it.

    Raises:
      ValueError: if an operand is a scalar, or leading dimensions do not broadcast.
      TypeError: if the contracted sizes differ, or an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.linalg.matmul(jnp.eye(2), jnp.array([1.0, 2.0])).tolist()
      [1.0, 2.0]

    Source: numpy.linalg.matmul.
    """
    return matmul_to(x1, x2, precision=precision, preferred_element_type=preferred_element_type)


@product("axis")
def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: lax.PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The sums of products along a dimension, ``x1`` conjugated.

    Args:
      x1, x2, axis, precision, preferred_element_type: see ``ricci.numpy.vecdot``.

    Returns:
      As ``ricci.numpy.vecdot`` returns it.

    Raises:
      ValueError: if the sizes differ, or an operand is a scalar.
      TypeError: if an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.linalg.vecdot(jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0])))
      11.0

    Source: numpy.linalg.vecdot.
    """
    return vecdot_along(
        x1, x2, axis=axis, precision=precision, preferred_element_type=preferred_element_type
    )


@product("axes", "out_sharding")
def tensordot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axes: int | tuple[Sequence[int], Sequence[int]] = 2,
    precision: lax.PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: object = None,
) -> Array:
    """The sums of products over several pairs of dimensions.

    Args:
      x1, x2, axes, precision, preferred_element_type, out_sharding: see ``ricci.numpy.tensordot``.

    Returns:
      As ``ricci.numpy.tensordot`` returns it.

    Raises:
      TypeError: if the axes do not match, or an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.linalg.tensordot(jnp.ones((2, 3)), jnp.ones((2, 3))))
      6.0

    Source: numpy.linalg.tensordot.
    """
    return tensordot_over(
        x1,
        x2,
        axes,
        precision=precision,
        preferred_element_type=preferred_element_type,
        out_sharding=out_sharding,
    )
