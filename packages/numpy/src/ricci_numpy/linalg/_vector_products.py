"""Products of vectors with matrices, Kronecker products, and cross products."""

import numpy as np

import ricci_lax as lax
from ricci_ir import Array, ArrayLike, composite, dispatched, warn_user
from ricci_numpy._promotion import canonical_axis, convert, operands, promote_dtypes
from ricci_numpy.arrays._broadcasting import broadcast, broadcast_shape
from ricci_numpy.shapes._transposing import moveaxis

from ._products import conjugate_if_complex, matmul

__all__ = ["cross", "kron", "matvec", "vecmat"]

# For each operand, its smallest rank and the dimension that is summed over.
_CORES = {"matvec": ((2, -1), (1, -1)), "vecmat": ((1, -1), (2, -2))}


def _core_operands(name: str, x1: ArrayLike, x2: ArrayLike) -> tuple[Array, Array]:
    """Check the operands of a product of vectors and matrices with leading dimensions."""
    x1, x2 = operands(name, x1, x2)
    shapes = np.shape(x1), np.shape(x2)
    for shape, (rank, _) in zip(shapes, _CORES[name], strict=True):
        if len(shape) < rank:
            raise ValueError(
                f"{name}: an operand of shape {shape} needs at least {rank} dimensions."
            )
    (first, second), ((_, i), (_, j)) = shapes, _CORES[name]
    if first[i] != second[j]:
        raise ValueError(
            f"{name}: shapes {first} and {second} do not fit: size {first[i]} of dimension {i} of "
            f"the first differs from {second[j]} of dimension {j} of the second."
        )
    return x1, x2


@dispatched()
def matvec(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The product of matrices with vectors, over leading dimensions that broadcast.

    Args:
      x1, x2: arrays of shapes ``(..., m, n)`` and ``(..., n)``.

    Returns:
      An array of shape ``(..., m)``.

    Raises:
      ValueError: if an operand has too few dimensions, or the contracted sizes differ.
      TypeError: if an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.matvec(jnp.ones((2, 3)), jnp.arange(3.)).tolist()
      [3.0, 3.0]

    Source: numpy.matvec.
    """
    return _matvec(*_core_operands("matvec", x1, x2))


@composite("matvec")
def _matvec(x1: Array, x2: Array) -> Array:
    # A single vector is an operand of the product itself; several are matrices of one column.
    if np.ndim(x2) == 1:
        return matmul(x1, x2)
    rank = np.ndim(x2)
    return lax.squeeze(matmul(x1, lax.expand_dims(x2, (rank,))), (-1,))


@dispatched()
def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The product of vectors, conjugated, with matrices; leading dimensions broadcast.

    Args:
      x1, x2: arrays of shapes ``(..., m)`` and ``(..., m, n)``.

    Returns:
      An array of shape ``(..., n)``.

    Raises:
      ValueError: if an operand has too few dimensions, or the contracted sizes differ.
      TypeError: if an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.vecmat(jnp.arange(2.), jnp.ones((2, 3))).tolist()
      [1.0, 1.0, 1.0]

    Source: numpy.vecmat.
    """
    return _vecmat(*_core_operands("vecmat", x1, x2))


@composite("vecmat")
def _vecmat(x1: Array, x2: Array) -> Array:
    x1 = conjugate_if_complex(x1)
    rank = np.ndim(x1)
    if rank == 1:
        return matmul(x1, x2)
    return lax.squeeze(matmul(lax.expand_dims(x1, (rank - 1,)), x2), (-2,))


@dispatched()
def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """The Kronecker product: blocks of ``b``, scaled by the elements of ``a``.

    Args:
      a, b: arrays.

    Returns:
      An array whose sizes are the products of theirs.

    Raises:
      TypeError: if an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.kron(jnp.array([1, 10]), jnp.array([1, 2])).tolist()
      [1, 2, 10, 20]

    Source: numpy.kron.
    """
    return _kron(*operands("kron", a, b))


@composite("kron")
def _kron(a: Array, b: Array) -> Array:
    a, b = promote_dtypes(a, b)
    rank = max(np.ndim(a), np.ndim(b))
    a = lax.expand_dims(a, range(rank - np.ndim(a)))
    b = lax.expand_dims(b, range(rank - np.ndim(b)))
    shape = tuple(n * m for n, m in zip(np.shape(a), np.shape(b), strict=True))
    # The shapes (n1, 1, n2, 1) and (1, m1, 1, m2) broadcast to pairs of dimensions, each of which
    # is one dimension of the result in row-major order.
    a = lax.expand_dims(a, range(1, 2 * rank, 2))
    b = lax.expand_dims(b, range(0, 2 * rank, 2))
    return lax.reshape(lax.mul(a, b), shape)


@dispatched("axisa", "axisb", "axisc", "axis")
def cross(
    a: ArrayLike,
    b: ArrayLike,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Array:
    """The cross product of vectors of size 3.

    Args:
      a, b: arrays that broadcast.
      axisa, axisb, axisc: the dimension that holds the vectors, in ``a``, in ``b`` and in the
        result.
      axis: all three.

    Returns:
      An array of the broadcast shape, the vectors along ``axisc``.

    Raises:
      ValueError: if a vector's size is not 3.
      TypeError: if an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0])).tolist()
      [0, 0, 1]

    Source: numpy.cross.
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = operands("cross", a, b)
    for x, axis_x in ((a, axisa), (b, axisb)):
        if np.shape(x)[canonical_axis(axis_x, np.ndim(x))] != 3:
            raise ValueError(
                f"cross: vectors must have size 3 along the given dimension (axis {axis_x}), got "
                f"arrays of shapes {np.shape(a)} and {np.shape(b)}. "
                "Append a zero to vectors of size 2."
            )
    if 2 in (np.shape(a)[axisa], np.shape(b)[axisb]):
        warn_user(
            "cross: vectors of size 2 are deprecated. Append a component that is zero; of two such "
            "vectors, the result is the third component.",
            DeprecationWarning,
        )
    return _cross(a, b, axisa=axisa, axisb=axisb, axisc=axisc)


@composite("cross")
def _cross(a: Array, b: Array, *, axisa: int, axisb: int, axisc: int) -> Array:
    a, b = promote_dtypes(a, b)
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    lead = broadcast_shape("cross", (*np.shape(a)[:-1], 1), (*np.shape(b)[:-1], 1))[:-1]
    x, y = _components(a, lead), _components(b, lead)
    # Component i is x_j y_k − x_k y_j, where j and k follow i cyclically.
    parts = [lax.sub(lax.mul(x[i], y[j]), lax.mul(x[j], y[i])) for i, j in ((1, 2), (2, 0), (0, 1))]
    product = lax.concatenate([lax.expand_dims(part, (0,)) for part in parts], 0)
    return moveaxis(convert(product, product.dtype), 0, axisc)


def _components(x: Array, lead: tuple[int, ...]) -> list[Array]:
    """The three components of vectors along the last dimension, broadcast to the shape ``lead``."""
    last = np.ndim(x) - 1
    components: list[Array] = []
    for i in range(3):
        starts = (*(0,) * last, i)
        limits = (*np.shape(x)[:-1], i + 1)
        part = lax.slice(x, starts, limits)
        components.append(broadcast(lax.squeeze(part, (last,)), lead))
    return components
