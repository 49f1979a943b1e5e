"""Meshes among the parameters of a jaxpr's operations, such as that of ``shard_map``."""

import ricci_ir as ir
from ricci_xla.devices._runtime_types import Device
from ricci_xla.meshes._mesh import Mesh

# For primitives with a mesh, such as shard_map: ``rule(**params)`` returns it, or None.
mesh_rules = ir.rule_table("mesh", required=False)


class MeshOperation(ir.TupleRecord):
    """An operation with a mesh among its parameters."""

    mesh: Mesh
    eqn: ir.JaxprEqn

    def __str__(self) -> str:
        source = self.eqn.source
        return f"{self.eqn.primitive.name}{'' if source.code is None else f' at {source}'}"


def mesh_of(jaxpr: ir.Jaxpr) -> Mesh | None:
    """Return the mesh of a jaxpr's first operation with a mesh, if any."""
    operations = _operations_of(jaxpr)
    return operations[0].mesh if operations else None


def meshes_of(jaxpr: ir.Jaxpr) -> tuple[Mesh, ...]:
    """Return the meshes of a jaxpr's operations, one for each order of devices."""
    return tuple(operation.mesh for operation in _operations_of(jaxpr))


def meshes_of_results(jaxpr: ir.Jaxpr) -> list[Mesh | None]:
    """Return for each result the mesh of the operation that computes it, if that has one."""
    meshes: dict[int, Mesh | None] = {}
    for eqn in jaxpr.eqns:
        rule = mesh_rules.get(eqn.primitive)
        mesh = None if rule is None else rule(**eqn.params)
        meshes.update((id(var), mesh) for var in eqn.outvars)
    return [meshes.get(id(atom)) for atom in jaxpr.outvars]


def live_operations(jaxpr: ir.Jaxpr, keep_unused: bool) -> tuple[MeshOperation, ...]:
    """Return the operations with a mesh, without dead code unless ``keep_unused`` is set."""
    operations = _operations_of(jaxpr)
    if not operations or keep_unused or not ir.may_have_dead_code(jaxpr):
        return operations
    return _operations_of(ir.live_program(jaxpr, final=True).jaxpr)


def _operations_of(jaxpr: ir.Jaxpr) -> tuple[MeshOperation, ...]:
    return jaxpr.derived("operations with a mesh", lambda: _find_operations(jaxpr))


def _find_operations(jaxpr: ir.Jaxpr) -> tuple[MeshOperation, ...]:
    by_devices: dict[tuple[Device, ...], MeshOperation] = {}
    for eqn in jaxpr.eqns:
        if eqn.primitive in mesh_rules:
            mesh = mesh_rules[eqn.primitive](**eqn.params)
            if mesh is not None:
                by_devices.setdefault(tuple(mesh.devices.flat), MeshOperation(mesh, eqn))
        for value in eqn.params.values():
            if type(value) is not ir.Jaxpr and not isinstance(value, tuple):
                continue
            for inner in value if isinstance(value, tuple) else (value,):
                if type(inner) is ir.Jaxpr:
                    for operation in _operations_of(inner):
                        by_devices.setdefault(tuple(operation.mesh.devices.flat), operation)
    return tuple(by_devices.values())
