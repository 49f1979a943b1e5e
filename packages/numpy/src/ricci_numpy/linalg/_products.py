"""Products of vectors and matrices, each one ``dot_general`` or one multiplication."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_lax.authoring import checked_out_sharding, resolved_by
from ricci_numpy import _promotion as promotion
from ricci_numpy.arrays._broadcasting import broadcast, broadcast_shape
from ricci_numpy.ufuncs._binary import multiply

if TYPE_CHECKING:
    from ._partial_sums import NamedPlacement

__all__ = ["dot", "inner", "matmul", "vdot", "vecdot"]


_dot_general_code = lax.dot_general.__code__


def is_intercepted() -> bool:
    """Whether a library has replaced the code of ``lax.dot_general``, to see all products."""
    return lax.dot_general.__code__ is not _dot_general_code


def product[F: Callable[..., Any]](*settings: str) -> Callable[[F], F]:
    """Mark a product that is dispatched, unless a library must see it; see ``ir.dispatched``.

    Args:
      settings: the names of its settings beside those that all products have.
    """
    common = ("precision", "preferred_element_type")
    return ir.dispatched(*common, *settings, watched=lax.dot_general)


def preferred_type(
    name: str, preferred: ir.DTypeLike | None, *args: ir.ArrayLike
) -> tuple[np.dtype, bool]:
    """The dtype of a product, the preferred or the promoted one, and whether it is weak."""
    if preferred is not None:
        return ir.explicit_dtype(preferred, name), False
    return promotion.common_dtype(*args)


def contract(
    name: str,
    a: ir.ArrayLike,
    b: ir.ArrayLike,
    dimensions: lax.DotDimensionNumbers,
    precision: lax.PrecisionLike,
    preferred_element_type: ir.DTypeLike | None,
    out_sharding: object = None,
) -> ir.Array:
    """``dot_general`` with NumPy's promotion of the result's dtype."""
    dtype, weak = preferred_type(name, preferred_element_type, a, b)
    try:
        result = lax.dot_general(
            a,
            b,
            dimensions,
            precision=precision,
            preferred_element_type=dtype,
            out_sharding=out_sharding,
        )
    # The error of ``dot_general`` has its dimension numbers; that of operands which do not fit has
    # the shapes.
    except TypeError:
        _check_sizes(name, np.shape(a), np.shape(b), *dimensions[0])
        raise
    aval = result.aval
    if aval.weak_type == weak and aval.dtype == dtype:
        return result
    return promotion.convert(result, dtype, weak)


def _check_sizes(
    name: str, a: ir.Shape, b: ir.Shape, axes_a: Sequence[int], axes_b: Sequence[int]
) -> None:
    """Raise an error with the operands' shapes if contracted sizes differ.

    Under ``vmap`` these are the shapes of one example; ``dot_general`` has those of batches.
    """
    for i, j in zip(axes_a, axes_b, strict=True):
        if a[i] != b[j]:
            raise TypeError(
                ir.explained(
                    f"{name}: the shapes {a} and {b} do not fit: it contracts axis {i} of the "
                    f"first, of size {a[i]}, with axis {j} of the second, of size {b[j]}.",
                    "shapes",
                )
            ) from None


def conjugate_if_complex[T: ir.ArrayLike](x: T) -> T | ir.Array:
    """The complex conjugate; a real array is returned unchanged."""
    aval = ir.get_aval(x)
    return lax.conj(x) if aval.dtype in promotion.COMPLEX_DTYPES else x


@product("out_sharding")
def dot(
    a: ir.ArrayLike,
    b: ir.ArrayLike,
    *,
    precision: lax.PrecisionLike = None,
    preferred_element_type: ir.DTypeLike | None = None,
    out_sharding: object = None,
) -> ir.Array:
    """The sum of products over the last dimension of ``a`` and the last but one of ``b``.

    Args:
      a, b: arrays; a vector's only dimension is summed over, a scalar multiplies.
      precision: how exact the products are on accelerators; see ``lax.Precision``.
      preferred_element_type: the dtype to accumulate in and to return.
      out_sharding: the result's sharding.

    Returns:
      An array of the shapes of ``a`` and ``b``, in this order, without the dimensions that are
      summed over.

    Raises:
      TypeError: if the dimensions have different sizes, or an operand is not an array.

    Of two arrays of more than two dimensions this gives all pairs of matrices; ``matmul``
    multiplies them one by one.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.dot(jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0])))
      11.0
      >>> x, y = jnp.ones((5, 2, 3)), jnp.ones((5, 3, 4))
      >>> jnp.dot(x, y).shape, jnp.matmul(x, y).shape
      ((5, 2, 5, 4), (5, 2, 4))

    See also:
      ``matmul``, ``@``; ``einsum``; ``vdot``, which conjugates.

    Source: numpy.dot.
    """
    plain = precision is None and preferred_element_type is None and out_sharding is None
    cached = cached_product(a, b) if plain else None
    if cached is not None:
        return cached(a, b)
    arguments = a, b
    a, b = promotion.operands("dot", a, b)
    rank_a, rank_b = np.ndim(a), np.ndim(b)
    contracted = ((rank_a - 1,), (max(0, rank_b - 2),)) if rank_a and rank_b else ((), ())
    dims = (contracted, ((), ()))
    result = contract("dot", a, b, dims, precision, preferred_element_type, out_sharding)
    # Of these types the product is one operation, without promotion or a change of the result.
    if plain and 0 < rank_a <= 2 and 0 < rank_b <= 2:
        _cache_product(*arguments, dims)
    return result


@product("out_sharding")
def matmul(
    a: ir.ArrayLike,
    b: ir.ArrayLike,
    *,
    precision: lax.PrecisionLike = None,
    preferred_element_type: ir.DTypeLike | None = None,
    out_sharding: object = None,
) -> ir.Array:
    """The matrix product, over leading dimensions that broadcast.

    Args:
      a, b: arrays of shapes ``(..., m, k)`` and ``(..., k, n)``, or vectors of size ``k``, whose
        dimension the result does not have.
      precision, preferred_element_type, out_sharding: see ``dot``.

    Returns:
      An array of shape ``(..., m, n)``, of the promoted dtype or of ``preferred_element_type``.

    Raises:
      ValueError: if an operand is a scalar, or leading dimensions do not broadcast.
      TypeError: if the contracted sizes differ, or an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> a, b = jnp.array([[1, 2], [3, 4]]), jnp.array([[0, 1], [1, 0]])
      >>> (a @ b).tolist(), (a @ jnp.array([1, 1])).tolist()
      ([[2, 1], [4, 3]], [3, 7])
      >>> stack = jnp.ones((5, 1, 2, 3)) @ jnp.ones((7, 3, 4))  # of matrices
      >>> stack.shape
      (5, 7, 2, 4)

    See also:
      ``dot``; ``einsum``; ``linalg.solve``, better than a product with ``linalg.inv``.

    Source: numpy.matmul.
    """
    plain = precision is None and preferred_element_type is None and out_sharding is None
    cached = cached_product(a, b) if plain else None
    if cached is not None:
        return cached(a, b)
    arguments = a, b
    a, b = promotion.operands("matmul", a, b)
    shape_a, shape_b = np.shape(a), np.shape(b)
    rank_a, rank_b = len(shape_a), len(shape_b)
    if not rank_a or not rank_b:
        position = 0 if not rank_a else 1
        raise ValueError(
            f"matmul: operand {position} is a scalar, but operands need at least one dimension. "
            "Use * to scale."
        )
    if rank_a <= 2 and rank_b <= 2:
        dims = (((rank_a - 1,), (max(0, rank_b - 2),)), ((), ()))
        result = contract("matmul", a, b, dims, precision, preferred_element_type, out_sharding)
        if plain:
            _cache_product(*arguments, dims)
        return result
    arguments = (a, b, shape_a, shape_b, precision, preferred_element_type)
    if out_sharding is None:
        return _batched_matmul(*arguments)
    target = checked_out_sharding.call(out_sharding)
    return resolved_by(target, lambda: _batched_matmul(*arguments, target))


# The products of arrays that need no promotion, by the operands' types. The classes belong to the
# key, since an object that wraps an array may show that array's ``aval``.
_products: ir.Cache[tuple, ir.Operation] = ir.Cache("products", 4096)


def cached_product(a: ir.ArrayLike, b: ir.ArrayLike) -> ir.Operation | None:
    """Return the cached product of vectors or matrices of these types, or None."""
    # A library that counts or replaces products must see each of them.
    if is_intercepted():
        return None
    types = getattr(a, "aval", None), getattr(b, "aval", None)
    return _products.entries.get((types, type(a), type(b), ir.trace_key()))


def _cache_product(a: ir.ArrayLike, b: ir.ArrayLike, dims: lax.DotDimensionNumbers) -> None:
    """Cache a product of arrays of one dtype, neither weakly typed."""
    if not (hasattr(type(a), "aval") and hasattr(type(b), "aval")):
        return
    types: tuple[Any, Any] = ir.get_aval(a), ir.get_aval(b)
    weak = types[0].weak_type or types[1].weak_type
    if types[0].dtype == types[1].dtype and not weak and ir.default_matmul_precision.value is None:
        product = ir.Operation(
            lax.dot_general_p,
            dimension_numbers=dims,
            precision=None,
            preferred_element_type=types[0].dtype,
            out_sharding=None,
        )
        _products.add((types, type(a), type(b), ir.trace_key()), product)


def _batched_matmul(
    a: ir.Array,
    b: ir.Array,
    shape_a: ir.Shape,
    shape_b: ir.Shape,
    precision: lax.PrecisionLike,
    preferred: ir.DTypeLike | None,
    target: "NamedPlacement | None" = None,
) -> ir.Array:
    rows, columns = len(shape_a) > 1, len(shape_b) > 1
    lead_a, lead_b = shape_a[: -2 if rows else -1], shape_b[: -2 if columns else -1]
    broadcast_shape("matmul", lead_a or (1,), lead_b or (1,))
    rank = max(len(lead_a), len(lead_b))
    squeeze_a: list[int] = []
    squeeze_b: list[int] = []
    batch_a: list[int] = []
    batch_b: list[int] = []
    # Leading dimensions of size 1 are squeezed, so that batch dimensions have equal sizes; those of
    # one operand alone are free dimensions of ``dot_general``. ``origins`` holds the operands that
    # each leading dimension of the result comes from.
    origins: list[str] = []
    for d in range(rank):
        i, j = d - rank + len(lead_a), d - rank + len(lead_b)
        if i < 0 or j < 0:
            origins.append("b" if i < 0 else "a")
        elif lead_a[i] == lead_b[j] != 1:
            batch_a.append(i)
            batch_b.append(j)
            origins.append("both")
        else:
            if lead_a[i] == 1:
                squeeze_a.append(i)
            if lead_b[j] == 1:
                squeeze_b.append(j)
            both = lead_a[i] == lead_b[j]
            origins.append("none" if both else "b" if lead_a[i] == 1 else "a")
    a = lax.squeeze(a, squeeze_a)
    b = lax.squeeze(b, squeeze_b)
    batch_a = [i - sum(s < i for s in squeeze_a) for i in batch_a]
    batch_b = [j - sum(s < j for s in squeeze_b) for j in batch_b]
    last = np.ndim(b) - (2 if columns else 1)
    dims = (((np.ndim(a) - 1,), (last,)), (tuple(batch_a), tuple(batch_b)))
    order = _order(origins, rows, columns)
    ones = [d for d, origin in enumerate(origins) if origin == "none"]
    from ._partial_sums import partial_sums  # noqa: PLC0415 - lazy: eager products need it not

    sharding = partial_sums(target, a, b, dims, order, ones)
    out = lax.transpose(contract("matmul", a, b, dims, precision, preferred, sharding), order)
    return lax.expand_dims(out, ones)


def _order(origins: list[str], rows: bool, columns: bool) -> list[int]:
    """The order of ``dot_general``'s dimensions by which leading ones follow the operands'."""
    both = origins.count("both")
    from_a = both + origins.count("a")
    # ``dot_general`` has the batch dimensions first, then the free ones of each operand in turn;
    # the result interleaves the leading ones, with rows and columns last.
    position = {"both": 0, "a": both, "b": from_a + rows}
    order: list[int] = []
    for origin in origins:
        if origin != "none":
            order.append(position[origin])
            position[origin] += 1
    if rows:
        order.append(from_a)
    if columns:
        order.append(position["b"])
    return order


@product()
def vdot(
    a: ir.ArrayLike,
    b: ir.ArrayLike,
    *,
    precision: lax.PrecisionLike = None,
    preferred_element_type: ir.DTypeLike | None = None,
) -> ir.Array:
    """The sum of products of all elements, those of ``a`` conjugated.

    Args:
      a, b: arrays of equal size.
      precision, preferred_element_type: see ``dot``.

    Returns:
      A scalar array.

    Raises:
      TypeError: if the sizes differ, or an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> float(jnp.vdot(jnp.ones((2, 2)), jnp.ones(4)))
      4.0

    Source: numpy.vdot.
    """
    a, b = promotion.operands("vdot", a, b)
    a = conjugate_if_complex(a)
    return dot(
        jnp.ravel(a),
        jnp.ravel(b),
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


@product("axis")
def vecdot(
    x1: ir.ArrayLike,
    x2: ir.ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: lax.PrecisionLike = None,
    preferred_element_type: ir.DTypeLike | None = None,
) -> ir.Array:
    """The sum of products along a dimension, ``x1`` conjugated.

    Args:
      x1, x2: arrays that broadcast, of equal sizes along ``axis``.
      axis: the dimension.
      precision, preferred_element_type: see ``dot``.

    Returns:
      An array of the broadcast shape without ``axis``.

    Raises:
      ValueError: if the sizes differ, or an operand is a scalar.
      TypeError: if an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.vecdot(jnp.ones((2, 3)), jnp.arange(3.)).tolist()
      [3.0, 3.0]

    Source: numpy.vecdot.
    """
    x1, x2 = promotion.operands("vecdot", x1, x2)
    if not np.ndim(x1) or not np.ndim(x2):
        raise ValueError("vecdot: operands need at least one dimension, got a scalar.")
    x1, x2 = jnp.moveaxis(x1, axis, -1), jnp.moveaxis(x2, axis, -1)
    shape1, shape2 = np.shape(x1), np.shape(x2)
    if shape1[-1] != shape2[-1]:
        raise ValueError(
            f"vecdot: the operands have different sizes along axis {axis}: {shape1[-1]} and "
            f"{shape2[-1]}."
        )
    lead = broadcast_shape("vecdot", (*shape1[:-1], 1), (*shape2[:-1], 1))[:-1]
    x1 = broadcast(conjugate_if_complex(x1), (*lead, shape1[-1]))
    x2 = broadcast(x2, (*lead, shape1[-1]))
    batch = tuple(range(len(lead)))
    dims = (((len(lead),), (len(lead),)), (batch, batch))
    return contract("vecdot", x1, x2, dims, precision, preferred_element_type)


@product()
def inner(
    a: ir.ArrayLike,
    b: ir.ArrayLike,
    *,
    precision: lax.PrecisionLike = None,
    preferred_element_type: ir.DTypeLike | None = None,
) -> ir.Array:
    """The sums of products over the last dimensions.

    Args:
      a, b: arrays of equal last sizes; a scalar multiplies.
      precision, preferred_element_type: see ``dot``.

    Returns:
      An array of the other dimensions of ``a``, followed by those of ``b``.

    Raises:
      TypeError: if the sizes differ, or an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.inner(jnp.eye(2), jnp.arange(2.)).tolist()
      [0.0, 1.0]

    Source: numpy.inner.
    """
    a, b = promotion.operands("inner", a, b)
    if not np.ndim(a) or not np.ndim(b):
        dtype, _ = preferred_type("inner", preferred_element_type, a, b)
        product = multiply(a, b)
        return promotion.convert(product, dtype) if preferred_element_type else product
    dims = (((np.ndim(a) - 1,), (np.ndim(b) - 1,)), ((), ()))
    return contract("inner", a, b, dims, precision, preferred_element_type)
