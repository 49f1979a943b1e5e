"""Scatter: writing slices into an array at computed positions, and combining them with it."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any, Protocol

import numpy as np

import ricci_ir as ir
from ricci_autodiff import Zero, add_tangents, instantiate, is_undefined_primal
from ricci_batching import batched_at, move_dim
from ricci_ir import Array, ArrayLike, FactorMap, Jaxpr, Primitive, ShapedArray
from ricci_lax.elementwise import add, div, eq, max, min, mul, neg, select, sub
from ricci_lax.elementwise._factories import BinaryFunction, scalar
from ricci_lax.structure import broadcasted_iota, full, full_like, reshape
from ricci_lax.structure._broadcasting import zeros_of
from ricci_lax.structure._operand_types import array_aval, check_dtype, numeric, shape_of

from ._dimension_numbers import (
    GatherScatterMode,
    ScatterDimensionNumbers,
    check_batching,
    check_dims,
    check_index_map,
    combiner,
    dimension_tuple,
    shifted,
)
from ._gather import gather_p
from ._joining import check_dtypes_match
from ._scatter_lowering import lower_scatter, window_reading

__all__ = ["scatter", "scatter_add", "scatter_add_p", "scatter_max", "scatter_max_p", "scatter_min"]
__all__ += ["scatter_min_p", "scatter_mul", "scatter_mul_p", "scatter_p", "scatter_sub"]
__all__ += ["scatter_sub_p"]

_UINT32 = np.dtype("uint32")


def _check_shapes(
    operand: ShapedArray, indices: ShapedArray, updates: ShapedArray, dims: ScatterDimensionNumbers
) -> None:
    ndim = len(dims.update_window_dims) + indices.ndim - 1
    if updates.ndim != ndim:
        raise TypeError(
            f"scatter: updates has rank {updates.ndim}, but the indices and dimension_numbers "
            f"call for {ndim}."
        )
    check_dims("scatter", "update_window_dims", dims.update_window_dims, ndim)
    check_dims("scatter", "inserted_window_dims", dims.inserted_window_dims, operand.ndim)
    check_batching(
        "scatter",
        (
            "inserted_window_dims",
            "scatter_dims_to_operand_dims",
            "operand_batching_dims",
            "scatter_indices_batching_dims",
        ),
        dims.inserted_window_dims,
        dims.scatter_dims_to_operand_dims,
        dims.operand_batching_dims,
        dims.scatter_indices_batching_dims,
        operand,
        indices,
    )
    left_out = {*dims.inserted_window_dims, *dims.operand_batching_dims}
    window = len(dims.update_window_dims) + len(left_out)
    if window != operand.ndim:
        raise TypeError(
            f"scatter: the dimension numbers describe a window of {window} dimensions in an "
            f"operand of rank {operand.ndim}."
        )
    bounds = [n for i, n in enumerate(operand.shape) if i not in left_out]
    for d, bound in zip(dims.update_window_dims, bounds, strict=True):
        if updates.shape[d] > bound:
            raise TypeError(
                f"scatter: a window of updates has size {updates.shape[d]} in dimension {d}, "
                f"which is out of bounds: the operand has only {bound}."
            )
    batch = [d for d in range(ndim) if d not in dims.update_window_dims]
    for d, bound in zip(batch, indices.shape, strict=False):
        if updates.shape[d] != bound:
            raise TypeError(
                f"scatter: updates has size {updates.shape[d]} in dimension {d}, where the "
                f"indices give {bound} positions."
            )


@lru_cache(maxsize=4096)
def _scatter_aval(
    operand: ShapedArray, indices: ShapedArray, updates: ShapedArray, dims: ScatterDimensionNumbers
) -> ShapedArray:
    name = "scatter_dims_to_operand_dims"
    check_index_map("scatter", name, dims.scatter_dims_to_operand_dims, indices, operand.ndim)
    check_dtypes_match("scatter", (operand, updates))
    _check_shapes(operand, indices, updates, dims)
    return operand


def _scatter_batch(primitive: Primitive) -> Callable[..., tuple[Array, int]]:
    def batch(axis, args, batch_dims, *, dimension_numbers, **params):
        operand, indices, updates = args
        dims: ScatterDimensionNumbers = dimension_numbers
        operand = batched_at(operand, batch_dims[0], axis, 0)
        updates = batched_at(updates, batch_dims[2], axis, 0)
        together = shifted(dims.operand_batching_dims), dims.scatter_indices_batching_dims
        window = shifted(dims.update_window_dims)
        # Shared indices: the batch is a further dimension of the windows, and each update covers
        # it. Otherwise it pairs the examples of indices and operand.
        if batch_dims[1] is None:
            window = (0, *window)
        else:
            indices = move_dim(indices, batch_dims[1], 0)
            together = (0, *together[0]), (0, *shifted(together[1]))
        dims = ScatterDimensionNumbers(
            window,
            shifted(dims.inserted_window_dims),
            shifted(dims.scatter_dims_to_operand_dims),
            *together,
        )
        return primitive.bind(operand, indices, updates, dimension_numbers=dims, **params), 0

    return batch


def _scatter_factors(
    operand: ShapedArray,
    indices: ShapedArray,
    updates: ShapedArray,
    *,
    dimension_numbers: ScatterDimensionNumbers,
    **params: object,
) -> FactorMap:
    """The sharding factors: dimensions that updates cover, or that are batches, may be sharded."""
    dims = dimension_numbers
    batches = {i: operand.ndim + i for i in range(indices.ndim - 1)}
    # Dimensions of the operand and the indices that pair up are one factor.
    paired = dict(zip(dims.operand_batching_dims, dims.scatter_indices_batching_dims, strict=True))
    windows = iter(dims.update_window_dims)
    gone = {*dims.inserted_window_dims, *dims.operand_batching_dims}
    of_operand: list[int | None] = []
    of_window: dict[int, int | None] = {}
    for i, size in enumerate(operand.shape):
        if i in gone:
            of_operand.append(batches[paired[i]] if i in paired else None)
            continue
        place = next(windows)
        of_operand.append(i if updates.shape[place] == size else None)
        of_window[place] = of_operand[-1]
    # A batch of updates that belongs to no batch of the operand lands anywhere in it.
    inner = {batches[i] for i in dims.scatter_indices_batching_dims}
    batch_factors = (f if f in inner else None for f in batches.values())
    of_updates = tuple(
        of_window[i] if i in of_window else next(batch_factors) for i in range(updates.ndim)
    )
    of_indices = (*(f if f in inner else None for f in batches.values()), None)
    advice = "Specify the sharding of the result: x.at[index].set(y, out_sharding=P(...))."
    return FactorMap(
        (tuple(of_operand), of_indices, of_updates), (tuple(of_operand),), advice=advice
    )


def _scatter(
    name: str,
    accepts: Sequence[type] | None,
    jvp: Callable[..., Any],
    transpose: Callable[..., Any],
    sums: ir.SumsRule | None = None,
) -> Primitive:
    """A primitive of the family, and all its rules but the derivatives."""

    def abstract_eval(operand, indices, updates, *, dimension_numbers, **params):
        if accepts is not None:
            check_dtype(name, operand, accepts)
        return _scatter_aval(operand, indices, updates, dimension_numbers)

    primitive = ir.define(
        name,
        sharding=ir.factors(_scatter_factors),
        sums=sums,
        abstract_eval=abstract_eval,
        # No memo, which would keep the jaxpr among the parameters alive; ``_scatter_aval``
        # caches the part that does not depend on the jaxpr.
        memo=False,
        jvp=lambda primals, tangents, **params: jvp(primitive, primals, tangents, **params),
        transpose=lambda ct, *args, **params: transpose(primitive, ct, *args, **params),
        batch=lambda axis, args, dims, **params: batch(axis, args, dims, **params),
        lower=lower_scatter,
    )
    batch = _scatter_batch(primitive)
    return primitive


def _update_cotangent(ct, indices, updates, dims, mode) -> Array:
    """The cotangent of the updates: a gather at their positions."""
    params = window_reading(dims, updates.aval.shape, len(shape_of(ct)), mode)
    return gather_p.bind(ct, indices, **params)


# scatter-add and scatter-sub: linear in operand and updates together.


def _linear_jvp(primitive, primals, tangents, **params):
    operand, indices, updates = primals
    result = primitive.bind(operand, indices, updates, **params)
    t_operand, t_updates = instantiate(tangents[0]), instantiate(tangents[2])
    return result, primitive.bind(t_operand, indices, t_updates, **params)


def _linear_transpose(
    primitive, ct, operand, indices, updates, *, dimension_numbers, mode, **params
):
    ct_updates = None
    if is_undefined_primal(updates):
        ct_updates = _update_cotangent(ct, indices, updates, dimension_numbers, mode)
        if primitive is scatter_sub_p:
            ct_updates = neg(ct_updates)
    return [ct if is_undefined_primal(operand) else None, None, ct_updates]


scatter_add_p: Primitive = _scatter(
    "scatter-add", numeric, _linear_jvp, _linear_transpose, ir.SumsRule("all", beside=slice(1, 2))
)
scatter_sub_p: Primitive = _scatter("scatter-sub", numeric, _linear_jvp, _linear_transpose)


def _add_at(operand, indices, updates, params):
    """``scatter-add`` with the positions of another scatter."""
    params = {**params, "update_jaxpr": combiner(add, array_aval(operand).dtype)}
    return scatter_add_p.bind(operand, indices, updates, **params)


# scatter-mul: linear in the operand, and in updates that do not overlap.


def _mul_jvp(primitive, primals, tangents, **params):
    operand, indices, updates = primals
    if type(tangents[2]) is not Zero and not params["unique_indices"]:
        raise NotImplementedError(
            "scatter_mul: its derivative by the updates needs to know that no position is "
            "written twice. Pass unique_indices=True if that is so."
        )
    result = primitive.bind(operand, indices, updates, **params)
    total = None
    if type(tangents[0]) is not Zero:
        total = primitive.bind(tangents[0], indices, updates, **params)
    if type(tangents[2]) is not Zero:
        # The product rule: each unique position has one factor, whose tangent is placed there.
        placed = _add_at(zeros_of(array_aval(operand)), indices, tangents[2], params)
        term = mul(operand, placed)
        total = term if total is None else add_tangents(total, term)
    return result, Zero.from_primal(result) if total is None else total


def _mul_transpose(primitive, ct, operand, indices, updates, **params):
    if is_undefined_primal(updates):
        raise NotImplementedError("scatter-mul is linear in its operand only")
    return [primitive.bind(ct, indices, updates, **params), None, None]


scatter_mul_p: Primitive = _scatter("scatter-mul", numeric, _mul_jvp, _mul_transpose)


# scatter-min and scatter-max: values that attain the extremum share the gradient equally.


def _extremal_jvp(primitive, primals, tangents, **params):
    operand, indices, updates = primals
    result = primitive.bind(operand, indices, updates, **params)
    t_operand, t_updates = instantiate(tangents[0]), instantiate(tangents[2])
    aval = array_aval(operand)
    like = array_aval(updates)
    dims = params["dimension_numbers"]
    promises = {name: params[name] for name in ("indices_are_sorted", "unique_indices")}
    reading = window_reading(dims, like.shape, aval.ndim, params["mode"]) | promises
    if reading["mode"] is GatherScatterMode.FILL_OR_DROP:
        reading["fill_value"] = np.nan  # elements read out of bounds are not written

    def read(x):
        return gather_p.bind(x, indices, **reading)

    before, after = read(operand), read(result)

    def filled(value):
        return full_like(after, value)

    update_wins, operand_wins = eq(updates, after), eq(before, after)

    def count(marks):
        zeros = zeros_of(aval)
        return read(_add_at(zeros, indices, marks(), params))

    # For each update, how many updates at its position attain the extremum, and how many there are.
    winners = count(lambda: select(update_wins, filled(1), filled(0)))
    written = count(lambda: filled(1))
    one, minus_one = (scalar(value, aval.dtype) for value in (1, -1))
    share = select(operand_wins, div(one, add(winners, one)), div(one, winners))
    share = select(update_wins, share, filled(0))
    operand_share = select(operand_wins, div(one, add(winners, one)), filled(0))
    # The operand's share there shrinks from 1 to ``operand_share``; each update carries an equal
    # part of the loss.
    loss = div(add(minus_one, operand_share), written)
    change = add(mul(read(t_operand), loss), mul(t_updates, share))
    return result, _add_at(t_operand, indices, change, params)


def _not_linear(primitive, ct, *args, **params):
    raise NotImplementedError(f"the transpose of {primitive.name!r}: the operation is not linear")


scatter_min_p: Primitive = _scatter("scatter-min", None, _extremal_jvp, _not_linear)
scatter_max_p: Primitive = _scatter("scatter-max", None, _extremal_jvp, _not_linear)


# scatter: updates replace elements.


def _set_jvp(primitive, primals, tangents, **params):
    operand, indices, updates = primals
    if params["update_jaxpr"] is not None:
        raise NotImplementedError(
            "scatter_apply has no derivative here. Write it as a gather, the function, and "
            "a scatter."
        )
    if params["unique_indices"]:
        t_operand, t_updates = instantiate(tangents[0]), instantiate(tangents[2])
        result = primitive.bind(operand, indices, updates, **params)
        return result, primitive.bind(t_operand, indices, t_updates, **params)
    return _overlapping_set_jvp(primitive, primals, tangents, **params)


def _overlapping_set_jvp(primitive, primals, tangents, **params):
    """The jvp rule where windows may overlap: value and tangent must have the same updates.

    Each update gets a number; scattering the numbers tells which update won at each position.
    Adding the winners to the operand, cleared at these positions, equals the scatter.
    """
    operand, indices, updates = primals
    t_operand, t_updates = instantiate(tangents[0]), instantiate(tangents[2])
    aval = array_aval(operand)
    like = array_aval(updates)
    dims = params["dimension_numbers"]
    shape = tuple(1 if d in dims.update_window_dims else n for d, n in enumerate(like.shape))
    # From 1 on, because 0 marks the elements that no update wrote.
    numbers = reshape(broadcasted_iota(_UINT32, (prod(shape),), 0), shape)
    numbers = add(numbers, full(like.shape, 1, _UINT32))
    winners = primitive.bind(full(aval.shape, 0, _UINT32), indices, numbers, **params)
    reading = window_reading(dims, like.shape, aval.ndim, GatherScatterMode.PROMISE_IN_BOUNDS)
    won = gather_p.bind(winners, indices, **reading)

    def masked(x, y):
        untouched = eq(winners, full(aval.shape, 0, _UINT32))
        x = select(untouched, x, zeros_of(aval))
        return x, select(eq(numbers, won), y, zeros_of(like))

    values, tangents = masked(operand, updates), masked(t_operand, t_updates)
    # At most one masked update is left for each element, and the operand is zero there: the sum
    # does not depend on the order.
    result = _add_at(values[0], indices, values[1], params)
    return result, _add_at(tangents[0], indices, tangents[1], params)


def _set_transpose(
    primitive, ct, operand, indices, updates, *, dimension_numbers, mode, unique_indices, **params
):
    if not unique_indices:
        raise NotImplementedError(
            "scatter: its transpose needs to know that no position is written twice. Pass "
            "unique_indices=True if that is so."
        )
    ct_operand = ct_updates = None
    like = updates.aval if is_undefined_primal(updates) else array_aval(updates)
    if is_undefined_primal(operand):
        # The overwritten elements of the operand have no influence: their cotangents become zero.
        ct_operand = primitive.bind(
            ct,
            indices,
            zeros_of(like),
            dimension_numbers=dimension_numbers,
            mode=mode,
            unique_indices=unique_indices,
            **params,
        )
    if is_undefined_primal(updates):
        ct_updates = _update_cotangent(ct, indices, updates, dimension_numbers, mode)
    return [ct_operand, None, ct_updates]


scatter_p: Primitive = _scatter(
    "scatter", None, _set_jvp, _set_transpose, ir.SumsRule("all", beside=slice(1, 2))
)


# The public functions.


def bind_scatter(
    primitive: Primitive,
    operand: ArrayLike,
    indices: ArrayLike,
    updates: ArrayLike,
    dims: ScatterDimensionNumbers,
    sorted_: bool,
    unique: bool,
    mode: str | GatherScatterMode | None,
    jaxpr: Jaxpr | None,
) -> Array:
    """Bind a scatter; ``jaxpr`` combines an element with its update, if there is one."""
    return primitive.bind(
        operand,
        indices,
        updates,
        dimension_numbers=dimension_tuple(dims),
        indices_are_sorted=bool(sorted_),
        unique_indices=bool(unique),
        mode=GatherScatterMode.from_any(mode),
        update_jaxpr=jaxpr,
        update_consts=(),
    )


class ScatterFunction(Protocol):
    """A public function of this module, as type checkers see it."""

    def __call__(
        self,
        operand: ArrayLike,
        scatter_indices: ArrayLike,
        updates: ArrayLike,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | GatherScatterMode | None = None,
    ) -> Array: ...


def _public(
    primitive: Primitive, combine: BinaryFunction | None, name: str, what: str, result: str
) -> ScatterFunction:
    def scatter(
        operand: ArrayLike,
        scatter_indices: ArrayLike,
        updates: ArrayLike,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | GatherScatterMode | None = None,
    ) -> Array:
        jaxpr = None if combine is None else combiner(combine, array_aval(operand).dtype)
        flags = indices_are_sorted, unique_indices
        return bind_scatter(
            primitive, operand, scatter_indices, updates, dimension_numbers, *flags, mode, jaxpr
        )

    scatter.__name__ = scatter.__qualname__ = name
    scatter.__doc__ = f"""{what}

    Args:
      operand: the array to start from; it is not changed.
      scatter_indices: integers; the last dimension holds the components of each position.
      updates: the windows, of the operand's dtype.
      dimension_numbers: which dimension is which.
      indices_are_sorted, unique_indices: promises about the positions, for speed; with unique
        indices the windows must not overlap.
      mode: what happens to windows out of bounds; by default they are dropped.

    Returns:
      An array of the operand's shape and dtype.

    Raises:
      TypeError: if the dimension numbers do not fit the shapes, or the dtypes differ.
      ValueError: if the indices are not integers, or the mode is not known.

    Example:
      Single elements at computed positions; the last position is out of bounds.

      >>> import ricci.numpy as jnp
      >>> from ricci import lax
      >>> elements = lax.ScatterDimensionNumbers(
      ...     update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
      ... )
      >>> x, at = jnp.array([1, 2, 3]), jnp.array([[2], [0], [7]])
      >>> lax.{name}(x, at, jnp.array([10, 20, 30]), elements).tolist()
      {result}

    Notes:
      Where positions repeat, the order in which updates are combined is not fixed; of what
      ``scatter`` writes there, any one is kept.

    See also:
      ``x.at[...]``, which takes NumPy's indices and becomes one of these functions; ``gather``.

    Source: StableHLO ``scatter``.
    """
    return scatter


scatter: ScatterFunction = _public(
    scatter_p, None, "scatter", "Write windows into an array at positions.", "[20, 2, 10]"
)
scatter_add: ScatterFunction = _public(
    scatter_add_p, add, "scatter_add", "Add windows to parts of an array.", "[21, 2, 13]"
)
scatter_sub: ScatterFunction = _public(
    scatter_sub_p, sub, "scatter_sub", "Subtract windows from parts of an array.", "[-19, 2, -7]"
)
scatter_mul: ScatterFunction = _public(
    scatter_mul_p, mul, "scatter_mul", "Multiply parts of an array by windows.", "[20, 2, 30]"
)
scatter_min: ScatterFunction = _public(
    scatter_min_p, min, "scatter_min", "The minimum of parts of an array and windows.", "[1, 2, 3]"
)
scatter_max: ScatterFunction = _public(
    scatter_max_p,
    max,
    "scatter_max",
    "The maximum of parts of an array and windows.",
    "[20, 2, 10]",
)
