"""Reductions over sliding windows: ``reduce_window``, and windowed sums and extrema."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_batching import batch_flat, batched_at
from ricci_lax.elementwise import add, ge_p, le_p, max, min
from ricci_lax.elementwise._factories import scalar_like
from ricci_lax.rules._checkify import checks_nan, makes_no_nan
from ricci_lax.shapes import pad
from ricci_lax.shapes import slice as slice_array
from ricci_lax.structure._broadcasting import broadcast
from ricci_lax.structure._operand_types import anything, array_aval, check_dtype, numeric, shape_of
from ricci_pytree import tree_flatten, tree_unflatten
from ricci_stablehlo import Lowering, Value

from . import _window_shape as window_shape
from ._identities import highest, lowest
from ._reduce import check_initial_values, is_identity, strong_scalar, trace_computation
from ._window_selection import select_and_gather_add_p

__all__ = ["reduce_window", "reduce_window_max_p", "reduce_window_min_p", "reduce_window_p"]
__all__ += ["reduce_window_sum_p"]


def _window_aval(name: str, x: ir.ShapedArray, window: dict[str, Any]) -> ir.ShapedArray:
    sizes = (
        window["window_dimensions"],
        window["window_strides"],
        window["padding"],
        window["base_dilation"],
        window["window_dilation"],
    )
    window_shape.check_window(name, x.shape, *sizes)
    return x.resized(window_shape.reduce_window_shape_tuple(x.shape, *sizes))


def _windowed(
    name: str,
    combine: Callable[[ir.Array, ir.Array], ir.Array],
    accepted: Sequence[type],
    identity: Callable[[np.dtype], ir.ArrayLike],
    **rules: object,
) -> ir.Primitive:
    """A primitive that combines the elements of each window with one operation."""

    def abstract_eval(x: ir.ShapedArray, **window: object) -> ir.ShapedArray:
        check_dtype(name, x, accepted)
        return _window_aval(name, x, window)

    def batch(axis, args, dims, **window):
        dim = dims[0]
        return primitive.bind(args[0], **window_shape.batched_window(dim, **window)), dim

    def lower(ctx: Lowering, x: Value, **window: Any) -> Value:
        scalar = ir.ShapedArray((), x.dtype)
        jaxpr = ir.trace_to_jaxpr(
            lambda a, b: [combine(a, b)], [scalar, scalar], origin=ir.no_origin
        )
        init = ctx.constant(identity(x.dtype), scalar)
        return window_shape.lower_reduce_window(ctx, [x], [init], jaxpr, **window)[0]

    block = {"checkify": checks_nan, "sharding": ir.factors(ir.same_dimensions), **rules}
    primitive = ir.define(name, abstract_eval=abstract_eval, batch=batch, lower=lower, **block)
    return primitive


def _sum_transpose(
    ct, x, *, window_dimensions, window_strides, padding, base_dilation, window_dilation
):
    """Sum the cotangents of the windows that each element is in, by a windowed sum."""
    shape, counts = x.aval.shape, shape_of(ct)
    base = window_shape.dilated_shape(shape, base_dilation)
    window = window_shape.dilated_shape(window_dimensions, window_dilation)
    # Element i is in the windows that reach it: behind ``width - low - 1`` zeros, with the gaps of
    # the strides filled by zeros, their cotangents are exactly the window that starts at i.
    config = []
    for size, width, stride, (low, _), count in zip(
        base, window, window_strides, padding, counts, strict=True
    ):
        before = width - low - 1
        # As much padding (or, if negative, as little) as leaves one window for each element.
        after = size + width - 1 - window_shape.dilated(count, stride) - before
        config.append((before, after, stride - 1))
    spread = pad(ct, scalar_like(ct, 0), config)
    ones = (1,) * len(shape)
    # The steps of the window skip the gaps that the dilation put between the elements.
    result = reduce_window_sum_p.bind(
        spread,
        window_dimensions=window_dimensions,
        window_strides=base_dilation,
        padding=((0, 0),) * len(shape),
        base_dilation=ones,
        window_dilation=window_dilation,
    )
    return [result]


def _extremum_jvp(
    primitive: Callable[[], ir.Primitive], select_prim: ir.Primitive
) -> Callable[..., Any]:
    """The jvp rule of a windowed extremum: the tangent of the selected element of each window."""

    def jvp(primals, tangents, **window):
        (x,), (t,) = primals, tangents
        result = primitive().bind(x, **window)
        return result, select_and_gather_add_p.bind(t, x, select_prim=select_prim, **window)

    return jvp


def _zero(dtype: ir.DTypeLike) -> ir.ArrayLike:
    return np.zeros((), dtype)[()]


reduce_window_sum_p: ir.Primitive = _windowed(
    "reduce_window_sum", add, numeric, _zero, jvp=ad.linear, transpose=_sum_transpose
)
reduce_window_max_p: ir.Primitive = _windowed(
    "reduce_window_max",
    max,
    anything,
    lowest,
    jvp=_extremum_jvp(lambda: reduce_window_max_p, ge_p),
    transpose=ad.not_linear,
    checkify=makes_no_nan,
)
reduce_window_min_p: ir.Primitive = _windowed(
    "reduce_window_min",
    min,
    anything,
    highest,
    jvp=_extremum_jvp(lambda: reduce_window_min_p, le_p),
    transpose=ad.not_linear,
    checkify=makes_no_nan,
)


# reduce_window, with any computation


def _halves[T](values: Sequence[T]) -> tuple[Sequence[T], Sequence[T]]:
    """The operands and the initial values among a primitive's arguments."""
    count = len(values) // 2
    return values[:count], values[count:]


