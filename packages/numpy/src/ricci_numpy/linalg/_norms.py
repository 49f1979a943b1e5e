"""Norms of vectors and matrices."""

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_ir import Array, ArrayLike, Axis
from ricci_numpy._promotion import (
    COMPLEX_DTYPES,
    canonical_axes,
    convert,
    operands,
    promote_dtypes_inexact,
)
from ricci_numpy.reductions._axis_reductions import max, min, sum
from ricci_numpy.reductions._kinds import accumulated_dtype
from ricci_numpy.reductions._moments import root_of_sum
from ricci_numpy.reductions._reduced_axes import ReducedAxis, reduced_and_named_axes
from ricci_numpy.shapes._reshaping import expand_dims
from ricci_numpy.shapes._transposing import moveaxis

from ._decompositions import svd

__all__ = ["matrix_norm", "norm", "vector_norm"]

# The order of a norm; a traced one is for norms of vectors only.
Order = float | Array | str | None


def _euclidean(x: Array, axis: Axis, keepdims: bool) -> Array:
    """The root of the sum of squares; its derivative at 0 is the subgradient 0."""
    dtype = ir.get_aval(x).dtype
    if dtype in COMPLEX_DTYPES:
        squares = lax.real(lax.mul(x, lax.conj(x)))
    else:
        x = convert(x, accumulated_dtype(dtype))  # squares of float16 beyond 255 are infinite
        squares = lax.mul(x, x)
    root = root_of_sum(sum(squares, axis=axis, keepdims=keepdims))
    return root if dtype in COMPLEX_DTYPES else convert(root, dtype)


@ir.dispatched("ord", "axis", "keepdims")
def norm(x: ArrayLike, ord: Order = None, axis: Axis = None, keepdims: bool = False) -> Array:
    """The norm of vectors or of matrices.

    Args:
      x: an array.
      ord: which norm. Of vectors: a number ``p`` for the sum of the ``p``-th powers of absolute
        values to the power ``1/p``, ``inf`` or ``-inf`` for the largest or smallest, 0 for the
        number of non-zeros; 2 by default. Of matrices: ``"fro"`` (the default), ``"nuc"`` for
        the sum of singular values, 2 and -2 for the largest and smallest, 1 and -1 for the
        largest and smallest sum of a column, ``inf`` and ``-inf`` of a row.
      axis: the dimension of the vectors, or the two of the matrices; by default all: a vector, a
        matrix, or without ``ord`` any array, flattened.
      keepdims: whether the dimensions stay, with size 1.

    Returns:
      A float array of the shape of ``x`` without the dimensions.

    Raises:
      ValueError: if there is no such norm, or not one or two dimensions.
      TypeError: if ``x`` is not an array.

    The derivative of the Euclidean norm at 0, where it has a kink, is the subgradient 0. Squares
    overflow and underflow: in float32, elements beyond 1.8e19 make the norm infinite, and those
    below 1e-23 count as 0. Scale such arrays first.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> x = jnp.array([[3.0, 4.0], [0.0, 2.0]])
      >>> jnp.linalg.norm(x, axis=1).tolist(), round(float(jnp.linalg.norm(x)), 4)
      ([5.0, 2.0], 5.3852)
      >>> float(jnp.linalg.norm(x, ord=jnp.inf)), float(jnp.linalg.norm(x[0], ord=1))
      (7.0, 7.0)
      >>> ricci.grad(jnp.linalg.norm)(jnp.zeros(2)).tolist()
      [0.0, 0.0]

    See also:
      ``linalg.vector_norm``, ``linalg.matrix_norm``.

    Source: numpy.linalg.norm.
    """
    (x,) = operands("norm", x)
    ndim = np.ndim(x)
    if axis is None and ord is None:
        axes = None
    elif axis is None:
        axes = tuple(range(ndim))
    else:
        axes = canonical_axes(axis, ndim)
    if axes is not None and len(axes) not in (1, 2):
        raise ValueError(
            f"norm: one axis gives the norm of vectors, two that of matrices; got axis={axes}."
        )
    return _norm(x, ord=ord, axes=axes, keepdims=keepdims)


@ir.composite("norm")
def _norm(x: Array, *, ord: Order, axes: tuple[int, ...] | None, keepdims: bool) -> Array:
    (x,) = promote_dtypes_inexact(x)
    if axes is None:
        return _euclidean(x, None, keepdims)
    if len(axes) == 1:
        return _vector_norm(x, 2 if ord is None else ord, axes, keepdims)
    return _matrix_norm(x, ord, axes, keepdims)


