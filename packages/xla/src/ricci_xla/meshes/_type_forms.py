"""Conversion between types' shardings and ``NamedSharding`` on an abstract mesh."""

from collections.abc import Hashable
from functools import lru_cache
from typing import Any

import ricci_ir as ir

from . import _current_mesh as current_mesh
from ._abstract_mesh import AbstractMesh
from ._axes import AxisType
from ._mesh import Mesh
from ._sharding_types import NamedSharding
from ._spec import PartitionSpec

__all__ = ["explicit_sharding", "placed_aval", "typed_sharding"]


@lru_cache
def _replicated(mesh: AbstractMesh | Mesh, ndim: int) -> NamedSharding:
    return NamedSharding(mesh, PartitionSpec(*[None] * ndim))


def _shown(aval: ir.ShapedArray) -> NamedSharding:
    """The sharding of a type; without one, replicated over the current mesh."""
    type_sharding = aval.type_sharding
    mesh = ir.current_mesh.value or current_mesh.empty_abstract_mesh
    if type_sharding is None:
        return _replicated(mesh, aval.ndim)
    return _named(type_sharding, mesh if type_sharding.mesh is None else type_sharding.mesh)


@lru_cache
def _named(sharding: ir.TypeSharding, mesh: AbstractMesh | Mesh) -> NamedSharding:
    parts = [None if not p else p[0] if len(p) == 1 else p for p in sharding.parts]
    # Specs may name unreduced and reduced axes of type Explicit only (``_check_spec`` of
    # ``_sharding``).
    explicit = frozenset(mesh.explicit_axes)
    unreduced, reduced = sharding.unreduced & explicit, sharding.reduced & explicit
    return NamedSharding(mesh, PartitionSpec(*parts, unreduced=unreduced, reduced=reduced))


@lru_cache(maxsize=4096)
def explicit_sharding(ndim: int, sharding: object) -> ir.TypeSharding | None:
    """The sharding in the type of arrays of a rank with a sharding, or ``None``.

    It has the ``Explicit`` axes of the mesh. The compiler decides about the others, and about
    shardings without a mesh.
    """
    if type(sharding) is not NamedSharding:
        return None
    mesh = sharding.mesh.abstract_mesh
    if AxisType.Explicit not in mesh.axis_types:
        return None
    explicit = frozenset(mesh.explicit_axes)

    # Along axes of type Auto the compiler shards as it likes, so that types do not contain them.
    def axes(part: Hashable) -> tuple[Hashable, ...]:
        names = part if isinstance(part, tuple) else (part,)
        return tuple(name for name in names if name in explicit)

    spec = sharding.spec
    parts = [axes(part) for part in spec]
    return ir.make_type_sharding(
        mesh,
        (*parts, *((),) * (ndim - len(parts))),
        unreduced=explicit.intersection(spec.unreduced),
        reduced=explicit.intersection(spec.reduced),
    )


def placed_aval(aval: ir.ShapedArray, sharding: object) -> ir.ShapedArray:
    """The type of arrays that have a sharding."""
    if type(sharding) is NamedSharding:
        return aval.with_sharding(explicit_sharding(aval.ndim, sharding))
    return aval.plain


def typed_sharding(aval: ir.AbstractValue, mesh: Mesh) -> NamedSharding | None:
    """The sharding of arrays of a type on a mesh, or ``None`` if the type does not determine it."""
    # With an axis of another type, arrays of this type may be sharded along it or not.
    if not isinstance(aval, ir.ShapedArray) or not mesh.are_all_axes_explicit:
        return None
    type_sharding = aval.type_sharding
    if type_sharding is None:
        return _replicated(mesh, aval.ndim)
    axes: Any = type_sharding.mesh
    # Types may be on the same devices in another grid, such as with an axis split in two.
    if axes is not None and axes.shape_tuple != mesh.shape_tuple:
        if not axes.are_all_axes_explicit:
            return None
        mesh = current_mesh.arranged_as(mesh, axes)
    return _named(type_sharding, mesh)


def _read(ndim: int, sharding: object) -> ir.TypeSharding | None:
    if isinstance(sharding, PartitionSpec):
        sharding = current_mesh.sharding_in_program(sharding, "out_sharding", ValueError)
    spec = getattr(sharding, "spec", ())
    if len(spec) > ndim:
        raise ValueError(
            f"{spec} is too long for an array of {ndim} dimensions: it has {len(spec)} entries. "
            f"Shorten it to {PartitionSpec(*spec[:ndim])}."
        )
    return explicit_sharding(ndim, sharding)


def _resolved(sharding: object) -> object:
    if not isinstance(sharding, PartitionSpec):
        return sharding
    return current_mesh.sharding_on_devices(sharding, "ShapeDtypeStruct", TypeError)


ir.show_sharding.provide(_shown)
ir.sharding_of_spec.provide(_resolved)
ir.read_sharding.provide(_read)