def _reduce_window_aval(
    *avals: ir.ShapedArray, jaxpr: ir.Jaxpr, consts: Sequence[ir.Array], **window: object
) -> list[ir.ShapedArray]:
    operands, inits = _halves(avals)
    check_initial_values("reduce_window", operands, inits)
    return [_window_aval("reduce_window", x, window).strip_weak_type() for x in operands]


def _fold_windows(
    jaxpr: ir.Jaxpr,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
    *args: ir.Array,
) -> list[ir.Array]:
    """``reduce_window`` by slices of the operands, one for each position in the window."""
    operands, inits = _halves(args)
    shape = shape_of(operands[0])
    sizes = (window_dimensions, window_strides, padding, base_dilation, window_dilation)
    counts = window_shape.reduce_window_shape_tuple(shape, *sizes)
    config = tuple(
        (low, high, base - 1) for (low, high), base in zip(padding, base_dilation, strict=True)
    )
    padded = [pad(x, init, config) for x, init in zip(operands, inits, strict=True)]
    total = [broadcast(init, counts) for init in inits]
    if 0 in counts:
        return total
    # One step for each position in the window: a strided slice has, for every window, its element
    # at this position.
    for position in product(*map(range, window_dimensions)):
        starts = tuple(p * d for p, d in zip(position, window_dilation, strict=True))
        limits = tuple(
            s + window_shape.dilated(n, stride)
            for s, n, stride in zip(starts, counts, window_strides, strict=True)
        )
        part = [slice_array(x, starts, limits, window_strides) for x in padded]
        total = ir.eval_jaxpr(jaxpr, jaxpr.consts, *total, *part)
    return total


def _as_slices(jaxpr: ir.Jaxpr, window: dict[str, Any]) -> Callable[..., list[ir.Array]]:
    """The function of operands and initial values that ``_fold_windows`` computes."""
    sizes = (
        window["window_dimensions"],
        window["window_strides"],
        window["padding"],
        window["base_dilation"],
        window["window_dilation"],
    )
    return lambda *args: _fold_windows(jaxpr, *sizes, *args)


