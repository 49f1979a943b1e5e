"""Prefix scans: ``associative_scan``, and cumulative sums, products, extrema and log-sum-exps."""

from collections.abc import Callable, Sequence
from operator import index
from typing import overload

import numpy as np

import ricci_ir as ir
from ricci_autodiff import jvp_flat, linear, not_linear
from ricci_lax.custom._jvp import custom_jvp
from ricci_lax.elementwise._arithmetic import abs, mul
from ricci_lax.elementwise._comparison import bitwise_or, eq, ge, ne, select_n
from ricci_lax.elementwise._linear import add, neg, real, sub
from ricci_lax.elementwise._piecewise_linear import max, min
from ricci_lax.elementwise._transcendental import exp, log1p
from ricci_lax.rules._checkify import checks_nan
from ricci_lax.shapes import concatenate, pad, rev, slice_in_dim
from ricci_lax.structure import _operand_types as operands
from ricci_lax.structure import full_like
from ricci_pytree import tree_flatten, tree_unflatten
from ricci_stablehlo import Lowering, Value, native_kernel

from ._identities import highest, lowest
from ._row_scans import RowScan
from ._window_shape import lower_reduce_window

__all__ = ["associative_scan", "cumlogsumexp", "cumlogsumexp_p", "cummax", "cummax_p", "cummin"]
__all__ += ["cummin_p", "cumprod", "cumprod_p", "cumsum", "cumsum_p"]


@overload
def associative_scan(
    fn: Callable[[ir.Array, ir.Array], ir.ArrayLike],
    elems: ir.Array | np.ndarray,
    reverse: bool = False,
    axis: int = 0,
) -> ir.Array: ...
@overload
def associative_scan[T](
    fn: Callable[[T, T], T], elems: T, reverse: bool = False, axis: int = 0
) -> T: ...
def associative_scan(
    fn: Callable[..., ir.PyTree], elems: ir.PyTree, reverse: bool = False, axis: int = 0
) -> ir.PyTree:
    """Combine the elements of arrays up to each one, in logarithmically many steps.

    Args:
      fn: ``fn(a, b)`` combines two pytrees like ``elems``, element by element along ``axis``; it
        must be associative.
      elems: a pytree of arrays of one size along ``axis``.
      reverse: whether to combine from the end.
      axis: the axis to scan along.

    Returns:
      A pytree like ``elems``, whose element ``i`` combines the elements up to ``i``.

    Raises:
      TypeError: if ``fn`` is not callable.
      ValueError: if the sizes differ, or ``elems`` is empty.

    Example:
      The recurrence ``h[i] = a[i] * h[i - 1] + b[i]``, without a loop: what is combined are the
      maps ``h -> a * h + b``, and applying two of them one after the other is such a map.

      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> def after(first, second):
      ...     a1, b1 = first
      ...     a2, b2 = second
      ...     return a1 * a2, a2 * b1 + b2
      >>> a = jnp.array([0.5, 0.5, 2.0, 1.0])
      >>> b = jnp.array([4.0, 0.0, 1.0, 1.0])
      >>> lax.associative_scan(after, (a, b))[1].tolist()
      [4.0, 2.0, 5.0, 6.0]

    Notes:
      ``fn`` gets many elements at once, along ``axis``: it must be written for arrays, or wrapped
      in ``vmap``. Sums of floats are rounded in another order than by a loop.

    See also:
      ``scan``; ``cumsum`` and kin, for single operations.

    Source: Blelloch, "Prefix sums and their applications", 1990.
    """
    if not callable(fn):
        raise TypeError(
            f"associative_scan: fn is {fn!r}; give a function of two elements that returns "
            "their combination."
        )
    leaves, tree = tree_flatten(elems)
    if not leaves:
        raise ValueError("lax.associative_scan: elems must hold at least one array.")
    axis = operands.canonical_axis(axis, len(operands.shape_of(leaves[0])))
    size = operands.shape_of(leaves[0])[axis]
    if any(len(operands.shape_of(x)) <= axis or operands.shape_of(x)[axis] != size for x in leaves):
        raise ValueError(
            "associative_scan: the arrays of elems differ in size along the dimension that "
            f"is scanned: their shapes are {[operands.shape_of(x) for x in leaves]}."
        )

    def combine(a: Sequence[ir.Array], b: Sequence[ir.Array]) -> list[ir.Array]:
        return tree_flatten(fn(tree_unflatten(tree, a), tree_unflatten(tree, b)))[0]

    if reverse:
        leaves = [rev(x, (axis,)) for x in leaves]
    results = _scan(combine, leaves, axis)
    if reverse:
        results = [rev(x, (axis,)) for x in results]
    return tree_unflatten(tree, results)


