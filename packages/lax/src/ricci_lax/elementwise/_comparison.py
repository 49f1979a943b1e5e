"""Comparisons, operations on bits, and elementwise choices between arrays."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_autodiff import Zero, is_undefined_primal, linear_given
from ricci_batching import batched_at
from ricci_lax.elementwise._factories import BinaryFunction, UnaryFunction
from ricci_lax.rules._checkify import makes_no_nan
from ricci_lax.structure import _exact_rules as exact
from ricci_lax.structure._broadcasting import broadcast_in_dim, zeros_of
from ricci_lax.structure._operand_types import (
    anything,
    array_aval,
    check_same_dtype,
    integral,
    logical,
    shape_of,
)
from ricci_stablehlo import Lowering, Value, tensor_type

from ._factories import (
    binary_function,
    in_full_shape,
    nary,
    nary_aval,
    repeat_to,
    scalar,
    to_bool,
    unary_function,
)

__all__ = ["and_p", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "clamp", "clamp_p"]
__all__ += ["clz", "clz_p", "eq", "eq_p", "eq_to_p", "ge", "ge_p", "gt", "gt_p", "le", "le_p"]
__all__ += ["le_to_p", "lt", "lt_p", "lt_to_p", "ne", "ne_p", "not_p", "or_p", "population_count"]
__all__ += ["population_count_p", "select", "select_n", "select_n_p", "shift_left", "shift_left_p"]
__all__ += ["shift_right_arithmetic", "shift_right_arithmetic_p", "shift_right_logical"]
__all__ += ["shift_right_logical_p", "xor_p"]

# Comparisons


def comparison_type(dtype: np.dtype) -> str:
    """StableHLO's comparison type for elements of a dtype."""
    if ir.issubdtype(dtype, np.signedinteger):
        return "SIGNED"
    return "FLOAT" if ir.issubdtype(dtype, np.inexact) else "UNSIGNED"


def compare(ctx: Lowering, direction: str, x: Value, y: Value, kind: str = "") -> Value:
    """Write ``stablehlo.compare`` of two values of one shape."""
    kind = kind or comparison_type(x.dtype)
    out = ir.ShapedArray(x.shape, np.dtype(bool))
    return ctx.emit(f"stablehlo.compare {direction},", [x, y], out, f", {kind}", full=True)


def _comparison(
    name: str, direction: str, accepted: Sequence[type], total_order: bool = False, **rules: Any
) -> ir.Primitive:
    def lower(ctx: Lowering, x: Value, y: Value) -> Value:
        kind = "TOTALORDER" if total_order and ir.issubdtype(x.dtype, np.inexact) else ""
        x, y = in_full_shape(ctx, [x, y])
        return compare(ctx, direction, x, y, kind)

    result = nary_aval(name, accepted, to_bool)
    return nary(name, lower, accepted, abstract_eval=result, **rules)


_ordered = (np.integer, np.floating, np.bool_)

# Random keys, and other elements that NumPy does not know, are equal or not.
eq_p: ir.Primitive = _comparison(
    "eq", "EQ", (*anything, ir.extended), exact=exact.elementwise(np.equal)
)
ne_p: ir.Primitive = _comparison(
    "ne", "NE", (*anything, ir.extended), exact=exact.elementwise(np.not_equal)
)
lt_p: ir.Primitive = _comparison("lt", "LT", _ordered, exact=exact.elementwise(np.less))
le_p: ir.Primitive = _comparison("le", "LE", _ordered, exact=exact.elementwise(np.less_equal))
gt_p: ir.Primitive = _comparison("gt", "GT", _ordered, exact=exact.elementwise(np.greater))
ge_p: ir.Primitive = _comparison("ge", "GE", _ordered, exact=exact.elementwise(np.greater_equal))
# In the total order -0 is less than 0, and NaNs are beyond the infinities.
eq_to_p: ir.Primitive = _comparison("eq_to", "EQ", anything, total_order=True)
lt_to_p: ir.Primitive = _comparison("lt_to", "LT", _ordered, total_order=True)
le_to_p: ir.Primitive = _comparison("le_to", "LE", _ordered, total_order=True)