def _reduce_window_jvp(primals, tangents, *, jaxpr, consts, **window):
    operands, inits = _halves(primals)
    operand_tangents, init_tangents = _halves(list(map(ad.instantiate, tangents)))
    count = len(operands)

    # The derivative of an associative function, on pairs of primals and tangents, is associative,
    # too: (x, t) and (y, u) combine to f(x, y) and df(x, y) (t, u).
    def pair(*scalars):
        x, t, y, u = (scalars[i * count : (i + 1) * count] for i in range(4))
        run = lambda *xs: ir.eval_jaxpr(jaxpr, jaxpr.consts, *xs)
        values, changes = ad.jvp_flat(run, [*x, *y], [*t, *u])
        return [*values, *map(ad.instantiate, changes)]

    scalars = [v.aval for v in jaxpr.invars[:count]]
    results = reduce_window_p.bind(
        *operands,
        *operand_tangents,
        *inits,
        *init_tangents,
        jaxpr=ir.trace_to_jaxpr(pair, scalars * 4),
        consts=(),
        **window,
    )
    return results[:count], results[count:]


def _reduce_window_linearize(tape, primals, tangents, *, jaxpr, consts, **window):
    """Linearize through slices, because the jvp rule reduces primals together with tangents."""
    program = ir.trace_to_jaxpr(_as_slices(jaxpr, window), list(map(ir.get_aval, primals)))
    return ad.linearize_call(tape, primals, tangents, jaxpr=program, name="reduce_window")


def _reduce_window_series(push, primals, series, *, jaxpr, consts, **window):
    """The jet rule: all coefficients are reduced together, as further operands."""
    count, order = len(primals) // 2, len(series[0])
    flags = [(ad.has_tangent(v.aval),) * order for v in jaxpr.invars]
    pushed, out_flags = push(jaxpr, flags, flags[:count])

    def combine(*scalars):
        halves = [(half[:count], half[count:]) for half in _halves(scalars)]
        (x, x_terms), (y, y_terms) = halves
        return ir.eval_jaxpr(pushed, pushed.consts, *x, *y, *x_terms, *y_terms)

    terms = [
        ad.instantiate(ad.Zero.from_primal(x)) if term is None else term
        for x, row in zip(primals, series, strict=True)
        for term in row
        if ad.has_tangent(ir.get_aval(x))
    ]
    (operands, inits), (operand_terms, init_terms) = _halves(primals), _halves(terms)
    all_operands = (*operands, *operand_terms, *inits, *init_terms)
    scalars = [ir.get_aval(x).resized(()) for x in all_operands]
    program = ir.trace_to_jaxpr(combine, scalars)
    outs = reduce_window_p.bind(*all_operands, jaxpr=program, consts=(), **window)
    return outs[:count], ad.series_of(out_flags, outs[count:])


def _reduce_window_batch(axis, args, dims, *, jaxpr, consts, **window):
    operands, inits = _halves(args)
    operand_dims, init_dims = _halves(dims)
    # The operation pads and starts with a single scalar, which cannot differ between examples.
    if any(d is not None for d in init_dims):
        return batch_flat(_as_slices(jaxpr, window), axis, args, dims)
    moved = [batched_at(x, d, axis, 0) for x, d in zip(operands, operand_dims, strict=True)]
    window = window_shape.batched_window(0, **window)
    results = reduce_window_p.bind(*moved, *inits, jaxpr=jaxpr, consts=consts, **window)
    return results, [0] * len(operands)


def _reduce_window_lower(
    ctx: Lowering, *args: Value, jaxpr: ir.Jaxpr, consts: Sequence[ir.Array], **window: Any
) -> list[Value]:
    operands, inits = _halves(args)
    return window_shape.lower_reduce_window(ctx, operands, inits, jaxpr, **window)


def _reduce_window_factors(*avals: ir.ShapedArray, **window: object) -> ir.FactorMap:
    operands, inits = _halves(avals)
    dims = tuple(range(operands[0].ndim))
    return ir.FactorMap((*(dims,) * len(operands), *((),) * len(inits)), (dims,) * len(operands))


reduce_window_p: ir.Primitive = ir.define(
    "reduce_window",
    sharding=ir.factors(_reduce_window_factors),
    abstract_eval=_reduce_window_aval,
    multiple_results=True,
    memo=False,
    jvp=_reduce_window_jvp,
    jet=ad.at_once(_reduce_window_series),
    linearize=_reduce_window_linearize,
    transpose=ad.not_linear,
    batch=_reduce_window_batch,
    lower=_reduce_window_lower,
    checkify=checks_nan,
)

