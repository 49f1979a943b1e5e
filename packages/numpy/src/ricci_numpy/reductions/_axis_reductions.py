"""Sums, products, extremes and logical reductions over axes."""

from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_numpy._promotion import convert, no_out, strong_constant
from ricci_numpy.arrays._creation import asarray, chosen_dtype

from . import _kinds as kinds
from ._reduced_axes import ReducedAxis, axis_count, has_names, keep_axes, reduced_and_named_axes

__all__ = ["all", "amax", "amin", "any", "count_nonzero", "max", "min", "minmax", "prod", "ptp"]
__all__ += ["sum"]

_FLOAT32 = np.dtype("float32")


# Sums and products of booleans as booleans are these reductions.
_OF_BOOLEANS = {"sum": "any", "prod": "all"}


def _total_step(name: str) -> ir.Composite:
    """A sum or product of checked operands, traced once for their types."""

    @ir.inlined(name)
    def step(a, where, initial, *, axes, dtype, keepdims, promote_integers):
        a = asarray(a)
        result_dtype = kinds.sum_dtype(a.dtype, promote_integers) if dtype is None else dtype
        # Narrow floats are summed in float32 and rounded once; an explicit dtype is the user's
        # choice.
        computed = kinds.accumulated_dtype(result_dtype) if dtype is None else result_dtype
        kind = _OF_BOOLEANS[name] if computed == ir.BOOL else name
        result = kinds.reduced(name, kind, convert(a, computed), where, initial, axes, keepdims)
        return convert(result, result_dtype)

    return step


def _extreme_step(name: str) -> ir.Composite:
    """A maximum or minimum of checked operands."""

    @ir.inlined(name)
    def step(a, where, initial, *, axes, keepdims):
        a = asarray(a)
        return kinds.reduced(name, name, convert(a, a.dtype), where, initial, axes, keepdims)

    return step


def _logical_step(name: str) -> ir.Composite:
    """``all`` or ``any`` of checked operands."""

    @ir.inlined(name)
    def step(a, where, *, axes, keepdims):
        return kinds.reduced(name, name, convert(asarray(a), ir.BOOL), where, None, axes, keepdims)

    return step


_STEPS = {
    **{name: _total_step(name) for name in ("sum", "prod")},
    **{name: _extreme_step(name) for name in ("max", "min", "peak")},
    **{name: _logical_step(name) for name in ("all", "any")},
}


def _total(
    name: str,
    a: ir.ArrayLike,
    axis: ir.Axis,
    dtype: np.dtype | None,
    keepdims: bool,
    initial: ir.ArrayLike | None,
    mask: ir.ArrayLike | None,
    promote_integers: bool,
) -> ir.Array:
    a, mask, initial, axes = kinds.reduction_operands(name, a, axis, mask, initial)
    return _STEPS[name](
        a,
        mask,
        initial,
        axes=axes,
        dtype=dtype,
        keepdims=bool(keepdims),
        promote_integers=bool(promote_integers),
    )


def _extreme(
    name: str,
    a: ir.ArrayLike,
    axis: ir.Axis,
    out: None,
    keepdims: bool,
    initial: ir.ArrayLike | None,
    mask: ir.ArrayLike | None,
) -> ir.Array:
    no_out(name, out)
    a, mask, initial, axes = kinds.reduction_operands(name, a, axis, mask, initial)
    if initial is None:
        aval = ir.get_aval(a)
        if mask is not None:
            raise ValueError(
                f"{name}: with where=..., give initial=..., the result where nothing is selected."
            )
        if aval.size == 0 and axis_count(aval.shape, axes) == 0:
            raise ValueError(
                f"{name}: an array of shape {aval.shape} has no elements along axis {axis}, and "
                f"{name} has no identity to start from. Give initial=..., the result for that case."
            )
        # The fast path: one operation, without a call of the step.
        if not (keepdims or aval.weak_type or has_names(axes)) and hasattr(type(a), "aval"):
            return kinds.KINDS[name].primitive.bind(a, axes=axes, out_sharding=None)
    return _STEPS[name](a, mask, initial, axes=axes, keepdims=bool(keepdims))