eq: BinaryFunction = binary_function(eq_p, "Elementwise ``x == y``.", "bool(lax.eq(1, 1)) -> True")
ne: BinaryFunction = binary_function(ne_p, "Elementwise ``x != y``.", "bool(lax.ne(1, 1)) -> False")
lt: BinaryFunction = binary_function(lt_p, "Elementwise ``x < y``.", "bool(lax.lt(1, 2)) -> True")
le: BinaryFunction = binary_function(le_p, "Elementwise ``x <= y``.", "bool(lax.le(2, 1)) -> False")
gt: BinaryFunction = binary_function(gt_p, "Elementwise ``x > y``.", "bool(lax.gt(2, 1)) -> True")
ge: BinaryFunction = binary_function(ge_p, "Elementwise ``x >= y``.", "bool(lax.ge(1, 1)) -> True")

# Bits

and_p: ir.Primitive = nary("and", "stablehlo.and", logical, exact=exact.elementwise(np.bitwise_and))
or_p: ir.Primitive = nary("or", "stablehlo.or", logical, exact=exact.elementwise(np.bitwise_or))
xor_p: ir.Primitive = nary("xor", "stablehlo.xor", logical, exact=exact.elementwise(np.bitwise_xor))
not_p: ir.Primitive = nary("not", "stablehlo.not", logical, exact=exact.elementwise(np.bitwise_not))
shift_left_p: ir.Primitive = nary("shift_left", "stablehlo.shift_left", integral)
shift_right_logical_p: ir.Primitive = nary(
    "shift_right_logical", "stablehlo.shift_right_logical", integral
)
shift_right_arithmetic_p: ir.Primitive = nary(
    "shift_right_arithmetic", "stablehlo.shift_right_arithmetic", integral
)
population_count_p: ir.Primitive = nary("population_count", "stablehlo.popcnt", integral)
clz_p: ir.Primitive = nary("clz", "stablehlo.count_leading_zeros", integral)

bitwise_and: BinaryFunction = binary_function(
    and_p, "Elementwise AND of bits or booleans.", "int(lax.bitwise_and(6, 3)) -> 2", "bitwise_and"
)
bitwise_or: BinaryFunction = binary_function(
    or_p, "Elementwise OR of bits or booleans.", "int(lax.bitwise_or(6, 3)) -> 7", "bitwise_or"
)
bitwise_xor: BinaryFunction = binary_function(
    xor_p, "Elementwise exclusive OR of bits.", "int(lax.bitwise_xor(6, 3)) -> 5", "bitwise_xor"
)
bitwise_not: UnaryFunction = unary_function(
    not_p, "Elementwise NOT of bits or booleans.", "int(lax.bitwise_not(6)) -> -7", "bitwise_not"
)
shift_left: BinaryFunction = binary_function(
    shift_left_p, "Elementwise ``x << y``.", "int(lax.shift_left(3, 2)) -> 12"
)
shift_right_logical: BinaryFunction = binary_function(
    shift_right_logical_p,
    "Elementwise ``x >> y``, filled with zeros.",
    "int(lax.shift_right_logical(-1, 28)) -> 15",
)
shift_right_arithmetic: BinaryFunction = binary_function(
    shift_right_arithmetic_p,
    "Elementwise ``x >> y``, filled with copies of the sign bit.",
    "int(lax.shift_right_arithmetic(-8, 2)) -> -2",
)
population_count: UnaryFunction = unary_function(
    population_count_p,
    "Elementwise count of the bits that are set.",
    "int(lax.population_count(7)) -> 3",
)
clz: UnaryFunction = unary_function(
    clz_p, "Elementwise count of the leading bits that are not set.", "int(lax.clz(1)) -> 31"
)

# Choice


def _select_n_aval(which: ir.ShapedArray, *cases: ir.ShapedArray) -> ir.ShapedArray:
    if len(cases) == 0:
        raise ValueError(
            "select_n: no cases were given after `which`; give one array, or more, to choose from."
        )
    shape = cases[0].shape
    if any(case.shape != shape for case in cases):
        raise TypeError(
            f"select: the cases have different shapes, {[case.shape for case in cases]}. "
            "Broadcast them to one shape first."
        )
    check_same_dtype("select", *cases)
    if which.shape and which.shape != shape:
        raise TypeError(
            f"select: `which` of shape {which.shape} does not fit cases of shape {shape}. "
            "Give one choice for each element, or a scalar."
        )
    if which.dtype == np.bool_:
        if len(cases) > 2:
            raise TypeError(
                f"select: a boolean `which` chooses between two cases at most, and {len(cases)} "
                "were given. Use an integer `which`."
            )
    elif not ir.issubdtype(which.dtype, np.integer):
        raise TypeError(
            f"select: `which` has dtype {which.dtype}; it chooses by number, so make it "
            "boolean or integer."
        )
    return cases[0].update(weak_type=all(case.weak_type for case in cases))