# Computations with a specialised primitive, and the initial value that it starts from.
_monoids: dict[Any, tuple[Callable[[np.dtype], ir.ArrayLike], ir.Primitive]] = {
    add: (_zero, reduce_window_sum_p),
    max: (lowest, reduce_window_max_p),
    min: (highest, reduce_window_min_p),
}


def reduce_window(
    operand: ir.PyTree,
    init_value: ir.PyTree,
    computation: Callable[[Any, Any], ir.PyTree],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> ir.PyTree:
    """Combine the elements of every window that slides over an array.

    Args:
      operand: an array, or a pytree of arrays of one shape that are reduced together.
      init_value: for each array a scalar, the identity of the computation; padding has this value.
      computation: an associative function of two pytrees of scalars like ``init_value``.
      window_dimensions: the window's size in each dimension.
      window_strides: its step in each dimension, by default 1.
      padding: ``"VALID"``, ``"SAME"``, ``"SAME_LOWER"``, or low and high padding for each
        dimension.
      base_dilation: the distance of the operand's elements, by default 1.
      window_dilation: the distance of the window's elements, by default 1.

    Returns:
      A pytree like ``operand``, of arrays with one element for each window.

    Raises:
      TypeError: if the lengths of the window's parameters differ from the operand's rank, or
        they are not positive, or an initial value is not a scalar.
      ValueError: if the pytrees differ.
      RuntimeError: if the padding's name is unknown.

    Example:
      Sums of neighbours, and the maximum of blocks of two by two:

      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> lax.reduce_window(jnp.array([1, 2, 3, 4]), 0, lax.add, (2,)).tolist()
      [3, 5, 7]
      >>> image = jnp.arange(16.0).reshape(4, 4)
      >>> lax.reduce_window(image, -jnp.inf, lax.max, (2, 2), (2, 2)).tolist()
      [[5.0, 7.0], [13.0, 15.0]]

    Notes:
      ``lax.add``, ``lax.max``, ``lax.min`` and ``lax.mul`` with their identities have derivatives.
      With any other function, or another initial value, there is none in reverse mode.

    See also:
      ``jnp.convolve``; ``reduce``, over whole dimensions; ``cumsum`` and kin, over windows that
      grow.

    Source: StableHLO ``reduce_window``.
    """
    operands, tree = tree_flatten(operand)
    inits, init_tree = tree_flatten(init_value)
    if tree != init_tree:
        raise ValueError(
            f"reduce_window: operands have structure {tree} and init_values {init_tree}. "
            "Give one initial value for each operand."
        )
    if not operands:
        raise ValueError("reduce_window: there is nothing to reduce; give one array or more.")
    avals = [array_aval(x) for x in operands]
    init_avals = [array_aval(x) for x in inits]
    if any(aval.shape for aval in init_avals):
        raise TypeError(
            "reduce_window: the initial values have shapes "
            f"{[aval.shape for aval in init_avals]}; a window is reduced from scalars."
        )
    if any(aval.shape != avals[0].shape for aval in avals):
        raise TypeError(
            "reduce_window requires operands of one shape, got "
            f"{', '.join(aval.str_short() for aval in avals)}."
        )
    window = window_shape.canonical_window(
        "reduce_window",
        avals[0].shape,
        window_dimensions,
        window_strides,
        padding,
        base_dilation,
        window_dilation,
    )
    # Public functions are wrapped to hide internal frames; the table has the functions themselves.
    monoid = _monoids.get(ir.unguarded(computation)) if len(operands) == 1 else None
    if monoid is not None and is_identity(inits[0], monoid[0], avals[0].dtype):
        return tree_unflatten(tree, [monoid[1].bind(operands[0], **window)])
    jaxpr = trace_computation("reduce_window", computation, tree, init_avals)
    results = reduce_window_p.bind(
        *operands, *map(strong_scalar, inits), jaxpr=jaxpr, consts=(), **window
    )
    return tree_unflatten(tree, results)