def _logical(
    name: str, a: ir.ArrayLike, axis: ir.Axis, out: None, keepdims: bool, mask: ir.ArrayLike | None
) -> ir.Array:
    no_out(name, out)
    a, mask, _, axes = kinds.reduction_operands(name, a, axis, mask)
    return _STEPS[name](a, mask, axes=axes, keepdims=bool(keepdims))


# Dtypes whose sums need no conversion.
_SUMMED_AS_THEY_ARE = frozenset(
    (_FLOAT32, *map(np.dtype, ("int32", "uint32", "complex64", "complex128", "float64")))
)

# Sums that need no promotion, cached by the type of the array and the axis.
_sums: ir.Cache[Any, ir.Operation] = ir.Cache("sums", 4096)


def _plain_sum(a: ir.ArrayLike, axis: ir.Axis) -> ir.Operation | None:
    """The sum of an array along axes, if it is one operation."""
    kind, aval = type(a), getattr(a, "aval", None)
    # True equals 1 as a key, and a tuple may hold an unhashable axis.
    cacheable = axis is None or type(axis) is int
    key = (kind, aval, axis, ir.trace_key()) if cacheable else None
    operation = _sums.entries.get(key)
    if operation is not None or aval is None or not hasattr(kind, "aval"):
        return operation
    if aval.weak_type or aval.dtype not in _SUMMED_AS_THEY_ARE:
        return None
    # With 64-bit types, 32-bit integers are promoted to the default integer.
    if aval.dtype.itemsize < 8 and ir.python_scalar_dtype(int).itemsize == 8:
        return None
    axes = reduced_and_named_axes("sum", axis, aval.ndim)
    if has_names(axes):
        return None
    operation = ir.Operation(lax.reduce_sum_p, axes=axes, out_sharding=None)
    return _sums.add(key, operation) if cacheable else operation


def sum(
    a: ir.ArrayLike,
    axis: ir.Axis = None,
    dtype: ir.DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ir.ArrayLike | None = None,
    where: ir.ArrayLike | None = None,
    promote_integers: bool = True,
) -> ir.Array:
    """The sum of the elements along axes.

    Args:
      a: an array. Booleans and short integers are summed as default integers.
      axis: the axis or axes to sum over; all without it. A text names an axis of an enclosing
        ``vmap``, ``pmap`` or ``shard_map``, whose members are summed.
      dtype: the dtype of the sum.
      out: not supported.
      keepdims: whether the axes stay, with size 1.
      initial: a scalar to add.
      where: a boolean mask that broadcasts with ``a``; other elements are left out.
      promote_integers: whether short integers become default integers.

    Returns:
      An array of the shape of ``a`` without the axes.

    Raises:
      TypeError: if ``a`` is not an array.
      ValueError: if an axis is out of bounds or given twice.
      NameError: if no enclosing transformation binds the name of an axis.

    Sums of float16 and bfloat16 are taken in float32 and rounded at the end. Integers wrap where
    they leave the range of the result's dtype.

    Example:
      >>> import ricci.numpy as jnp
      >>> x = jnp.array([[1, 2], [3, 4]])
      >>> int(jnp.sum(x)), jnp.sum(x, axis=0).tolist(), jnp.sum(x, axis=1, keepdims=True).tolist()
      (10, [4, 6], [[3], [7]])
      >>> int(jnp.sum(x, where=x > 2))  # a fixed shape, where x[x > 2] has none under jit
      7
      >>> jnp.sum(jnp.array([True, True])), jnp.sum(jnp.ones(3, "int8")).dtype
      (Array(2, dtype=int32), dtype('int32'))

    See also:
      ``nansum``; ``cumsum``; ``einsum``, for sums of products; ``ops.segment_sum``, for groups.

    Source: numpy.sum.
    """
    if dtype is None and initial is None and where is None and out is None:
        plain = _plain_sum(a, axis)
        if plain is not None:
            total = plain(a)
            return keep_axes(total, plain.params["axes"]) if keepdims else total
    no_out("sum", out)
    dtype = chosen_dtype(dtype, "sum")
    return _total("sum", a, axis, dtype, keepdims, initial, where, promote_integers)