def _select_n_tangent(result, primals, tangents):
    zeros = zeros_of(array_aval(result))
    return select_n_p.bind(primals[0], *(zeros if type(t) is Zero else t for t in tangents[1:]))


def _select_n_transpose(ct, which, *cases):
    aval = array_aval(which)
    zeros = zeros_of(array_aval(ct))
    if aval.dtype != np.bool_:  # a number out of bounds chooses the first or the last case
        last = scalar(len(cases) - 1, aval.dtype)
        which = clamp_p.bind(scalar(0, aval.dtype), which, last)

    def chosen(i: int) -> ir.Array:
        if aval.dtype == np.bool_:
            return select_n_p.bind(which, *(ct if j == i else zeros for j in range(len(cases))))
        return select_n_p.bind(eq(which, scalar(i, aval.dtype)), zeros, ct)

    return [
        None,
        *(chosen(i) if is_undefined_primal(case) else None for i, case in enumerate(cases)),
    ]


def _with_scalars_batch(
    bind: Callable[..., ir.Array], order: Sequence[int], scalars: Sequence[int], keep_scalars: bool
) -> Callable[..., tuple[ir.Array, int]]:
    """The batch rule for operands of one shape, some of which may be scalars instead.

    Args:
      order: the operands in the order in which they are aligned.
      scalars: the operands that may be scalars.
      keep_scalars: whether a scalar may stay one beside operands that have been aligned.
    """

    def batch(axis, args, dims):
        shapes = [shape_of(x) for x in args]
        full = next(i for i in range(len(args)) if i not in scalars)
        rank = len(shapes[full]) - (dims[full] is not None)
        small = [
            i
            for i in scalars
            if not shapes[i] or (rank and dims[i] is not None and len(shapes[i]) == 1)
        ]
        targets = {d for i, d in enumerate(dims) if i not in small}
        # All batches are at one place, and scalars are the same for all examples: nothing has to
        # move.
        if None not in targets and len(targets) == 1 and len(small) in (0, len(scalars)):
            if all(dims[i] is None for i in small):
                return bind(*args), targets.pop()
        aligned = {
            i: batched_at(args[i], dims[i], axis, 0)
            for i in (*order, *range(len(order), len(args)))
            if i not in small
        }
        shape = shape_of(aligned[full])
        for i in sorted(small, key=lambda i: dims[i] is not None):
            if dims[i] is None and keep_scalars:
                aligned[i] = args[i]
            else:
                aligned[i] = broadcast_in_dim(args[i], shape, () if dims[i] is None else (0,))
        return bind(*(aligned[i] for i in range(len(args)))), 0

    return batch


_select_aligned = _with_scalars_batch(
    lambda *xs: select_n_p.bind(*xs), (0, 1), (0,), keep_scalars=True
)


def _select_n_batch(axis, args, dims):
    which, *cases = args
    shape = shape_of(which)
    # Several choices between the same numbers. Without a batch that is an error; in one JAX lets it
    # pass, and libraries rely on it (jaxmarl).
    if len(shape) > 1 and dims[0] is not None and not any(map(shape_of, cases)):
        cases = [broadcast_in_dim(case, shape, ()) for case in cases]
        dims = [dims[0]] * len(args)
    return _select_aligned(axis, [which, *cases], dims)


def write_select(ctx: Lowering, predicate: Value, on_true: Value, on_false: Value) -> Value:
    """Write ``stablehlo.select``."""
    out = on_true.aval
    types = f"{tensor_type(predicate.aval)}, {tensor_type(out)}"
    return ctx.emit("stablehlo.select", [predicate, on_true, on_false], out, types=types)


def _select_n_lower(ctx: Lowering, which: Value, *cases: Value) -> Value:
    if len(cases) == 1:
        return cases[0]
    if which.dtype == np.bool_:
        return write_select(ctx, which, cases[1], cases[0])

    # StableHLO's select chooses between two: find the case by bisection.
    def search(offset: int, cases: Sequence[Value]) -> Value:
        if len(cases) == 1:
            return cases[0]
        half = len(cases) // 2
        bound = ctx.constant(offset + half, which.aval.resized(()))
        below = compare(ctx, "LT", which, ctx.broadcast_to(bound, which.shape))
        low = search(offset, cases[:half])
        return write_select(ctx, below, low, search(offset + half, cases[half:]))

    return search(0, cases)


def _select_n_factors(which: ir.ShapedArray, *cases: ir.ShapedArray) -> ir.FactorMap:
    dims = tuple(range(cases[0].ndim))
    chosen = dims if which.ndim else ()
    return ir.FactorMap(
        (chosen, *(dims,) * len(cases)), (dims,), alike=tuple(range(1, len(cases) + 1))
    )


