"""``reduce``: reduction by any associative computation, of several arrays at once."""

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_autodiff import Zero, instantiate, jvp_flat, not_linear
from ricci_batching import batch_flat, batched_at
from ricci_ir import Array, ArrayLike, DTypeLike, Jaxpr, PyTree, ShapedArray
from ricci_lax.elementwise import add, bitwise_and, bitwise_or, bitwise_xor, max, min, mul
from ricci_lax.rules._checkify import checks_nan
from ricci_lax.structure._broadcasting import batched_axes, reduce_sum, reduced_aval
from ricci_lax.structure._operand_types import array_aval, shape_of, with_out_sharding
from ricci_pytree import PyTreeDef, tree_flatten, tree_unflatten
from ricci_stablehlo import Lowering, Value

from . import _axis_reductions as axis_reductions
from . import _identities as identities

__all__ = ["reduce", "reduce_p"]


def _zero(dtype: DTypeLike) -> ArrayLike:
    return np.zeros((), dtype)[()]


def _one(dtype: DTypeLike) -> ArrayLike:
    return np.ones((), dtype)[()]


def _all_ones(dtype: DTypeLike) -> ArrayLike:
    return np.asarray(-1).astype(dtype)[()]


# Computations with a specialised reduction: their identity and this reduction.
_monoids: dict[Any, tuple[Callable[[np.dtype], ArrayLike], Callable[..., Array]]] = {
    add: (_zero, reduce_sum),
    mul: (_one, axis_reductions.reduce_prod),
    max: (identities.lowest, axis_reductions.reduce_max),
    min: (identities.highest, axis_reductions.reduce_min),
    bitwise_and: (_all_ones, axis_reductions.reduce_and),
    bitwise_or: (_zero, axis_reductions.reduce_or),
    bitwise_xor: (_zero, axis_reductions.reduce_xor),
}


def is_known_value(x: ArrayLike, value: ArrayLike) -> bool:
    """Whether ``x`` is a concrete scalar equal to a NumPy value."""
    return not isinstance(x, ir.Tracer) and not shape_of(x) and bool(np.asarray(x) == value)


def is_identity(x: ArrayLike, identity: Callable[..., ArrayLike], dtype: DTypeLike) -> bool:
    """Whether ``x`` is a computation's identity, ``identity(dtype)``, of whichever dtype.

    Infinity counts as the highest or lowest number of dtypes that lack it.
    """
    # An infinity of any dtype bounds all numbers, also of a dtype with a finite lowest value.
    infinite = {identities.lowest: -np.inf, identities.highest: np.inf}.get(identity)
    if infinite is not None and is_known_value(x, infinite):
        return True
    return is_known_value(x, identity(dtype))


_computations: ir.TracedFunctions[Any, Jaxpr] = ir.TracedFunctions("computations of reductions", 64)


def trace_computation(
    name: str, computation: Callable[..., PyTree], tree: PyTreeDef, avals: Sequence[ShapedArray]
) -> Jaxpr:
    """The jaxpr of a function of two pytrees of scalars that returns such a pytree.

    A later call with the same function and types reuses it, and so its executables.

    Raises:
      ValueError: if it returns something else.
      NotImplementedError: if it uses traced values from outside.
    """

    def flat(*scalars: Array) -> list[Array]:
        count = len(avals)
        lhs, rhs = (tree_unflatten(tree, part) for part in (scalars[:count], scalars[count:]))
        leaves, out_tree = tree_flatten(computation(lhs, rhs))
        if out_tree != tree:
            raise ValueError(
                f"{name}: the computation must return the same tree structure as the operands, "
                f"got {out_tree}, expected {tree}."
            )
        return leaves

    # The computation is applied to its own results, whose types are not weak.
    scalars = [aval.strip_weak_type() for aval in avals]
    key = name, tree, tuple(scalars)
    cached = _computations.recall(computation, key)
    if cached is not None:
        return cached
    jaxpr = ir.trace_to_jaxpr(flat, [*scalars, *scalars], ir.DebugInfo(name, "computation"))
    if ir.closes_over_tracers(jaxpr):
        raise NotImplementedError(
            f"{name}: the computation uses values traced outside of it; it may use only its own "
            "arguments and constants."
        )
    for got, scalar in zip(jaxpr.out_avals, scalars, strict=True):
        if (got.shape, got.dtype) != (scalar.shape, scalar.dtype):  # pyright: ignore
            raise TypeError(
                f"{name}: the computation must return scalars of the initial values' types "
                f"{[a.str_short() for a in scalars]}, got "
                f"{[a.str_short() for a in jaxpr.out_avals]}."
            )
    _computations.put(computation, key, jaxpr)
    return jaxpr


