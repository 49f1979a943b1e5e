"""The attributes by which a module says how its arguments and results are divided over devices."""

from collections.abc import Hashable, Sequence

from ricci_ir import (
    AbstractValue,
    Jaxpr,
    JaxprEqn,
    ShapedArray,
    Var,
    no_axes,
    primitives,
)
from ricci_stablehlo import parts_text
from ricci_xla.meshes._abstract_mesh import AbstractMesh
from ricci_xla.meshes._mesh import Mesh
from ricci_xla.meshes._sharding_types import GSPMDSharding, NamedSharding, Sharding
from ricci_xla.meshes._shardy import shardy_text
from ricci_xla.meshes._type_forms import explicit_sharding

from ._compile import buffer_rank
from ._program_devices import Placement, mesh_of


class Annotations:
    """Writes shardings: in the ``sdy`` dialect by mesh axes, or in ``mhlo`` by tiles.

    A module can have only one of the two. A ``GSPMDSharding`` names no mesh, so that it needs
    tiles; a program with a mesh of its own needs mesh axes.
    """

    def __init__(self, jaxpr: Jaxpr, placement: Placement):
        self.many = len(placement.devices) > 1
        self.meshes: dict[tuple[tuple[Hashable, int], ...], str] = {}
        tiled = any(isinstance(s, GSPMDSharding) for s in placement.in_shardings)
        self.shardy = not tiled or mesh_of(jaxpr) is not None

    def of(self, sharding: Sharding | None, aval: AbstractValue) -> list[str]:
        """The attributes of an argument or result with a sharding."""
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
        """The attributes of a result: with what its type says, where nothing else is known."""
        if sharding is not None or mesh is None or not (mesh.explicit_axes and mesh.auto_axes):
            return self.of(sharding, aval)
        if not (self.many and self.shardy and isinstance(aval, ShapedArray)):
            return []
        known = aval.type_sharding
        parts, sums = ((), no_axes) if known is None else (known.parts, known.sums[0])
        text = parts_text(mesh, parts, buffer_rank(aval), sums)
        return [f"sdy.sharding = #sdy.sharding<@{self._symbol(mesh)}, {text}>"]

    def _symbol(self, mesh: Mesh | AbstractMesh) -> str:
        axes = tuple(mesh.shape.items())
        return self.meshes.setdefault(axes, f"mesh{len(self.meshes) or ''}")


def with_terms(jaxpr: Jaxpr, shardings: Sequence[Sharding | None]) -> Jaxpr:
    """A program whose results are the devices' terms of a sum where their shardings say so.

    The compiler wants an operation that makes terms of a value: it takes no attribute for one.
    """
    eqns, outvars = list(jaxpr.eqns), list(jaxpr.outvars)
    for i, (atom, sharding) in enumerate(zip(jaxpr.outvars, shardings, strict=True)):
        if not isinstance(sharding, NamedSharding) or not sharding.spec.unreduced:
            continue
        aval = atom.aval
        wanted = explicit_sharding(aval.ndim, sharding) if isinstance(aval, ShapedArray) else None
        if wanted is not None and wanted != aval.type_sharding:
            outvars[i] = result = Var(aval.with_sharding(wanted))
            params = {"sharding": wanted, "mesh": wanted.mesh}
            eqns.append(JaxprEqn([atom], [result], primitives["reshard"], params))
    return jaxpr if len(eqns) == len(jaxpr.eqns) else jaxpr.replace(eqns=eqns, outvars=outvars)
