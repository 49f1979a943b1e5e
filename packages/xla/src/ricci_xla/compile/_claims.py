"""The devices that arguments, operations and results commit a call to, and their agreement.

Operations such as ``shard_map`` commit a call by the mesh among their parameters.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import ricci_ir as ir
from ricci_xla.devices import Device, device_mesh
from ricci_xla.meshes import Mesh, Sharding
from ricci_xla.tracing._program import Program

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
        # Jaxprs in the parameters, such as those of loops and calls, may have such operations as
        # well. One operation for each order of devices is enough to detect a disagreement.
        for value in eqn.params.values():
            if type(value) is not ir.Jaxpr and not isinstance(value, tuple):
                continue
            for inner in value if isinstance(value, tuple) else (value,):
                if type(inner) is ir.Jaxpr:
                    for operation in _operations_of(inner):
                        by_devices.setdefault(tuple(operation.mesh.devices.flat), operation)
    return tuple(by_devices.values())


class Claim(ir.TupleRecord):
    """An argument, an operation, a result or a setting that commits a call to devices.

    Attributes:
      devices: the devices, in order.
      sharding: the sharding that names them, if one does.
      describe: returns the name of the argument, operation or setting, for messages.
    """

    devices: tuple[Device, ...]
    sharding: Sharding | None
    describe: Callable[[], str]


def agreed_claim(
    program: Program,
    shardings: Sequence[Sharding | None],
    operations: Sequence[MeshOperation],
    device: Device | None,
    out_shardings: Iterable[Sharding | None],
) -> Claim | None:
    """Return the first claim of a call, or ``None`` if nothing commits it to devices.

    Args:
      program: the traced function.
      shardings: the sharding of each argument that is committed, else ``None``.
      operations: the operations with a mesh.
      device: the argument ``device`` of ``jit``; arguments are moved to it.
      out_shardings: the shardings of results, from ``jit``.

    Raises:
      ValueError: if two claims name different devices, or the same in different orders.
    """
    first: Claim | None = None
    for claim in _claims(program, shardings, operations, device, out_shardings):
        if first is None:
            first = claim
        elif claim.devices != first.devices:
            raise ValueError(
                ir.explained(
                    f"the arguments, results and operations of {program.name} are committed to "
                    "different devices, which are incompatible:\n"
                    f"  {first.describe()} to {_ids(first.devices)}\n"
                    f"  {claim.describe()} to {_ids(claim.devices)}\n"
                    "Move one of them with device_put.",
                    "devices",
                )
            )
    return first


def closure_claim(consts: Iterable[Any]) -> Claim | None:
    """Return the claim of the first committed array that a function closes over, if any.

    It has effect only if a call has no other claim; else the arrays are moved.
    """
    shardings = (x.sharding for x in consts if is_committed(x))
    return next((_of_sharding(sharding, lambda: "") for sharding in shardings), None)


def is_committed(x: object) -> bool:
    """Whether a value is committed to its devices. A tracer without a value is not."""
    if isinstance(x, ir.Tracer) and x.concrete() is None:
        return False
    return getattr(x, "committed", False)


def describe_argument(program: Program, i: int) -> str:
    """Return a description of an argument by its name, for messages."""
    names = program.arg_names
    return f"argument {names[i] if i < len(names) else i}"


def _claims(
    program: Program,
    shardings: Sequence[Sharding | None],
    operations: Sequence[MeshOperation],
    device: Device | None,
    out_shardings: Iterable[Sharding | None],
) -> Iterator[Claim]:
    if device is not None:
        yield Claim((device,), None, lambda: f"{program.name}, by jit's device,")
    for i, sharding in enumerate(shardings):
        # Arguments move to jit's ``device``, so they do not commit the call then.
        if sharding is not None and device is None:
            yield _of_sharding(sharding, partial(describe_argument, program, i))
    mesh: Mesh | None = device_mesh.value
    if mesh is not None:
        yield Claim(tuple(mesh.devices.flat), None, lambda: "the mesh that is set")
    for operation in operations:
        yield Claim(tuple(operation.mesh.devices.flat), None, partial(str, operation))
    for sharding in out_shardings:
        if sharding is not None:
            yield _of_sharding(sharding, lambda: "a result, by out_shardings,")


def _of_sharding(sharding: Sharding, describe: Callable[[], str]) -> Claim:
    return Claim(tuple(sharding._device_assignment), sharding, describe)


def _ids(devices: Sequence[Device]) -> str:
    ids = [d.id for d in devices]
    listed = f"{ids[:12]}, ..." if len(ids) > 12 else f"{ids}"
    return f"device ids {listed} on {devices[0].platform}"
