"""Where a program runs: the devices that its arguments, results and operations name."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ricci_ir import AbstractValue, Jaxpr, rule_table
from ricci_xla.arrays._mesh import Mesh
from ricci_xla.arrays._sharding_types import NamedSharding, Sharding
from ricci_xla.arrays._spec import PartitionSpec
from ricci_xla.devices._client import get_default_device
from ricci_xla.devices._runtime_types import Device
from ricci_xla.devices._state import device_mesh
from ricci_xla.programs._program import Program

# For primitives with a mesh of their own, such as shard_map: ``rule(**params)`` gives the mesh.
mesh_rules = rule_table("mesh", required=False)


class Options(NamedTuple):
    """The arguments of ``jit`` that affect compilation.

    Attributes:
      device: the device to run on, if it is fixed.
      in_shardings, out_shardings: one for each leaf (``None`` where unspecified), or ``None``.
      donated: for each leaf of the arguments, whether its buffer is donated; empty for none.
      keep_unused: whether arguments that nothing uses are passed all the same.
      compiler_options: XLA options by name, sorted.
    """

    device: Device | None = None
    in_shardings: tuple[Sharding | None, ...] | None = None
    out_shardings: tuple[Sharding | None, ...] | None = None
    donated: tuple[bool, ...] = ()
    keep_unused: bool = False
    compiler_options: tuple[tuple[str, Any], ...] = ()


class Placement(NamedTuple):
    """The devices that a program runs on, and the sharding of each argument.

    Attributes:
      devices: the devices.
      in_shardings: for each constant and argument its sharding, ``None`` where that is open.
      committed: whether the results are committed to the devices, as they are if any argument is.
      mesh: the mesh of the results: the one that is set, or for a program on one device that of
        its arguments.
    """

    devices: tuple[Device, ...]
    in_shardings: tuple[Sharding | None, ...]
    committed: bool
    mesh: Mesh | None = None

    def result_sharding(
        self, aval: AbstractValue, in_avals: Sequence[AbstractValue]
    ) -> NamedSharding | None:
        """The sharding of a result of a program on one device, if it is on a mesh.

        Nothing is divided there, so a spec is only a name: a result has that of the arguments of
        its rank, if they have the same.
        """
        if self.mesh is None:
            return None
        ndim = getattr(aval, "ndim", 0)
        specs = {
            s.spec
            for s, given in zip(self.in_shardings, in_avals, strict=True)
            if isinstance(s, NamedSharding) and s.mesh == self.mesh
            if getattr(given, "ndim", 0) == ndim
        }
        return NamedSharding(self.mesh, specs.pop() if len(specs) == 1 else PartitionSpec())


def place(program: Program, leaves: Sequence[Any], options: Options) -> Placement:
    """Where a call runs: on the devices of its committed arguments, else on the default device.

    If a mesh is set, it runs on that.

    Raises:
      ValueError: if arguments, results, operations and the mesh that is set are bound to different
        devices, or to the same devices in different orders; the error names two of them.
    """
    constants = len(program.consts)
    fixed = options.in_shardings
    devices: tuple[Device, ...] | None = None
    culprit = ""
    shardings: list[Sharding | None] = []
    first: Sharding | None = None
    for i, x in enumerate([*program.consts, *leaves]):
        given = fixed[i - constants] if fixed is not None and i >= constants else None
        sharding = given
        if given is None and getattr(x, "committed", False):
            sharding = x.sharding
        shardings.append(sharding)
        if sharding is None:
            continue
        found = tuple(sharding._device_assignment)
        if devices is None:
            devices, culprit, first = found, _argument(program, i), sharding
        elif found != devices:
            raise _differ(program, culprit, devices, _argument(program, i), found)
    everywhere: Mesh | None = device_mesh.value
    if everywhere is not None:
        if options.device is not None:
            raise ValueError(
                f"jit({program.name}) has device={options.device!r}, but is called while "
                f"{everywhere} is set. Leave out the device, or call it inside `with "
                "set_mesh(None):`."
            )
        found = tuple(everywhere.devices.flat)
        if devices is None:
            devices, culprit = found, "the mesh that is set"
        elif devices != found:
            raise _differ(program, culprit, devices, "the mesh that is set", found)
    committed = devices is not None
    mesh = _only_mesh(program)
    mesh_devices = None if mesh is None else tuple(mesh.devices.flat)
    # Committed arguments decide first. A program with a mesh of its own runs on the mesh, unless an
    # argument is committed elsewhere: arguments on one of its devices are spread over all of them.
    if options.device is not None:
        devices, committed = (options.device,), True
    elif mesh_devices is not None:
        if devices is None or (len(devices) == 1 and set(devices) <= set(mesh_devices)):
            devices, committed, culprit = mesh_devices, True, "an operation"
            shardings = [s if s is not None and len(s.device_set) > 1 else None for s in shardings]
        elif devices != mesh_devices:
            raise _differ(program, culprit, devices, "an operation", mesh_devices)
    for sharding in options.out_shardings or ():
        if sharding is None or options.device is not None:
            continue
        found = tuple(sharding._device_assignment)
        if devices is None:
            devices, committed, culprit, first = found, True, "a result", sharding
        elif found != devices:
            raise _differ(program, culprit, devices, "a result, by out_shardings,", found)
    if devices is None:
        devices = (get_default_device(),)
    if len(devices) > 1:
        return Placement(devices, tuple(shardings), committed, everywhere)
    mesh = mesh or everywhere
    if isinstance(first, NamedSharding):
        mesh = first.mesh if isinstance(first.mesh, Mesh) else None
    elif first is not None or (mesh is not None and mesh.empty):
        mesh = None
    if mesh is None or options.device is not None:
        return Placement(devices, (None,) * len(shardings), committed)
    named = (s if isinstance(s, NamedSharding) else None for s in shardings)
    return Placement(devices, tuple(named), committed, mesh)


def _differ(
    program: Program,
    one: str,
    devices: Sequence[Device],
    other: str,
    found: Sequence[Device],
) -> ValueError:
    return ValueError(
        f"the arguments, results and operations of {program.name} are committed to different "
        f"devices, which are incompatible: {one} to {_ids(devices)}, and {other} to {_ids(found)}. "
        "Move one of them with device_put."
    )


def _argument(program: Program, i: int) -> str:
    names = program.arg_names
    i -= len(program.consts)
    if i < 0:
        return "a closed-over array"
    return f"argument {names[i] if i < len(names) else i}"


def _ids(devices: Sequence[Device]) -> str:
    return f"device ids {[d.id for d in devices]} on {devices[0].platform}"


def _only_mesh(program: Program) -> Mesh | None:
    """The mesh of a program's operations, if they have one."""
    meshes = meshes_of(program.jaxpr)
    if len(meshes) > 1:
        one, other = (tuple(mesh.devices.flat) for mesh in meshes[:2])
        raise _differ(program, "an operation", one, "another", other)
    return meshes[0] if meshes else None


def mesh_of(jaxpr: Jaxpr) -> Mesh | None:
    """The first mesh that a primitive in a program has of its own, if any."""
    meshes = meshes_of(jaxpr)
    return meshes[0] if meshes else None


def meshes_of(jaxpr: Jaxpr) -> tuple[Mesh, ...]:
    """The meshes that primitives in a program have of their own, one for each row of devices."""
    return jaxpr.derived("meshes", lambda: _meshes_of(jaxpr))


def _meshes_of(jaxpr: Jaxpr) -> tuple[Mesh, ...]:
    found: dict[tuple[Device, ...], Mesh] = {}
    for eqn in jaxpr.eqns:
        if eqn.primitive in mesh_rules:
            mesh = mesh_rules[eqn.primitive](**eqn.params)
            if mesh is not None:
                found.setdefault(tuple(mesh.devices.flat), mesh)
        for value in eqn.params.values():
            if type(value) is not Jaxpr and not isinstance(value, tuple):
                continue
            for inner in value if isinstance(value, tuple) else (value,):
                if type(inner) is Jaxpr:
                    for mesh in meshes_of(inner):
                        found.setdefault(tuple(mesh.devices.flat), mesh)
    return tuple(found.values())
