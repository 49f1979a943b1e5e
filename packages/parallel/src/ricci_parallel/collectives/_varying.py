"""Sharding rules of collectives: the states of types along manual mesh axes.

Inside ``shard_map`` with ``check_vma`` a type has the axes along which a value varies. A collective
over an axis takes a value that varies along it; a replicated one is cast before.
A collective after which all devices hold one value removes its axes; the others preserve them.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import ricci_ir as ir

from ._named_axes import axes_over

# For each dimension of a result, the operand's dimension that it is; None if it is another.
type Places = Sequence[int | None]


def manual_axes() -> ir.AxisNames:
    """Return the mesh axes of the ``shard_map`` calls around the code being traced."""
    mesh = ir.current_mesh.value
    return ir.no_axes if mesh is None else frozenset(mesh.manual_axes)


def typed_axes(names: Sequence[Hashable]) -> tuple[Hashable, ...]:
    """Return the axes, among ``names``, along which types record whether values vary."""
    return tuple(filter(manual_axes().__contains__, names)) if ir.varying_axes.value else ()


def state_of(aval: ir.ShapedArray, name: Hashable) -> str:
    """Return a type's state along an axis: varying, unreduced, reduced or invarying."""
    sharding = aval.type_sharding
    states = ("varying", "unreduced", "reduced") if sharding is not None else ()
    return next((state for state in states if name in getattr(sharding, state)), "invarying")


def state_change(old: str, new: str) -> ir.own_sharding:
    """Return the rule of an operation that changes the operand's state along its axes.

    Args:
      old, new: ``varying``, ``unreduced``, ``reduced``, or ``invarying`` for none of these.
    """

    def make(
        avals: Sequence[ir.ShapedArray], results: Sequence[Any], **params: object
    ) -> list[ir.TypeSharding | None]:
        return [_changed(avals[0], axes_over(params), old, new)]

    return ir.own_sharding(make, joins=False)


def _changed(
    aval: ir.ShapedArray, names: tuple[Hashable, ...], old: str, new: str
) -> ir.TypeSharding | None:
    sharding = aval.type_sharding
    states = {
        name: getattr(sharding, name, ir.no_axes) for name in ("varying", "unreduced", "reduced")
    }
    if old in states:
        states[old] = states[old] - set(names)
    if new in states:
        states[new] = states[new] | set(names)
    if sharding is None:
        return ir.make_type_sharding(None, ((),) * aval.ndim, **states)
    return ir.make_type_sharding(sharding.mesh, sharding.parts, **states)


def exchanges(
    places: Callable[..., Places] | None = None, *, old: str = "varying", new: str = "varying"
) -> ir.own_sharding:
    """Return the rule of a collective that takes values from all devices along its axes.

    Args:
      places: ``places(rank, **params)`` returns for each dimension of the result which one of the
        operand it is. A dimension that is none of them must be unsharded. By default all are.
      old, new: the operand's and the result's state along the axes.
    """

    def make(
        avals: Sequence[ir.ShapedArray], results: Sequence[Any], **params: object
    ) -> list[ir.TypeSharding | None]:
        aval, names = avals[0], axes_over(params)
        if old == "varying":
            require_varying(aval, names)
        parts, rank = aval.type_sharding.parts, aval.ndim  # pyright: ignore
        source_dims = range(rank) if places is None else places(rank, **params)
        sharded = [i for i in range(rank) if parts[i] and i not in source_dims]
        if sharded:
            raise ir.ShardingTypeError(
                f"a collective over {names} of {aval.str_short(True)} moves values along "
                f"dimension {sharded[0]}, which is sharded over {parts[sharded[0]]}.\n"
                "Gather it with reshard before."
            )
        changed = _changed(aval, names, old, new)
        moved = tuple(() if i is None else parts[i] for i in source_dims)
        return [None if changed is None else changed.update(parts=moved)]

    return ir.own_sharding(make, joins=False)


def require_varying(aval: ir.ShapedArray, names: Sequence[Hashable]) -> None:
    """Raise ``VaryingMismatch``, which casts the operands, unless a type varies along some axes."""
    sharding = aval.type_sharding
    varying = ir.no_axes if sharding is None else sharding.varying
    if not varying.issuperset(names):
        raise ir.VaryingMismatch(varying.union(names))


def _extremum_states(
    avals: Sequence[ir.ShapedArray], results: Sequence[Any], **params: object
) -> list[ir.TypeSharding | None]:
    require_varying(avals[0], axes_over(params))
    # The groups have different results, so these still vary along the axis.
    shared = params["axis_index_groups"] is None
    return [_changed(avals[0], axes_over(params), "varying", "invarying" if shared else "varying")]


def _made(
    avals: Sequence[ir.ShapedArray], results: Sequence[Any], **params: object
) -> list[ir.TypeSharding | None]:
    axes = typed_axes(axes_over(params))
    return [ir.make_type_sharding(None, ((),) * result.ndim, axes) for result in results]


def _gathered(rank: int, *, all_gather_dimension: int, tiled: bool, **_: object) -> Places:
    places: list[int | None] = list(range(rank))
    if tiled:
        places[all_gather_dimension] = None
    else:
        places.insert(all_gather_dimension, None)
    return places


def _scattered(rank: int, *, scatter_dimension: int, tiled: bool, **_: object) -> Places:
    places: list[int | None] = list(range(rank))
    if tiled:
        places[scatter_dimension] = None
    else:
        del places[scatter_dimension]
    return places


def _exchanged(rank: int, *, split_axis: int, concat_axis: int, **_: object) -> Places:
    return [None if i in (split_axis, concat_axis) else i for i in range(rank)]


def _ragged_states(
    avals: Sequence[ir.ShapedArray], results: Sequence[Any], **params: object
) -> list[ir.TypeSharding | None]:
    for aval in avals:
        require_varying(aval, axes_over(params))
    return [avals[1].type_sharding]


class _Sends:
    """The rule of an operation whose result is a token, whose type has no states."""

    joins: bool = False

    def __call__(
        self, primitive: ir.Primitive, avals: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        """See ``ricci_ir.ShardingRule``."""
        require_varying(avals[0], axes_over(params))
        return primitive.abstract_eval(*avals, **params)


sends: _Sends = _Sends()
# For psum and the collectives that move whole values.
keeps_varying: ir.own_sharding = exchanges()
# For maxima and minima: shared by all devices, if not by groups of them.
extremum: ir.own_sharding = ir.own_sharding(_extremum_states, joins=False)
gathers: ir.own_sharding = exchanges(_gathered)
gathers_to_invarying: ir.own_sharding = exchanges(_gathered, new="invarying")
gathers_to_reduced: ir.own_sharding = exchanges(_gathered, new="reduced")
scatters: ir.own_sharding = exchanges(_scattered)
scatters_unreduced: ir.own_sharding = exchanges(_scattered, old="unreduced")
exchanges_parts: ir.own_sharding = exchanges(_exchanged)
# For results that differ between devices, whatever the operands are.
made_varying: ir.makes_sharding = ir.makes_sharding(ir.own_sharding(_made, joins=False))
exchanges_rows: ir.own_sharding = ir.own_sharding(_ragged_states)