def check_initial_values(
    name: str, operands: Sequence[ShapedArray], inits: Sequence[ShapedArray]
) -> None:
    """Raise ``TypeError`` unless each initial value has the dtype of its operand."""
    if any(init.dtype != x.dtype for x, init in zip(operands, inits, strict=True)):
        raise TypeError(
            f"{name}: the operands have dtypes {list(operands)}, and the initial values "
            f"{list(inits)}. Give each operand an initial value of its own dtype."
        )


def _reduce_aval(
    *avals: ShapedArray, computation, jaxpr: Jaxpr, dimensions: ir.Shape
) -> list[ShapedArray]:
    operands, inits = _halves(avals)
    check_initial_values("reduce", operands, inits)
    if any(x.shape != operands[0].shape for x in operands):
        raise TypeError(
            "reduce requires operands of one shape, got "
            f"{', '.join(x.str_short() for x in operands)}."
        )
    return [reduced_aval(x, dimensions).strip_weak_type() for x in operands]


def _halves[T](values: Sequence[T]) -> tuple[Sequence[T], Sequence[T]]:
    """The operands and the initial values among a primitive's arguments."""
    count = len(values) // 2
    return values[:count], values[count:]


def _fold(jaxpr: Jaxpr, dimensions: Sequence[int], *args: Array) -> list[Array]:
    """The reduction, without the initial values, by operations on halves."""
    operands, inits = _halves(args)

    def combine(lefts: Sequence[Array], rights: Sequence[Array]) -> list[Array]:
        return ir.eval_jaxpr(jaxpr, jaxpr.consts, *lefts, *rights)

    return axis_reductions.fold_axes(operands, inits, dimensions, combine)


def _is_discrete(tangent: Array | Zero) -> bool:
    """Whether a tangent is that of an array of integers or booleans."""
    return type(tangent) is Zero and tangent.aval.dtype == ir.float0


def _reduce_jvp(primals, tangents, *, computation, jaxpr, dimensions):
    if any(type(t) is not Zero for t in _halves(tangents)[1]):
        raise NotImplementedError(
            "reduce: differentiation with respect to initial values is not implemented. Combine "
            "the initial value with the result instead."
        )
    operands = [t if _is_discrete(t) else instantiate(t) for t in _halves(tangents)[0]]
    tangents = [*operands, *_halves(tangents)[1]]
    return jvp_flat(lambda *xs: _fold(jaxpr, dimensions, *xs), primals, tangents)


def _reduce_batch(axis, args, dims, *, computation, jaxpr, dimensions):
    operands, inits = _halves(args)
    operand_dims, init_dims = _halves(dims)
    if all(d is None for d in init_dims):
        moved = [batched_at(x, d, axis, 0) for x, d in zip(operands, operand_dims, strict=True)]
        axes, _ = batched_axes(dimensions, 0)
        params = {"computation": computation, "jaxpr": jaxpr, "dimensions": axes}
        return reduce_p.bind(*moved, *inits, **params), [0] * len(operands)

    # The operation starts from one initial value for the whole batch. Here each example's own value
    # is combined with its result at the end.
    def fold(*xs):
        initial = xs[len(operands) :]
        results = _fold(jaxpr, dimensions, *xs)
        return ir.eval_jaxpr(jaxpr, jaxpr.consts, *initial, *results)

    return batch_flat(fold, axis, args, dims)


def _reduce_lower(
    ctx: Lowering, *args: Value, computation, jaxpr: Jaxpr, dimensions: ir.Shape
) -> list[Value]:
    operands, inits = _halves(args)
    return axis_reductions.lower_variadic_reduce(ctx, operands, inits, dimensions, jaxpr)