def _vector_norm(
    x: Array, ord: float | Array | str, axes: tuple[ReducedAxis, ...], keepdims: bool
) -> Array:
    if isinstance(ord, str):
        raise ValueError(f"norm: ord={ord!r} is not defined for vectors.")
    if ord == 2:
        return _euclidean(x, axes, keepdims)
    if ord == np.inf:
        return max(lax.abs(x), axis=axes, keepdims=keepdims, initial=0)
    if ord == -np.inf:
        return min(lax.abs(x), axis=axes, keepdims=keepdims)
    if ord == 0:
        return _count(x, axes, keepdims)
    if ord == 1:
        return sum(lax.abs(x), axis=axes, keepdims=keepdims)
    size = lax.abs(x)
    dtype = ir.get_aval(size).dtype
    power = (
        lax.convert_element_type(ord, dtype)
        if hasattr(type(ord), "aval")
        else ir.exact_scalar(ord, dtype)
    )
    total = sum(lax.pow(size, power), axis=axes, keepdims=keepdims)
    root = (
        lax.div(ir.exact_scalar(1, dtype), power)
        if hasattr(type(ord), "aval")
        else ir.exact_scalar(1 / float(ord), dtype)
    )
    return lax.pow(total, root)


def _count(x: Array, axes: tuple[ReducedAxis, ...], keepdims: bool) -> Array:
    aval = ir.get_aval(x)
    differs = lax.ne(x, ir.exact_scalar(0, aval.dtype))
    real = lax.real(x).dtype if aval.dtype in COMPLEX_DTYPES else aval.dtype
    return sum(lax.convert_element_type(differs, real), axis=axes, keepdims=keepdims)


def _matrix_norm(x: Array, ord: Order, axes: tuple[int, ...], keepdims: bool) -> Array:
    if ord is None or ord in ("f", "fro"):
        return _euclidean(x, axes, keepdims)
    row, column = axes
    # The norms 1 and infinity are the largest sums of a column and of a row, 2 and the nuclear one
    # the largest and the sum of the singular values; negative orders take the least.
    if ord in (1, -1, np.inf, -np.inf):
        summed, other = (row, column) if ord in (1, -1) else (column, row)
        sums = sum(lax.abs(x), axis=summed, keepdims=keepdims)
        if not keepdims and other > summed:
            other -= 1
        if ord > 0:
            return max(sums, axis=other, keepdims=keepdims, initial=0)
        return min(sums, axis=other, keepdims=keepdims)
    if ord not in (2, -2, "nuc"):
        raise ValueError(f"norm: ord={ord!r} is not defined for matrices.")
    values = svd(moveaxis(x, axes, (-2, -1)), compute_uv=False)
    if ord == "nuc":
        norms = sum(values, axis=-1)
    else:
        norms = max(values, axis=-1, initial=0) if ord == 2 else min(values, axis=-1)
    return expand_dims(norms, axes) if keepdims else norms


def vector_norm(
    x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False, ord: float | Array | str = 2
) -> Array:
    """The norm of vectors; of all elements if no axis is given.

    Args:
      x: an array.
      axis: a dimension, or several that count as one.
      keepdims, ord: see ``norm``.

    Returns:
      A float array of the shape of ``x`` without the dimensions; of integers of any width it is
      float64 if there are 64-bit types.

    Raises:
      ValueError: if there is no such norm.
      TypeError: if ``x`` is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.linalg.vector_norm(jnp.array([[3.0], [4.0]])))
      5.0

    Source: numpy.linalg.vector_norm.
    """
    (x,) = operands("vector_norm", x)
    axes = reduced_and_named_axes("vector_norm", axis, np.ndim(x))
    return _norm_of_vectors(x, ord=ord, axes=axes, keepdims=bool(keepdims))


@ir.inlined("vector_norm")
def _norm_of_vectors(
    x: Array, *, ord: float | Array | str, axes: tuple[ReducedAxis, ...], keepdims: bool
) -> Array:
    if not ir.issubdtype(ir.get_aval(x).dtype, np.inexact):
        x = lax.convert_element_type(x, ir.python_scalar_dtype(float))  # as wide as floats are here
    return _vector_norm(x, ord, axes, keepdims)


@ir.dispatched("keepdims", "ord")
def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Order = "fro") -> Array:
    """The norm of the matrices in the last two dimensions.

    Args:
      x: an array of two dimensions at least.
      keepdims, ord: see ``norm``.

    Returns:
      A float array of the shape of ``x`` without its last two dimensions.

    Raises:
      ValueError: if there is no such norm.
      TypeError: if ``x`` is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.linalg.matrix_norm(jnp.array([[3.0, 0.0], [0.0, 4.0]])))
      5.0

    Source: numpy.linalg.matrix_norm.
    """
    return norm(x, ord=ord, axis=(-2, -1), keepdims=keepdims)