select_n_p: ir.Primitive = ir.define(
    "select_n",
    sharding=ir.factors(_select_n_factors),
    sums=ir.SumsRule("all", beside=slice(0, 1)),
    abstract_eval=_select_n_aval,
    **linear_given(_select_n_tangent),
    transpose=_select_n_transpose,
    batch=_select_n_batch,
    lower=_select_n_lower,
    exact=exact.select,
)


def select_n(which: ir.ArrayLike, *cases: ir.ArrayLike) -> ir.Array:
    """Elementwise choice of one of several arrays.

    Args:
      which: the number of the case to take, an integer or (of two cases) boolean: a scalar, or an
        array of the cases' shape. Out of range, the first or last case is selected.
      cases: arrays of one shape and dtype.

    Returns:
      An array of the shape and dtype of the cases.

    Raises:
      TypeError: if shapes or dtypes do not fit.
      ValueError: without any case.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> which = jnp.array([2, 0, 1])
      >>> cases = jnp.array([10, 11, 12]), jnp.array([20, 21, 22]), jnp.array([30, 31, 32])
      >>> lax.select_n(which, *cases).tolist()
      [30, 11, 22]

    Notes:
      With booleans the first case is that of false: ``select_n(pred, on_false, on_true)``.
    """
    return select_n_p.bind(which, *cases)


def select(pred: ir.ArrayLike, on_true: ir.ArrayLike, on_false: ir.ArrayLike) -> ir.Array:
    """Elementwise ``on_true if pred else on_false``.

    Args:
      pred: booleans: a scalar, or of the cases' shape.
      on_true, on_false: arrays of one shape and dtype.

    Returns:
      An array of the shape and dtype of the cases.

    Raises:
      TypeError: if shapes or dtypes do not fit.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> x = jnp.array([-1.0, 2.0])
      >>> lax.select(x > 0, x, jnp.zeros(2)).tolist()
      [0.0, 2.0]

    See also:
      ``jnp.where``, which broadcasts and promotes its cases; ``cond``, which runs one branch.
    """
    return select_n_p.bind(pred, on_false, on_true)


def _clamp_aval(low: ir.ShapedArray, x: ir.ShapedArray, high: ir.ShapedArray) -> ir.ShapedArray:
    check_same_dtype("clamp", low, x, high)
    for name, bound in (("min", low), ("max", high)):
        if bound.shape and bound.shape != x.shape:
            raise TypeError(
                f"clamp: {name} has shape {bound.shape} and operand {x.shape}. Give a scalar "
                "bound, or broadcast it to the operand's shape."
            )
    return x.update(weak_type=low.weak_type and x.weak_type and high.weak_type)


def _where(mask: ir.Array, t: ir.Array, x: ir.Array) -> ir.Array:
    """The tangent ``t`` where the mask is true, else zeros, in the shape of ``x``."""
    zeros = zeros_of(array_aval(x))
    return select_n_p.bind(mask, zeros, repeat_to(t, shape_of(x)))


# Where ``x`` is equal to a bound no operand has a derivative.
clamp_p: ir.Primitive = nary(
    "clamp",
    "stablehlo.clamp",
    anything,
    lambda t, low, x, high: _where(bitwise_and(gt(low, x), lt(low, high)), t, x),
    lambda t, low, x, high: _where(bitwise_and(gt(x, low), lt(x, high)), t, x),
    lambda t, low, x, high: _where(lt(high, x), t, x),
    abstract_eval=_clamp_aval,
    batch=_with_scalars_batch(lambda *xs: clamp_p.bind(*xs), (0, 2, 1), (0, 2), keep_scalars=False),
    checkify=makes_no_nan,
)


def clamp(min: ir.ArrayLike, x: ir.ArrayLike, max: ir.ArrayLike) -> ir.Array:
    """Elementwise ``x``, clamped between two bounds.

    Args:
      min, max: the bounds, of the dtype of ``x``: scalars, or arrays of its shape.
      x: an array.

    Returns:
      An array of the shape and dtype of ``x``.

    Raises:
      TypeError: if the dtypes differ or a bound has another shape.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> lax.clamp(0.0, jnp.array([-1.0, 0.5, 2.0]), 1.0).tolist()
      [0.0, 0.5, 1.0]

    Notes:
      The bounds come first and last, unlike those of ``jnp.clip``, and have the dtype of ``x``.
    """
    return clamp_p.bind(min, x, max)
