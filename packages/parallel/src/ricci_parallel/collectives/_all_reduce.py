"""Primitives that reduce values over named axes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_autodiff import linear
from ricci_batching import Axis
from ricci_lax import mul, reduce_sum
from ricci_lax.authoring import check_dtype, checks_nan, numeric
from ricci_stablehlo import Lowering, Value

from ._lowering import channel, is_alone, replica_groups
from ._members import in_groups
from ._named_axes import AxisNames, Groups, outside
from ._varying import keeps_varying

__all__ = ["psum_p"]


def lower_all_reduce(
    ctx: Lowering, x: Value, op: str, names: AxisNames, groups: Groups | None
) -> Value:
    """Write ``stablehlo.all_reduce`` with an operation that combines two elements."""
    if is_alone(ctx, names, groups):
        return x
    scalar = ir.ShapedArray((), x.dtype)
    region = ctx.region([scalar, scalar], lambda c, a, b: [c.emit(op, [a, b], a.aval)])
    attributes = f"{channel}, {replica_groups(ctx, names, groups)}, use_global_device_ids"
    return ctx.generic("stablehlo.all_reduce", [x], [x.aval], attributes, [region])[0]


def all_reduce_rule(op: str) -> Callable[..., Value]:
    """Return the lowering rule of a reduction by an operation of StableHLO."""

    def lower(
        ctx: Lowering, x: Value, *, axes: AxisNames, axis_index_groups: Groups | None
    ) -> Value:
        return lower_all_reduce(ctx, x, op, axes, axis_index_groups)

    return lower


def reduce_batch(reduce: Callable[[ir.ArrayLike, int | None, int], ir.ArrayLike]) -> ir.derived:
    """Return the batching rule of a reduction over named axes.

    If the mapped axis is one of them, the batch is reduced by ``reduce(x, dim, size)``, and the
    collective goes over the other axes.
    """

    def make(primitive: ir.Primitive) -> Callable[..., tuple[Any, int | None]]:
        def batch(
            axis: Axis,
            args: Sequence[ir.ArrayLike],
            dims: Sequence[int | None],
            *,
            axes: AxisNames,
            **params: Any,
        ) -> tuple[Any, int | None]:
            (x,), (dim,) = args, dims
            if axis.name not in axes:
                return primitive.bind(x, axes=axes, **params), dim
            groups = params.get("axis_index_groups")
            if groups is not None:
                whole = {"axes": axes, "axis_index_groups": None}
                each = lambda row: primitive.bind(row, **whole)
                return in_groups(axis, x, dim, axes, groups, each), 0
            other_axes = tuple(name for name in axes if name != axis.name)
            out = reduce(x, dim, axis.size)
            return (primitive.bind(out, axes=other_axes, **params) if other_axes else out), None

        return batch

    return ir.derived(make)


def sum_over(x: ir.ArrayLike, dim: int | None, size: int) -> ir.Array:
    """Sum a batch; a value that is the same for all examples is multiplied by their number."""
    return mul(x, scalar_of(x, size)) if dim is None else reduce_sum(x, (dim,))


def scalar_of(x: ir.ArrayLike, value: int) -> np.number:
    """Return a scalar of an array's dtype."""
    return ir.get_aval(x).dtype.type(value)


def axes_of(*, axes: AxisNames, **_: object) -> AxisNames:
    """The ``axis_names`` rule of primitives with a parameter ``axes``."""
    return axes


def reduced_type(name: str, accepted: Sequence[type]) -> Callable[..., ir.ShapedArray]:
    """Return the abstract evaluation rule of a reduction that accepts some dtypes."""

    def abstract_eval(
        aval: ir.ShapedArray, *, axes: AxisNames, axis_index_groups: Groups | None
    ) -> ir.ShapedArray:
        check_dtype(name, aval, accepted)
        return aval

    return abstract_eval


# y_j = sum_i x_i on every member j, so the cotangent of x_i is the sum of the members' cotangents
# of y_j. Without types that record varying axes, these may differ.
def _psum_transpose(ct: ir.ArrayLike, x: object, **params: object) -> list[ir.Array]:
    return [psum_p.bind(ct, **params)]


# The sum of the operand over the devices (or examples) along named axes.
psum_p: ir.Primitive = ir.define(
    "psum",
    abstract_eval=reduced_type("psum", numeric),
    jvp=linear,
    transpose=_psum_transpose,
    batch=reduce_batch(sum_over),
    axis_names=axes_of,
    host=outside,
    lower=all_reduce_rule("stablehlo.add"),
    sharding=keeps_varying,
    checkify=checks_nan,
)
