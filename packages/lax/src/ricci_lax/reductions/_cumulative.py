"""Cumulative sums, products, extrema and log-sum-exps along an axis."""

from collections.abc import Callable
from operator import index

import numpy as np

import ricci_ir as ir
from ricci_autodiff import Zero, jvp_flat, linear, not_linear
from ricci_lax.custom._jvp import custom_jvp
from ricci_lax.elementwise._addition import add, neg, sub
from ricci_lax.elementwise._arithmetic import abs, mul
from ricci_lax.elementwise._comparison import eq, ge, ne, select_n
from ricci_lax.elementwise._complex_parts import real
from ricci_lax.elementwise._extremes import max, min
from ricci_lax.elementwise._transcendental import exp, log1p
from ricci_lax.rules._checkify import checks_nan
from ricci_lax.rules._law_examples import along_an_axis, no_order
from ricci_lax.structure._filling import full_like
from ricci_lax.structure._operand_types import array_aval, check_dtype, numeric
from ricci_stablehlo import Lowering, Value

from ._associative_scan import associative_scan
from ._axis_reductions import highest, lowest
from ._window_lowering import lower_reduce_window

__all__ = [
    "cumlogsumexp",
    "cumlogsumexp_p",
    "cummax",
    "cummax_p",
    "cummin",
    "cummin_p",
    "cumprod",
    "cumprod_p",
    "cumsum",
    "cumsum_p",
]


@custom_jvp
def logaddexp(x1: ir.ArrayLike, x2: ir.ArrayLike) -> ir.Array:
    """``log(exp(x1) + exp(x2))`` of arrays of one inexact dtype, without overflow.

    Example:
      >>> import numpy as np
      >>> from ricci_lax.reductions._cumulative import logaddexp
      >>> logaddexp(np.zeros(3, np.float32), np.zeros(3, np.float32)).shape
      (3,)
    """
    if ir.issubdtype(array_aval(x1).dtype, np.complexfloating):
        return _complex_logaddexp(x1, x2)
    larger = max(x1, x2)
    delta = sub(x1, x2)
    # For infinities of one sign and for NaNs the difference is NaN, but the sum is right.
    undefined, total = ne(delta, delta), add(x1, x2)
    return select_n(undefined, add(larger, log1p(exp(neg(abs(delta))))), total)


def _complex_logaddexp(x1: ir.ArrayLike, x2: ir.ArrayLike) -> ir.Array:
    first = ge(real(x1), real(x2))
    larger, smaller = select_n(first, x2, x1), select_n(first, x1, x2)
    # If even the larger one is the logarithm of zero, so is the sum.
    part = array_aval(real(larger))
    nothing = eq(real(larger), ir.exact_scalar(-np.inf, part.dtype))
    return select_n(nothing, add(larger, log1p(exp(sub(smaller, larger)))), larger)


@logaddexp.defjvp
def _logaddexp_jvp(primals, tangents):
    result = logaddexp(*primals)
    total = None
    for x, t in zip(primals, tangents, strict=True):
        term = mul(t, exp(sub(_finite_above(x), _finite_above(result))))
        total = term if total is None else add(total, term)
    return result, total


def _finite_above(x: ir.Array) -> ir.Array:
    """``x`` with zeros in place of positive infinities."""
    infinity = np.asarray(np.inf, array_aval(x).dtype)[()]
    return select_n(eq(x, infinity), x, full_like(x, 0))


def _cumulative(
    name: str,
    combine: Callable[[ir.Array, ir.Array], ir.Array],
    identity: Callable[[np.dtype], ir.ArrayLike],
    **rules: object,
) -> ir.Primitive:
    """A primitive whose element ``i`` combines the operand's elements up to ``i``.

    Args:
      combine: the operation of two elements.
      identity: returns the identity of ``combine`` for a dtype.
    """

    def abstract_eval(x: ir.ShapedArray, *, axis: int, reverse: bool) -> ir.ShapedArray:
        check_dtype(name, x, numeric)
        if axis < 0:
            raise ValueError(
                f"{name}: axis={axis} is negative; count the axes of lax functions from 0."
            )
        if axis >= x.ndim:
            raise ValueError(f"{name}: axis={axis} is out of bounds for shape {x.shape}.")
        return x

    def jvp(primals, tangents, *, axis, reverse):
        if type(tangents[0]) is Zero:
            result = primitive.bind(*primals, axis=axis, reverse=reverse)
            return result, Zero.from_primal(result)

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
        # A window that ends (or starts) at each element and reaches over the whole axis.
        scalar = ir.ShapedArray((), x.dtype)
        jaxpr = ir.trace_to_jaxpr(
            lambda a, b: [combine(a, b)], [scalar, scalar], origin=ir.no_origin
        )
        ones = (1,) * len(x.shape)
        pads = [(0, 0)] * len(ones)
        before = ir.max_dim(count - 1, 0)  # there may be no elements, if the size is symbolic
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
        "exempt": along_an_axis,
        **rules,
    }
    primitive = ir.define(name, abstract_eval=abstract_eval, batch=batch, lower=lower, **block)
    return primitive


def _zero(dtype: ir.DTypeLike) -> ir.ArrayLike:
    return np.zeros((), dtype)[()]


def _one(dtype: ir.DTypeLike) -> ir.ArrayLike:
    return np.ones((), dtype)[()]


def _cumsum_transpose(ct, x, *, axis, reverse):
    return [cumsum_p.bind(ct, axis=axis, reverse=not reverse)]


cumsum_p: ir.Primitive = _cumulative(
    "cumsum", add, _zero, jvp=linear, transpose=_cumsum_transpose, sums=ir.linear_in_all
)
cumprod_p: ir.Primitive = _cumulative("cumprod", mul, _one)
cummax_p: ir.Primitive = _cumulative("cummax", max, lowest, exempt={**along_an_axis, **no_order})
cummin_p: ir.Primitive = _cumulative("cummin", min, highest, exempt={**along_an_axis, **no_order})
cumlogsumexp_p: ir.Primitive = _cumulative(
    "cumlogsumexp",
    logaddexp,
    lowest,
    exempt={
        **along_an_axis,
        **dict.fromkeys(("int", "uint"), "integers have no exponential, here or in JAX"),
    },
)


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
