"""Casts between the states that a value can have along a manual axis of a mesh.

Inside ``shard_map`` with ``check_vma``, types have one of these states for each axis:

    invarying   it is the same on all devices
    varying     it may differ between devices: ``{V:x}``
    unreduced   each device holds a term of a sum: ``{U:x}``
    reduced     it is the same on all devices, and its cotangent is unreduced: ``{R:x}``

A cast changes a type, and no value. Casts and sums are each other's transposes: that of ``pvary``
is the sum over the devices, since each device's use of a replicated value has a cotangent.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import ricci_ir as ir
from ricci_autodiff import linear
from ricci_batching import Axis
from ricci_lax.authoring import check_dtype, checks_nan, numeric
from ricci_pytree import tree_map
from ricci_stablehlo import Lowering, Value

from ._all_reduce import axes_of, lower_all_reduce, psum_p, reduce_batch, sum_over
from ._named_axes import AxisNameLike, AxisNames, Groups, as_names, outside, shown
from ._varying import manual_axes, state_change, state_of, typed_axes

__all__ = ["pcast", "preduced_p", "psum_invariant_p", "pvary_p", "reduced_vary_cast_p"]
__all__ += ["unreduced_psum_p", "vary_unreduced_cast_p"]


def _cast(name: str, old: str, new: str, transposed: Callable[[], ir.Primitive]) -> ir.Primitive:
    def batch(
        axis: Axis, args: Sequence[ir.ArrayLike], dims: Sequence[int | None], *, axes: AxisNames
    ) -> tuple[Any, int | None]:
        # The mapped axis is not an axis of a mesh, so types have no state along it.
        other_axes = tuple(name for name in axes if name != axis.name)
        return (primitive.bind(*args, axes=other_axes) if other_axes else args[0]), dims[0]

    def lower(ctx: Lowering, x: Value, *, axes: AxisNames) -> Value:
        return x

    primitive = ir.define(
        name,
        abstract_eval=lambda aval, *, axes: aval,
        jvp=linear,
        transpose=lambda ct, x, *, axes: [transposed().bind(ct, axes=axes)],
        batch=batch,
        axis_names=axes_of,
        lower=lower,
        extended_lower=lower,
        exact=lambda x, *, axes: x,
        sharding=ir.makes_sharding(state_change(old, new)),
    )
    return primitive


def _sum(name: str, old: str, transposed: ir.Primitive) -> ir.Primitive:
    """Define a sum over devices, after which all of them have one value."""

    def abstract_eval(aval: ir.ShapedArray, *, axes: AxisNames) -> ir.ShapedArray:
        check_dtype(name, aval, numeric)
        return aval

    return ir.define(
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
    )


# Casts a replicated value to one that may differ between devices.
pvary_p: ir.Primitive = _cast("pvary", "invarying", "varying", lambda: psum_invariant_p)
psum_invariant_p: ir.Primitive = _sum("psum_invariant", "varying", pvary_p)
ir.varying_cast.provide(pvary_p)

# Casts a replicated value to one whose cotangents are unreduced.
preduced_p: ir.Primitive = _cast("preduced", "invarying", "reduced", lambda: unreduced_psum_p)
unreduced_psum_p: ir.Primitive = _sum("unreduced_psum", "unreduced", preduced_p)

# Casts values that differ between devices to the terms of an unreduced sum. The transpose
# casts a replicated value to one that has another cotangent on each.
vary_unreduced_cast_p: ir.Primitive = _cast(
    "vary_unreduced_cast_p", "varying", "unreduced", lambda: reduced_vary_cast_p
)
reduced_vary_cast_p: ir.Primitive = _cast(
    "reduced_vary_cast_p", "reduced", "varying", lambda: vary_unreduced_cast_p
)


def varied(x: ir.ArrayLike, names: Sequence[Hashable]) -> ir.ArrayLike:
    """Cast ``x`` to a value that varies along the axes that types of ``shard_map`` cover."""
    missing = tuple(
        name for name in typed_axes(names) if state_of(ir.get_aval(x), name) == "invarying"
    )
    return pvary_p.bind(x, axes=missing) if missing else x


def total(x: ir.ArrayLike, *, axes: AxisNames, axis_index_groups: Groups | None) -> ir.Array:
    """Sum over named axes, by the primitive for the states that ``x`` has along them.

    Raises:
      ValueError: if ``x`` is not in one state along all axes.
    """
    typed = typed_axes(axes)
    # A sum in groups differs between groups, so its result still varies along the axis.
    if not typed or axis_index_groups is not None:
        return psum_p.bind(varied(x, typed), axes=axes, axis_index_groups=axis_index_groups)
    state = _common_state("psum", x, typed)
    if state == "unreduced":
        return unreduced_psum_p.bind(x, axes=axes)
    return psum_invariant_p.bind(varied(x, typed), axes=axes)


def _common_state(what: str, x: ir.ArrayLike, names: Sequence[Hashable]) -> str:
    aval = ir.get_aval(x)
    states = {name: state_of(aval, name) for name in names}
    distinct = set(states.values())
    if len(distinct) > 1:
        each = ", ".join(f"{state} along {name!r}" for name, state in states.items())
        raise ValueError(
            f"{what}: a value of type {aval} is {each}. Give the axes of one state, or make it "
            "varying along the others with jax.lax.pcast(x, axis_name, to='varying')."
        )
    return distinct.pop()


_between: dict[tuple[str, str], ir.Primitive] = {
    ("invarying", "varying"): pvary_p,
    ("invarying", "reduced"): preduced_p,
    ("reduced", "varying"): reduced_vary_cast_p,
    ("varying", "unreduced"): vary_unreduced_cast_p,
}


@ir.api_boundary
def pcast(x: ir.PyTree, axis_name: AxisNameLike, *, to: str) -> ir.PyTree:
    """Cast values between the states of types along manual axes of a mesh; elements do not change.

    Args:
      x: a pytree of arrays.
      axis_name: the name of an axis of an enclosing ``shard_map``, or a tuple of names.
      to: ``"varying"``: values that may differ between devices. ``"unreduced"``: terms of a sum,
        which ``psum`` or ``psum_scatter`` does later. ``"reduced"``: one value, whose cotangents
        are such terms. From ``"unreduced"`` there is no cast: reduce it by ``psum``.

    Returns:
      A pytree of the same values.

    Raises:
      ValueError: if the axis does not belong to ``shard_map``, or there is no such cast.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci import lax
      >>> from ricci.sharding import Mesh, PartitionSpec
      >>> mesh = Mesh(np.array(ricci.devices()[:1]), ("i",))
      >>> def each(x):
      ...     x = lax.pcast(x, "i", to="varying")
      ...     print(ricci.typeof(x))
      ...     return x
      >>> ricci.shard_map(each, mesh=mesh, in_specs=PartitionSpec(), out_specs=PartitionSpec("i"))(
      ...     np.zeros(2, np.float32)
      ... )
      float32[2]{V:i}
      Array([0., 0.], dtype=float32)
    """
    names = as_names(axis_name)
    if to not in ("varying", "reduced", "unreduced"):
        raise ValueError(
            f"pcast: to={to!r} is not one of 'varying', 'reduced' and 'unreduced'. A value that "
            "varies becomes the same everywhere by a collective, such as psum."
        )
    if not manual_axes().issuperset(names):
        raise ValueError(
            f"pcast: {shown(names)} is not an axis of an enclosing shard_map, whose types say "
            "along which axes values vary. Under vmap and outside, leave pcast out."
        )

    def one(leaf: ir.ArrayLike) -> ir.ArrayLike:
        if not ir.varying_axes.value or not names:
            return leaf
        state = _common_state("pcast", leaf, names)
        cast = _between.get((state, to))
        if cast is None:
            raise ValueError(
                f"pcast: Unsupported pcast from={state}, to={to!r}, of {ir.get_aval(leaf)} along "
                f"{shown(names)}. There are casts " + ", ".join(f"{a} to {b}" for a, b in _between)
            )
        return cast.bind(leaf, axes=names)

    return tree_map(one, x)