def _scan(
    combine: Callable[[Sequence[ir.Array], Sequence[ir.Array]], list[ir.Array]],
    elems: Sequence[ir.Array],
    axis: int,
) -> list[ir.Array]:
    size = operands.shape_of(elems[0])[axis]
    if size < 2:
        return list(elems)

    def part(xs: Sequence[ir.Array], start: int, stop: int, stride: int = 1) -> list[ir.Array]:
        return [slice_in_dim(x, start, stop, stride, axis) for x in xs]

    # Scanning the combinations of pairs computes the results at odd positions. Each of these,
    # combined with the next element, is the result at the even position that follows.
    pairs = combine(part(elems, 0, size - 1, 2), part(elems, 1, size, 2))
    odd = _scan(combine, pairs, axis)
    before = part(odd, 0, size // 2 - 1) if size % 2 == 0 else odd
    even = combine(before, part(elems, 2, size, 2))
    even = [
        concatenate([slice_in_dim(x, 0, 1, 1, axis), following], axis)
        for x, following in zip(elems, even, strict=True)
    ]
    return [_interleave(a, b, axis) for a, b in zip(even, odd, strict=True)]


def _interleave(even: ir.Array, odd: ir.Array, axis: int) -> ir.Array:
    aval = operands.array_aval(even)
    equal = aval.shape[axis] == operands.shape_of(odd)[axis]
    zero = ir.exact_scalar(0, aval.dtype)

    def spread(x: ir.Array, low: int, high: int) -> ir.Array:
        config = [(0, 0, 0)] * aval.ndim
        config[axis] = (low, high, 1)
        return pad(x, zero, config)

    # Each array has zeros where the other one has its elements: the sum interleaves them, and so
    # does a disjunction of booleans.
    join = bitwise_or if ir.issubdtype(aval.dtype, np.bool_) else add
    return join(spread(even, 0, int(equal)), spread(odd, 1, int(not equal)))


@custom_jvp
def logaddexp(x1: ir.ArrayLike, x2: ir.ArrayLike) -> ir.Array:
    """``log(exp(x1) + exp(x2))`` of arrays of one inexact dtype, without overflow.

    Example:
      >>> import numpy as np
      >>> from ricci_lax.reductions._cumulative import logaddexp
      >>> logaddexp(np.zeros(3, np.float32), np.zeros(3, np.float32)).shape
      (3,)
    """
    if ir.issubdtype(operands.array_aval(x1).dtype, np.complexfloating):
        return _complex_logaddexp(x1, x2)
    # Relative to the larger operand the exponential is 1 at most, and does not overflow.
    larger = max(x1, x2)
    delta = sub(x1, x2)
    # For infinities of one sign and for NaNs the difference is NaN, but the sum is right.
    undefined, total = ne(delta, delta), add(x1, x2)
    return select_n(undefined, add(larger, log1p(exp(neg(abs(delta))))), total)


def _complex_logaddexp(x1: ir.ArrayLike, x2: ir.ArrayLike) -> ir.Array:
    first = ge(real(x1), real(x2))
    larger, smaller = select_n(first, x2, x1), select_n(first, x1, x2)
    # If even the larger one is the logarithm of zero, so is the sum.
    part = operands.array_aval(real(larger))
    nothing = eq(real(larger), ir.exact_scalar(-np.inf, part.dtype))
    return select_n(nothing, add(larger, log1p(exp(sub(smaller, larger)))), larger)


@logaddexp.defjvp
def _logaddexp_jvp(primals, tangents):
    result = logaddexp(*primals)
    total = None
    for x, t in zip(primals, tangents, strict=True):
        # The derivative is the softmax exp(x - result). Where both are infinite, zeros in their
        # place make the weight 1 instead of NaN.
        term = mul(t, exp(sub(_finite_above(x), _finite_above(result))))
        total = term if total is None else add(total, term)
    return result, total


def _finite_above(x: ir.Array) -> ir.Array:
    """``x`` with zeros in place of positive infinities."""
    infinity = np.asarray(np.inf, operands.array_aval(x).dtype)[()]
    return select_n(eq(x, infinity), x, full_like(x, 0))


def _is_integral(dtype: np.dtype) -> bool:
    """Whether a dtype is one of integers."""
    return ir.issubdtype(dtype, np.integer)


def _cumulative(
    name: str,
    combine: Callable[[ir.Array, ir.Array], ir.Array],
    identity: Callable[[np.dtype], ir.ArrayLike],
    *,
    exact: Callable[[np.dtype], bool] = _is_integral,
    costly: bool = False,
    compensated: bool = False,
    **rules: object,
) -> ir.Primitive:
    """A primitive whose element ``i`` combines the operand's elements up to ``i``.

    Args:
      combine: the operation of two elements.
      identity: returns the identity of ``combine`` for a dtype.
      exact: whether ``combine`` is associative to the last bit, by dtype.
      costly: whether ``combine`` costs more than moving its operands.
      compensated: whether ``combine`` is a sum whose rounding errors may be summed as well.
    """

    def abstract_eval(x: ir.ShapedArray, *, axis: int, reverse: bool) -> ir.ShapedArray:
        operands.check_dtype(name, x, operands.numeric)
        if axis < 0:
            raise ValueError(
                f"{name}: axis={axis} is negative; count the axes of lax functions from 0."
            )
        if axis >= x.ndim:
            raise ValueError(f"{name}: axis={axis} is out of bounds for shape {x.shape}.")
        return x

    def jvp(primals, tangents, *, axis, reverse):
        # The window reduction of the lowering has no derivative for every operation, but the
        # operations and slices of ``associative_scan`` have one.
        def scan(x: ir.Array) -> list[ir.Array]:
            return [associative_scan(combine, x, reverse, axis)]

        (result,), (tangent,) = jvp_flat(scan, primals, tangents)
        return result, tangent

    def batch(_axis, args, dims, *, axis, reverse):
        dim = dims[0]
        return primitive.bind(args[0], axis=axis + (axis >= dim), reverse=reverse), dim

    def lower(ctx: Lowering, x: Value, *, axis: int, reverse: bool) -> Value:
        count = x.shape[axis]
        if x.aval.size == 0:
            return x
        # The kernel's rows are contiguous: along another axis it would need a transpose.
        if axis == len(x.shape) - 1 and not reverse:
            kernel = native_kernel(ctx, name, x.aval, axis)
            if kernel is not None:
                return kernel.write_rows(ctx, [x], [x.aval], axis)[0]
        is_exact = exact(x.dtype)
        rows = RowScan(
            combine=combine,
            identity=identity(x.dtype),
            axis=axis,
            reverse=reverse,
            exact=is_exact,
            costly=costly,
            compensated=compensated and not is_exact,
        )
        if rows.serves(ctx, x):
            return rows.write(ctx, x)
        # A window that ends (or starts) at each element and reaches over the whole axis.
        scalar = ir.ShapedArray((), x.dtype)
        jaxpr = ir.trace_to_jaxpr(
            lambda a, b: [combine(a, b)], [scalar, scalar], origin=ir.no_origin
        )
        ones = (1,) * len(x.shape)
        pads = [(0, 0)] * len(ones)
        before = ir.max_dim(count - 1, 0)  # a symbolic size may be 0
        pads[axis] = (0, before) if reverse else (before, 0)
        window = [1] * len(ones)
        window[axis] = ir.max_dim(count, 1)
        init = ctx.constant(identity(x.dtype), scalar)
        (result,) = lower_reduce_window(
            ctx,
            [x],
            [init],
            jaxpr,
            window_dimensions=window,
            window_strides=ones,
            padding=pads,
            base_dilation=ones,
            window_dilation=ones,
        )
        return result

    block = {
        "jvp": jvp,
        "sharding": ir.except_dimension("axis"),
        "transpose": not_linear,
        "checkify": checks_nan,
        **rules,
    }
    primitive = ir.define(name, abstract_eval=abstract_eval, batch=batch, lower=lower, **block)
    return primitive


def _zero(dtype: ir.DTypeLike) -> ir.ArrayLike:
    return np.zeros((), dtype)[()]


def _one(dtype: ir.DTypeLike) -> ir.ArrayLike:
    return np.ones((), dtype)[()]


cumsum_p: ir.Primitive = _cumulative(
    "cumsum",
    add,
    _zero,
    compensated=True,
    jvp=linear,
    transpose=lambda ct, x, *, axis, reverse: [cumsum_p.bind(ct, axis=axis, reverse=not reverse)],
    sums=ir.linear_in_all,
)
cumprod_p: ir.Primitive = _cumulative("cumprod", mul, _one)
cummax_p: ir.Primitive = _cumulative("cummax", max, lowest, exact=lambda dtype: True)
cummin_p: ir.Primitive = _cumulative("cummin", min, highest, exact=lambda dtype: True)
cumlogsumexp_p: ir.Primitive = _cumulative("cumlogsumexp", logaddexp, lowest, costly=True)


def cumsum(operand: ir.ArrayLike, axis: int = 0, reverse: bool = False) -> ir.Array:
    """The sums of an array's elements up to each one along an axis.

    Args:
      operand: an array of a numeric dtype.
      axis: a non-negative axis.
      reverse: whether to sum from the end.

    Returns:
      An array of the operand's shape and dtype.

    Raises:
      ValueError: if the axis is negative or out of bounds.
      TypeError: if the dtype is boolean.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> lax.cumsum(jnp.array([1, 2, 3])).tolist()
      [1, 3, 6]
      >>> lax.cumsum(jnp.array([1, 2, 3]), reverse=True).tolist()
      [6, 5, 3]
    """
    return cumsum_p.bind(operand, axis=index(axis), reverse=bool(reverse))


def cumprod(operand: ir.ArrayLike, axis: int = 0, reverse: bool = False) -> ir.Array:
    """The products of an array's elements up to each one along an axis; see ``cumsum``.

    Args:
      operand, axis, reverse: as for ``cumsum``.

    Returns:
      An array of the operand's shape and dtype.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> lax.cumprod(jnp.array([1, 2, 3, 4])).tolist()
      [1, 2, 6, 24]
    """
    return cumprod_p.bind(operand, axis=index(axis), reverse=bool(reverse))


def cummax(operand: ir.ArrayLike, axis: int = 0, reverse: bool = False) -> ir.Array:
    """The greatest of an array's elements up to each one along an axis; see ``cumsum``.

    Args:
      operand, axis, reverse: as for ``cumsum``.

    Returns:
      An array of the operand's shape and dtype.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> lax.cummax(jnp.array([1, 3, 2, 4])).tolist()
      [1, 3, 3, 4]
    """
    return cummax_p.bind(operand, axis=index(axis), reverse=bool(reverse))


def cummin(operand: ir.ArrayLike, axis: int = 0, reverse: bool = False) -> ir.Array:
    """The least of an array's elements up to each one along an axis; see ``cumsum``.

    Args:
      operand, axis, reverse: as for ``cumsum``.

    Returns:
      An array of the operand's shape and dtype.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> lax.cummin(jnp.array([4, 2, 3, 1])).tolist()
      [4, 2, 2, 1]
    """
    return cummin_p.bind(operand, axis=index(axis), reverse=bool(reverse))


def cumlogsumexp(operand: ir.ArrayLike, axis: int = 0, reverse: bool = False) -> ir.Array:
    """``log(cumsum(exp(operand)))`` along an axis, without overflow; see ``cumsum``.

    Args:
      operand: an array of a floating dtype.
      axis, reverse: as for ``cumsum``.

    Returns:
      An array of the operand's shape and dtype.

    Example:
      Its exponentials would overflow:

      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> [round(x, 3) for x in lax.cumlogsumexp(jnp.array([1000.0, 1000.0])).tolist()]
      [1000.0, 1000.693]
    """
    return cumlogsumexp_p.bind(operand, axis=index(axis), reverse=bool(reverse))
