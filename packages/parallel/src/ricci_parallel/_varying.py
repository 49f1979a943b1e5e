"""Casts between values that are the same on all devices of an axis and values that vary.

``pvary`` only changes a type: a value that all devices share may be used as each device's own. Its
transpose sums the devices' cotangents, ``psum_invariant``, whose transpose is ``pvary`` again.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from ricci_autodiff import linear
from ricci_batching import Axis
from ricci_ir import (
    Array,
    ArrayLike,
    AxisNames,
    Primitive,
    ShapedArray,
    TypeSharding,
    define,
    make_type_sharding,
    makes_sharding,
    own_sharding,
    varying,
    varying_cast,
)
from ricci_stablehlo import Lowering, Value

from ._collectives import all_reduce_rule, sum_over


def _varying_changed(
    change: Callable[[AxisNames, AxisNames], AxisNames],
) -> Callable[..., list[TypeSharding | None]]:
    """The sharding of an operand, its varying axes changed by those of the parameter ``axes``."""

    def make(
        avals: Sequence[ShapedArray], results: Sequence[ShapedArray], *, axes: tuple[Hashable, ...]
    ) -> list[TypeSharding | None]:
        (aval,) = avals
        found = change(varying(aval), frozenset(axes))
        if aval.type_sharding is None:
            return [make_type_sharding(None, ((),) * aval.ndim, found)]
        return [aval.type_sharding.update(varying=found)]

    return make


def _pvary_batch(
    axis: Axis,
    args: Sequence[ArrayLike],
    dims: Sequence[int | None],
    *,
    axes: tuple[Hashable, ...],
) -> tuple[Array, int | None]:
    return pvary_p.bind(*args, axes=axes), dims[0]


def _pvary_transpose(ct: Array, x: Any, *, axes: tuple[Hashable, ...]) -> list[Array]:
    return [psum_invariant_p.bind(ct, axes=axes)]


# The same value, varying along ``axes`` as well.
pvary_p: Primitive = define(
    "pvary",
    abstract_eval=lambda x, *, axes: x,
    jvp=linear,
    transpose=_pvary_transpose,
    batch=_pvary_batch,
    lower=lambda ctx, x, *, axes: x,
    sharding=makes_sharding(own_sharding(_varying_changed(frozenset.union), joins=False)),
)
varying_cast.register(pvary_p)


def _sum_lower(ctx: Lowering, x: Value, *, axes: tuple[Hashable, ...]) -> Value:
    return all_reduce_rule("stablehlo.add")(ctx, x, axes=axes, axis_index_groups=None)[0]


def _sum_batch(
    axis: Axis,
    args: Sequence[ArrayLike],
    dims: Sequence[int | None],
    *,
    axes: tuple[Hashable, ...],
) -> tuple[Array, int | None]:
    (x,), (dim,) = args, dims
    if axis.name not in axes:
        return psum_invariant_p.bind(x, axes=axes), dim
    rest = tuple(name for name in axes if name != axis.name)
    out = sum_over(x, dim, axis.size)
    return (psum_invariant_p.bind(out, axes=rest) if rest else out), None


def _sum_transpose(ct: Array, x: Any, *, axes: tuple[Hashable, ...]) -> list[Array]:
    return [pvary_p.bind(ct, axes=axes)]


# The sum of a value that varies along ``axes``, which all devices share.
psum_invariant_p: Primitive = define(
    "psum_invariant",
    abstract_eval=lambda x, *, axes: x.strip_weak_type(),
    jvp=linear,
    transpose=_sum_transpose,
    batch=_sum_batch,
    axis_names=lambda *, axes: axes,
    lower=_sum_lower,
    sharding=own_sharding(_varying_changed(frozenset.difference), joins=False),
)