@ir.dispatched("axis", "dtype", "out", "keepdims", "promote_integers")
def prod(
    a: ir.ArrayLike,
    axis: ir.Axis = None,
    dtype: ir.DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ir.ArrayLike | None = None,
    where: ir.ArrayLike | None = None,
    promote_integers: bool = True,
) -> ir.Array:
    """The product of the elements along axes; the arguments are those of ``sum``.

    Args:
      a, axis, dtype, out, keepdims, where, promote_integers: as for ``sum``.
      initial: a scalar to multiply with.

    Returns:
      An array of the shape of ``a`` without the axes.

    The product of many floats leaves their range soon; the sum of logarithms does not.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.prod(jnp.array([[1, 2], [3, 4]]), axis=1).tolist()
      [2, 12]

    Source: numpy.prod.
    """
    no_out("prod", out)
    dtype = chosen_dtype(dtype, "prod")
    return _total("prod", a, axis, dtype, keepdims, initial, where, promote_integers)


@ir.dispatched("axis", "out", "keepdims")
def max(
    a: ir.ArrayLike,
    axis: ir.Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ir.ArrayLike | None = None,
    where: ir.ArrayLike | None = None,
) -> ir.Array:
    """The largest element along axes; NaN if there is one.

    Args:
      a: an array.
      axis: the axis or axes to reduce; all without it.
      out: not supported.
      keepdims: whether the axes stay, with size 1.
      initial: a scalar that the result is at least.
      where: a boolean mask that broadcasts with ``a``; needs ``initial``.

    Returns:
      An array of the shape of ``a`` without the axes, and of its dtype.

    Raises:
      TypeError: if ``a`` is not an array.
      ValueError: if there are no elements and no ``initial``, or an axis is out of bounds.

    The gradient is shared by all elements that are largest.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> x = jnp.array([[3.0, 1.0], [2.0, 5.0]])
      >>> jnp.max(x, axis=1).tolist()
      [3.0, 5.0]
      >>> jnp.max(x, axis=1, where=x < 3, initial=-jnp.inf).tolist()
      [1.0, 2.0]
      >>> ricci.grad(jnp.max)(jnp.array([1.0, 4.0, 4.0])).tolist()
      [0.0, 0.5, 0.5]

    See also:
      ``maximum``, of two arrays; ``argmax``, where it is; ``nanmax``.

    Source: numpy.max.
    """
    return _extreme("max", a, axis, out, keepdims, initial, where)


def peak(a: ir.Array, axis: ir.Axis, where: ir.ArrayLike | None, keepdims: bool) -> ir.Array:
    """The largest element as ``max`` with ``initial=-inf``; beside a NaN it may be any number.

    For results that are NaN where an element is.
    """
    a, mask, initial, axes = kinds.reduction_operands("max", a, axis, where, -np.inf)
    return _STEPS["peak"](a, mask, initial, axes=axes, keepdims=keepdims)


@ir.dispatched("axis", "out", "keepdims")
def min(
    a: ir.ArrayLike,
    axis: ir.Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ir.ArrayLike | None = None,
    where: ir.ArrayLike | None = None,
) -> ir.Array:
    """The smallest element along axes; NaN if there is one. See ``max``.

    Args:
      a, axis, out, keepdims, where: as for ``max``.
      initial: a scalar that the result is at most.

    Returns:
      An array of the shape of ``a`` without the axes, and of its dtype.

    Raises:
      ValueError: if there are no elements and no ``initial``, or an axis is out of bounds.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.min(jnp.array([[3, 1], [2, 5]]), axis=1).tolist()
      [1, 2]

    See also:
      ``minimum``, of two arrays; ``argmin``, where it is; ``nanmin``.

    Source: numpy.min.
    """
    return _extreme("min", a, axis, out, keepdims, initial, where)


amax = ir.function_alias(max, "amax")
amin = ir.function_alias(min, "amin")


@ir.dispatched("axis", "out", "keepdims")
def minmax(
    a: ir.ArrayLike,
    axis: ir.Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ir.ArrayLike | tuple[ir.ArrayLike, ir.ArrayLike] | None = None,
    where: ir.ArrayLike | None = None,
) -> tuple[ir.Array, ir.Array]:
    """The smallest and the largest element along axes; see ``max``.

    Args:
      initial: a scalar, or one for the minimum and one for the maximum.
      a, axis, out, keepdims, where: as for ``max``.

    Returns:
      A tuple of two arrays, as ``min`` and ``max`` return them.

    Example:
      >>> import ricci.numpy as jnp
      >>> [int(x) for x in jnp.minmax(jnp.array([3, 1, 2]))]
      [1, 3]
    """
    low, high = initial if isinstance(initial, tuple) else (initial, initial)
    return (min(a, axis, out, keepdims, low, where), max(a, axis, out, keepdims, high, where))


