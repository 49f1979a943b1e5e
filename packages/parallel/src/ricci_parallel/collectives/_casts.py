"""Casts between the states that a value can have along a manual axis of a mesh.

Inside ``shard_map`` with ``check_vma``, types say for each axis in which state a value is:

    invarying   it is the same on all devices
    varying     it is another on each device: ``{V:x}``
    unreduced   each device holds a term of a sum: ``{U:x}``
    reduced     it is the same on all devices, and its cotangent is unreduced: ``{R:x}``

A cast changes what the type says, and no value. Casts and sums are each other's transposes: that of
``pvary`` is the sum over the devices, since each device's use of a shared value has a cotangent.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ricci_autodiff import linear
from ricci_batching import Axis
from ricci_ir import ArrayLike, Primitive, ShapedArray, define, makes_sharding, varying_cast
from ricci_lax.authoring import check_dtype, checks_nan, no_examples, numeric
from ricci_stablehlo import Lowering, Value

from ._all_reduce import axes_of, lower_all_reduce, reduce_batch, sum_over
from ._named_axes import AxisNames, outside
from ._varying import state_change

_typed = no_examples("it is for types of shard_map, which the laws do not have")


def _cast(name: str, old: str, new: str, transposed: Callable[[], Primitive]) -> Primitive:
    def batch(
        axis: Axis, args: Sequence[ArrayLike], dims: Sequence[int | None], *, axes: AxisNames
    ) -> tuple[Any, int | None]:
        rest = tuple(name for name in axes if name != axis.name)
        return (primitive.bind(*args, axes=rest) if rest else args[0]), dims[0]

    def lower(ctx: Lowering, x: Value, *, axes: AxisNames) -> Value:
        return x

    primitive = define(
        name,
        abstract_eval=lambda aval, *, axes: aval,
        jvp=linear,
        transpose=lambda ct, x, *, axes: [transposed().bind(ct, axes=axes)],
        batch=batch,
        axis_names=axes_of,
        lower=lower,
        extended_lower=lower,
        exact=lambda x, *, axes: x,
        sharding=makes_sharding(state_change(old, new)),
        examples=_typed,
    )
    return primitive


def _sum(name: str, old: str, transposed: Primitive) -> Primitive:
    """A sum over devices, after which all of them have one value."""

    def abstract_eval(aval: ShapedArray, *, axes: AxisNames) -> ShapedArray:
        check_dtype(name, aval, numeric)
        return aval

    return define(
        name,
        abstract_eval=abstract_eval,
        jvp=linear,
        transpose=lambda ct, x, *, axes: [transposed.bind(ct, axes=axes)],
        batch=reduce_batch(sum_over),
        axis_names=axes_of,
        host=outside,
        lower=lambda ctx, x, *, axes: lower_all_reduce(ctx, x, "stablehlo.add", axes, None),
        sharding=state_change(old, "invarying"),
        checkify=checks_nan,
        examples=_typed,
    )


# A value that is the same on all devices, as one that may be another on each.
pvary_p: Primitive = _cast("pvary", "invarying", "varying", lambda: psum_invariant_p)
psum_invariant_p: Primitive = _sum("psum_invariant", "varying", pvary_p)
varying_cast.register(pvary_p)

# A value that is the same on all devices, whose cotangent is to be summed later.
preduced_p: Primitive = _cast("preduced", "invarying", "reduced", lambda: unreduced_psum_p)
unreduced_psum_p: Primitive = _sum("unreduced_psum", "unreduced", preduced_p)

# The devices' values, as terms of a sum that is done later; and a value that all devices share,
# each with a cotangent of its own.
vary_unreduced_cast_p: Primitive = _cast(
    "vary_unreduced_cast_p", "varying", "unreduced", lambda: reduced_vary_cast_p
)
reduced_vary_cast_p: Primitive = _cast(
    "reduced_vary_cast_p", "reduced", "varying", lambda: vary_unreduced_cast_p
)
