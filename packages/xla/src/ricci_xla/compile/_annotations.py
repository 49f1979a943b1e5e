"""Sharding attributes of a module's arguments and results."""

from collections.abc import Hashable

from ricci_ir import AbstractValue, Jaxpr, ShapedArray, no_axes
from ricci_stablehlo import parts_text
from ricci_xla.meshes._abstract_mesh import AbstractMesh
from ricci_xla.meshes._mesh import Mesh
from ricci_xla.meshes._sharding_types import GSPMDSharding, NamedSharding, Sharding
from ricci_xla.meshes._shardy import shardy_text

from ._executable import buffer_rank
from ._operation_meshes import mesh_of
from ._place import Placement


class Annotations:
    """Sharding attributes: in the ``sdy`` dialect by mesh axes, or in ``mhlo`` by tiles.

    A module can have only one of the two. A ``GSPMDSharding`` names no mesh, so that it needs
    tiles; operations with a mesh need mesh axes.
    """

    def __init__(self, jaxpr: Jaxpr, placement: Placement):
        self.many = len(placement.devices) > 1
        self.meshes: dict[tuple[tuple[Hashable, int], ...], str] = {}
        tiled = any(isinstance(a.sharding, GSPMDSharding) for a in placement.arguments)
        self.shardy = not tiled or mesh_of(jaxpr) is not None

    def of(self, sharding: Sharding | None, aval: AbstractValue) -> list[str]:
        """Return the attributes of an argument or result with a sharding."""
        if not self.many or sharding is None:
            return []
        if not self.shardy:
            return [f'mhlo.sharding = "{sharding._to_xla_hlo_sharding(buffer_rank(aval))}"']
        if not isinstance(sharding, NamedSharding):
            return []  # XLA chooses a sharding, and the argument is moved to it
        symbol = self._symbol(sharding.mesh)
        text = shardy_text(sharding, buffer_rank(aval))
        return [f"sdy.sharding = #sdy.sharding<@{symbol}, {text}>"]

    def of_result(
        self, sharding: Sharding | None, aval: AbstractValue, mesh: Mesh | None
    ) -> list[str]:
        """Return the attributes of a result: by its type's axes if it has no sharding."""
        if sharding is not None or mesh is None or not (mesh.explicit_axes and mesh.auto_axes):
            return self.of(sharding, aval)
        if not (self.many and self.shardy and isinstance(aval, ShapedArray)):
            return []
        typed = aval.type_sharding
        parts, sums = ((), no_axes) if typed is None else (typed.parts, typed.sums[0])
        text = parts_text(mesh, parts, buffer_rank(aval), sums)
        return [f"sdy.sharding = #sdy.sharding<@{self._symbol(mesh)}, {text}>"]

    def _symbol(self, mesh: Mesh | AbstractMesh) -> str:
        axes = tuple(mesh.shape.items())
        return self.meshes.setdefault(axes, f"mesh{len(self.meshes) or ''}")