@ir.dispatched("axis", "out", "keepdims")
def all(
    a: ir.ArrayLike,
    axis: ir.Axis = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ir.ArrayLike | None = None,
) -> ir.Array:
    """Whether all elements along axes are not zero.

    Args:
      a: an array.
      axis: the axis or axes to reduce; all without it.
      out: not supported.
      keepdims: whether the axes stay, with size 1.
      where: a boolean mask that broadcasts with ``a``.

    Returns:
      An array of booleans, of the shape of ``a`` without the axes; ``where`` leaves out elements,
      and nothing is all true.

    Raises:
      TypeError: if ``a`` is not an array.
      ValueError: if an axis is out of bounds.

    Example:
      >>> import ricci.numpy as jnp
      >>> x = jnp.array([[1, 0], [2, 3]])
      >>> jnp.all(x, axis=1).tolist()
      [False, True]
      >>> bool(jnp.all(x > 0, where=x != 0)), bool(jnp.all(jnp.array([])))
      (True, True)

    See also:
      ``any``; Python's ``all`` of a traced array is an error or a slow loop.

    Source: numpy.all.
    """
    return _logical("all", a, axis, out, keepdims, where)


@ir.dispatched("axis", "out", "keepdims")
def any(
    a: ir.ArrayLike,
    axis: ir.Axis = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ir.ArrayLike | None = None,
) -> ir.Array:
    """Whether some element along axes is not zero; see ``all``.

    Args:
      a, axis, out, keepdims, where: as for ``all``.

    Returns:
      An array of booleans, of the shape of ``a`` without the axes.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.any(jnp.array([[1, 0], [0, 0]]), axis=1).tolist()
      [True, False]

    See also:
      ``all``.

    Source: numpy.any.
    """
    return _logical("any", a, axis, out, keepdims, where)


@ir.dispatched("axis", "out", "keepdims")
def ptp(
    a: ir.ArrayLike, axis: ir.Axis = None, out: None = None, keepdims: bool = False
) -> ir.Array:
    """The largest element minus the smallest, along axes; see ``max``.

    Args:
      a, axis, out, keepdims: as for ``max``.

    Returns:
      An array of the shape of ``a`` without the axes, and of its dtype.

    Example:
      >>> import ricci.numpy as jnp
      >>> int(jnp.ptp(jnp.array([3, 5, 2])))
      3

    Source: numpy.ptp.
    """
    no_out("ptp", out)
    a, *_, axes = kinds.reduction_operands("ptp", a, axis)
    return _ptp(a, axes=axes, keepdims=bool(keepdims))


@ir.composite("_ptp")
def _ptp(a: ir.Array, *, axes: tuple[ReducedAxis, ...], keepdims: bool) -> ir.Array:
    return lax.sub(max(a, axes, None, keepdims), min(a, axes, None, keepdims))


@ir.dispatched("axis", "keepdims")
def count_nonzero(a: ir.ArrayLike, axis: ir.Axis = None, keepdims: bool = False) -> ir.Array:
    """The number of elements along axes that are not zero; see ``sum``.

    Args:
      a, axis, keepdims: as for ``sum``.

    Returns:
      An array of integers of the shape of ``a`` without the axes.

    Example:
      >>> import ricci.numpy as jnp
      >>> x = jnp.array([[3, 0, 2], [0, 0, 1]])
      >>> jnp.count_nonzero(x, axis=1).tolist(), int(jnp.count_nonzero(x > 1))
      ([2, 1], 2)

    Source: numpy.count_nonzero.
    """
    a, *_, axes = kinds.reduction_operands("count_nonzero", a, axis)
    return _count_nonzero(a, axes=axes, keepdims=bool(keepdims))


@ir.composite("count_nonzero")
def _count_nonzero(a: ir.Array, *, axes: tuple[ReducedAxis, ...], keepdims: bool) -> ir.Array:
    nonzero = a if a.dtype == ir.BOOL else lax.ne(a, strong_constant(a.dtype, 0))
    return sum(nonzero, axes, ir.python_scalar_dtype(int), None, keepdims)