def _reduce_factors(*avals: ShapedArray, dimensions: ir.Shape, **params: object) -> ir.FactorMap:
    operands, inits = _halves(avals)
    dims = tuple(range(operands[0].ndim))
    remaining = tuple(i for i in dims if i not in dimensions)
    return ir.FactorMap(
        (*(dims,) * len(operands), *((),) * len(inits)),
        (remaining,) * len(operands),
        frozenset(dimensions),
    )


reduce_p: ir.Primitive = ir.define(
    "reduce",
    sharding=ir.factors(_reduce_factors),
    abstract_eval=_reduce_aval,
    multiple_results=True,
    memo=False,
    jvp=_reduce_jvp,
    transpose=not_linear,
    batch=_reduce_batch,
    lower=_reduce_lower,
    checkify=checks_nan,
)


def reduce(
    operands: PyTree,
    init_values: PyTree,
    computation: Callable[[Any, Any], PyTree],
    dimensions: Sequence[int],
    out_sharding: object = None,
) -> PyTree:
    """Combine the elements of arrays along some dimensions with any computation.

    Args:
      operands: an array, or a pytree of arrays of one shape that are reduced together.
      init_values: for each array a scalar of its dtype. It must be the identity of the
        computation, because it may be combined any number of times.
      computation: an associative function of two pytrees of scalars like ``init_values``.
      dimensions: which to reduce, non-negative and distinct.
      out_sharding: the sharding of the results.

    Returns:
      A pytree like ``operands``.

    Raises:
      TypeError: if dtypes or shapes do not fit.
      ValueError: if the pytrees differ, an initial value is not a scalar, or a dimension is out
        of bounds.

    Example:
      The greatest element of each row with its position, in one pass over two arrays:

      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> def greater(a, b):
      ...     (x, i), (y, j) = a, b
      ...     return lax.select(x >= y, x, y), lax.select(x >= y, i, j)
      >>> x = jnp.array([[1.0, 7.0, 3.0], [9.0, 2.0, 5.0]])
      >>> at = lax.broadcasted_iota(jnp.int32, (2, 3), 1)
      >>> values, places = lax.reduce((x, at), (-jnp.inf, jnp.int32(0)), greater, (1,))
      >>> values.tolist(), places.tolist()
      ([7.0, 9.0], [1, 0])

    Source: StableHLO ``reduce``.
    """
    flat_operands, tree = tree_flatten(operands)
    flat_inits, init_tree = tree_flatten(init_values)
    if tree != init_tree:
        raise ValueError(
            f"reduce: operands have structure {tree} and init_values {init_tree}. Give one "
            "initial value for each operand."
        )
    if not flat_operands:
        raise ValueError("reduce: there is nothing to reduce; give one array or more.")
    # Public functions are wrapped to hide internal frames; the table has the functions themselves.
    monoid = _monoids.get(ir.unguarded(computation)) if len(flat_operands) == 1 else None
    dtypes = [array_aval(x).dtype for x in flat_operands]
    plain = monoid is not None and is_identity(flat_inits[0], monoid[0], dtypes[0])
    init_avals = [array_aval(x) for x in flat_inits]
    if any(aval.shape for aval in init_avals):
        raise ValueError(
            f"reduce: the initial values have shapes {[aval.shape for aval in init_avals]}; "
            "a reduction starts from scalars."
        )
    axes = tuple(map(index, dimensions))
    if monoid is not None and plain:
        results = [monoid[1](flat_operands[0], axes)]
    else:
        check_initial_values("reduce", [array_aval(x) for x in flat_operands], init_avals)
        jaxpr = trace_computation("reduce", computation, tree, init_avals)
        results = reduce_p.bind(
            *flat_operands,
            *map(strong_scalar, flat_inits),
            computation=computation,
            jaxpr=jaxpr,
            dimensions=axes,
        )
    return tree_unflatten(tree, [with_out_sharding(r, out_sharding) for r in results])


def strong_scalar(x: ArrayLike) -> ArrayLike:
    """A Python scalar as a NumPy scalar of its default dtype; other values unchanged."""
    if isinstance(x, bool | int | float | complex) and not isinstance(x, np.generic):
        return np.asarray(x, array_aval(x).dtype)[()]
    return x
