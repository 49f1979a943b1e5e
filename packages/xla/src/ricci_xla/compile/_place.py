"""Placement of a call: devices, and the sharding, layout and memory of arguments and results."""

from collections.abc import Sequence
from typing import Any

import ricci_ir as ir
from ricci_xla.arrays import ArrayImpl, _layout
from ricci_xla.devices import Device, device_mesh, get_default_device
from ricci_xla.meshes import (
    AbstractMesh,
    Mesh,
    NamedSharding,
    PartitionSpec,
    Sharding,
    default_memory_kind,
    typed_sharding,
)
from ricci_xla.tracing._program import Program

from . import _claims as claims

__all__ = ["same_partitioning"]

# The least number of arguments and results that their caller stacks and unstacks: see _packing.py.
LEAST_PACKED = 16

# For primitives whose results have a layout: ``rule(**params)`` returns it.
layout_rules = ir.rule_table("layout", required=False)

type AnyLayout = _layout.Layout | _layout.AutoLayout | None
type Layouts = tuple[AnyLayout, ...]


class Options(ir.TupleRecord):
    """The arguments of ``jit`` that affect compilation.

    Attributes:
      device: the device to run on, if it is fixed.
      in_shardings, out_shardings: one for each leaf (``None`` where unspecified), or ``None``.
      in_layouts, out_layouts: likewise the layouts, where any is given.
      donated: for each leaf of the arguments, whether its buffer is donated; empty for none.
      keep_unused: whether unused arguments are passed to the executable.
      compiler_options: XLA options by name, sorted.
    """

    device: Device | None = None
    in_shardings: tuple[Sharding | None, ...] | None = None
    out_shardings: tuple[Sharding | None, ...] | None = None
    in_layouts: Layouts | None = None
    out_layouts: Layouts | None = None
    donated: tuple[bool, ...] = ()
    keep_unused: bool = False
    compiler_options: tuple[tuple[str, Any], ...] = ()


class Buffer(ir.TupleRecord):
    """The placement of an argument or a result.

    Attributes:
      sharding: its sharding; ``None`` where the compiler chooses it.
      layout: its layout, where that is not row-major.
      on_host: whether it is in the host's memory.
    """

    sharding: Sharding | None = None
    layout: AnyLayout = None
    on_host: bool = False


class Placement(ir.TupleRecord):
    """The devices that a call runs on, and the placement of its arguments and results.

    Attributes:
      devices: the devices.
      arguments: the placement of each constant and each argument.
      results: the placement of each result.
      committed: whether the results are committed to the devices, as they are if any argument is.
      mesh: the mesh of the results: the one that is set, or for a call on one device that of its
        arguments.
    """

    devices: tuple[Device, ...]
    arguments: tuple[Buffer, ...]
    results: tuple[Buffer, ...]
    committed: bool
    mesh: Mesh | None = None

    @property
    def shardings(self) -> tuple[Sharding | None, ...]:
        """The specified shardings of arguments and results, without those left to the compiler."""
        buffers = (*self.arguments, *self.results)
        return tuple([buffer.sharding for buffer in buffers if buffer.sharding is not None])

    @property
    def mesh_of_types(self) -> Mesh | None:
        """The mesh of the arguments' types, if it has several devices."""
        return _mesh_of(self.mesh, self.arguments) if len(self.devices) > 1 else None

    def result_sharding(
        self, aval: ir.AbstractValue, in_avals: Sequence[ir.AbstractValue]
    ) -> NamedSharding | None:
        """Return the sharding of a result on one device, if it is on a mesh.

        On one device a spec partitions nothing. A result has the spec of the arguments of its rank,
        if these agree.
        """
        if self.mesh is None:
            return None
        ndim = getattr(aval, "ndim", 0)
        # On one device the mesh does not change values, only the shardings that results report:
        # those of the arguments of their rank, where these agree.
        specs = {
            argument.sharding.spec
            for argument, in_aval in zip(self.arguments, in_avals, strict=True)
            if isinstance(argument.sharding, NamedSharding)
            if argument.sharding.mesh == self.mesh and getattr(in_aval, "ndim", 0) == ndim
        }
        return NamedSharding(self.mesh, specs.pop() if len(specs) == 1 else PartitionSpec())


def place(program: Program, leaves: Sequence[Any], options: Options) -> Placement:
    """Place a call: on the devices of its committed arguments, else on the default device.

    If a mesh is set, the call runs on that. Unused arguments have no influence.

    Raises:
      ValueError: if arguments, results, operations and the mesh that is set are bound to different
        devices, or to the same devices in different orders; or if an argument is committed
        otherwise than ``in_shardings`` specifies. The error names the two that disagree.
    """
    jaxpr = program.jaxpr
    shardings = [_argument_sharding(program, i, x, options) for i, x in enumerate(leaves)]
    # Unused arguments do not restrict the choice of devices.
    if not options.keep_unused and any(sharding is not None for sharding in shardings):
        used = _arguments_used(jaxpr)[len(program.consts) :]
        shardings = [s if u else None for s, u in zip(shardings, used, strict=True)]
    mesh: Mesh | None = device_mesh.value
    if options.device is not None and mesh is not None:
        raise ValueError(
            f"jit({program.name}) has device={options.device!r}, but is called while {mesh} "
            "is set. Leave out the device, or call it inside `with set_mesh(None):`."
        )
    # Arguments (or the `device` that they move to), the mesh that is set, operations and results
    # must agree. Arrays of the closure commit the call only if none of these does; else they are
    # moved.
    operations = claims.live_operations(jaxpr, options.keep_unused)
    claim = claims.agreed_claim(
        program, shardings, operations, options.device, options.out_shardings or ()
    ) or claims.closure_claim(program.consts)
    devices = (get_default_device(),) if claim is None else claim.devices
    closed = [x.sharding if claims.is_committed(x) else None for x in program.consts]
    # An array of the closure on other devices will be moved, and its sharding means nothing there.
    closed = [None if s is None or s._device_assignment != devices else s for s in closed]
    arguments = _place_arguments(program, leaves, (*closed, *shardings), options)
    if len(devices) == 1:
        mesh = None if options.device is not None else _mesh_on_one_device(mesh, claim, operations)
        arguments = [_without_sharding_outside(mesh, argument) for argument in arguments]
    on_host = tuple([argument.on_host for argument in arguments])
    typed_mesh = _mesh_of(mesh, arguments)
    if typed_mesh is not None and not typed_mesh.are_all_axes_explicit:
        typed_mesh = None
    # Placing results walks the jaxpr, so it is cached with it. The key has its inputs besides
    # the jaxpr.
    key = ("results", options.out_shardings, options.out_layouts, on_host, typed_mesh)
    results = jaxpr.derived(key, lambda: _place_results(jaxpr, options, on_host, typed_mesh))
    return Placement(devices, tuple(arguments), results, claim is not None, mesh)


def abstract_shardings(leaves: Sequence[Any]) -> list[NamedSharding | None]:
    """Return the sharding over an abstract mesh of each argument, or ``None``."""
    shardings = (getattr(x, "sharding", None) for x in leaves)
    return [
        s if isinstance(s, NamedSharding) and isinstance(s.mesh, AbstractMesh) else None
        for s in shardings
    ]


def over_abstract_mesh(
    placement: Placement, shardings: Sequence[NamedSharding | None], size: int
) -> Placement:
    """Extend a placement on one device to an abstract mesh, unless an argument has devices.

    The module has no device ids, so the one device may be repeated.

    Args:
      placement: the placement.
      shardings: the sharding over an abstract mesh of each constant and argument, or ``None``.
      size: the number of devices.
    """
    placed = any(argument.sharding is not None for argument in placement.arguments)
    if size == 1 or placed or len(placement.devices) > 1:
        return placement
    arguments = tuple(
        Buffer(sharding, argument.layout, argument.on_host)
        for argument, sharding in zip(placement.arguments, shardings, strict=True)
    )
    # Only the number of devices counts for lowering: the one device is repeated.
    return placement._replace(devices=placement.devices * size, arguments=arguments)


def _mesh_on_one_device(
    mesh: Mesh | None, claim: claims.Claim | None, operations: Sequence[claims.MeshOperation]
) -> Mesh | None:
    """Return the mesh of the results of a call on one device."""
    if claim is not None and isinstance(claim.sharding, NamedSharding):
        mesh = claim.sharding.mesh if isinstance(claim.sharding.mesh, Mesh) else None
    elif claim is not None and claim.sharding is not None:
        mesh = None
    elif operations:
        mesh = operations[0].mesh
    return mesh if mesh is not None and mesh.axis_names else None


def _without_sharding_outside(mesh: Mesh | None, argument: Buffer) -> Buffer:
    """Drop the sharding of an argument on one device unless it names a mesh's axes."""
    if argument.sharding is None or (
        mesh is not None and isinstance(argument.sharding, NamedSharding)
    ):
        return argument
    return Buffer(None, argument.layout, argument.on_host)


def _mesh_of(mesh: Mesh | None, arguments: Sequence[Buffer]) -> Mesh | None:
    """Return the mesh of a call, or that of its first argument with a mesh."""
    shardings = (argument.sharding for argument in arguments)
    meshes = (s.mesh for s in shardings if isinstance(s, NamedSharding))
    first = mesh or next(meshes, None)
    return first if isinstance(first, Mesh) else None


def _place_arguments(
    program: Program, leaves: Sequence[Any], shardings: Sequence[Sharding | None], options: Options
) -> list[Buffer]:
    count = len(program.consts)
    arguments = [Buffer(s, None, _is_on_host(s)) for s in shardings[:count]]
    requested = options.in_layouts or (None,) * len(leaves)
    for i, (x, sharding) in enumerate(zip(leaves, shardings[count:], strict=True)):
        layout = _argument_layout(program, i, x, requested[i])
        arguments.append(Buffer(sharding, layout, _is_on_host(sharding)))
    return arguments


def _place_results(
    jaxpr: ir.Jaxpr, options: Options, on_host: tuple[bool, ...], typed_mesh: Mesh | None
) -> tuple[Buffer, ...]:
    """Place the results: by ``jit``'s arguments, else by their types and operations.

    Args:
      jaxpr: the jaxpr.
      options: the options of ``jit``.
      on_host: for each constant and argument, whether it is in the host's memory.
      typed_mesh: the mesh of the call, if all of its axes are explicit.
    """
    layouts = _result_layouts(jaxpr, options.out_layouts or (None,) * len(jaxpr.outvars))
    shardings = options.out_shardings or (None,) * len(jaxpr.outvars)
    left_on_host = ir.results_on_host(jaxpr, on_host)
    results: list[Buffer] = []
    for aval, sharding, layout, is_on_host in zip(
        jaxpr.out_avals, shardings, layouts, left_on_host, strict=True
    ):
        # Along Explicit axes alone, a type determines the sharding of its arrays.
        if sharding is None and typed_mesh is not None:
            sharding = typed_sharding(aval, typed_mesh)
            if sharding is not None and is_on_host:
                sharding = _layout.in_memory(sharding, _layout.MemorySpace.Host)
        if sharding is not None and not (is_on_host and default_memory_kind(sharding) is None):
            is_on_host = _is_on_host(sharding)
        results.append(Buffer(sharding, layout, is_on_host))
    return tuple(results)


def _is_on_host(sharding: Sharding | None) -> bool:
    return sharding is not None and sharding.memory_kind == _layout.HOST_MEMORY


def _result_layouts(jaxpr: ir.Jaxpr, requested: Layouts) -> Layouts:
    """Return the layout of each result: from ``out_shardings``, else its operation's.

    Raises:
      ValueError: if a layout does not fit the result.
    """
    of_operations: dict[int, _layout.Layout] = {}
    for eqn in jaxpr.eqns:
        if eqn.primitive in layout_rules:
            layout = layout_rules[eqn.primitive](**eqn.params)
            of_operations.update((id(v), layout) for v in eqn.outvars)
    layouts: list[AnyLayout] = []
    for atom, layout in zip(jaxpr.outvars, requested, strict=True):
        if layout is None:
            layout = of_operations.get(id(atom))
        if isinstance(layout, _layout.Layout):
            aval: Any = atom.aval
            layout.check_compatible_aval(aval.shape)
            layout = _layout.physical_layout(layout, aval)
        layouts.append(layout)
    return tuple(layouts)


def _argument_sharding(program: Program, i: int, x: Any, options: Options) -> Sharding | None:
    """Return the sharding that an argument must have: from ``in_shardings``, else the array's.

    Raises:
      ValueError: if the array is partitioned in another way, or is in another memory.
    """
    requested = None if options.in_shardings is None else options.in_shardings[i]
    committed = claims.is_committed(x)
    if requested is None:
        return x.sharding if committed else _described_sharding(x)
    actual: Sharding | None = getattr(x, "sharding", None)
    if actual is None or actual is requested or getattr(x, "aval", None) is None:
        if not requested.is_fully_addressable and type(x) is not ir.ShapeDtypeStruct:
            _check_replicated(program, i, x, requested)
        return requested
    words = getattr(x, "physical", x)
    # The devices may differ: an array that is partitioned alike is copied to the others.
    if committed and not same_partitioning(actual, requested, words.ndim):
        raise ValueError(
            f"{claims.describe_argument(program, i)} of {program.name}, of type "
            f"{x.aval.str_short()}, is committed to another sharding than in_shardings specifies.\n"
            f"  found:    {actual}\n  expected: {requested}\n"
            "Move it with device_put(x, sharding) before the call, or leave its in_shardings out."
        )
    if actual.memory_kind != requested.memory_kind:
        raise ValueError(
            f"{claims.describe_argument(program, i)} of {program.name}, of type "
            f"{x.aval.str_short()}, is in the memory {actual.memory_kind!r}, but "
            f"in_shardings specifies {requested.memory_kind!r}. Move it with "
            "device_put(x, sharding) before the call."
        )
    return requested


def _check_replicated(program: Program, i: int, x: object, sharding: Sharding) -> None:
    """Raise ``ValueError`` if a NumPy value is to be sharded over several processes.

    It may be the whole value in each process, or only the process's part of it.
    """
    if not sharding.is_fully_replicated:
        raise ValueError(
            f"{claims.describe_argument(program, i)} of {program.name}, of type "
            f"{type(x).__name__}, is sharded over several processes by in_shardings, {sharding}.\n"
            "If each process has its own part, pass "
            "make_array_from_process_local_data(sharding, x); if all have the same values, "
            "device_put(x, sharding), or replicate it in in_shardings."
        )


def _argument_layout(program: Program, i: int, x: object, layout: AnyLayout) -> AnyLayout:
    """Return the layout of an argument: from ``in_shardings``, else the array's.

    Raises:
      ValueError: if the array is committed in another layout, or the layout does not fit it.
    """
    if type(x) is ir.ShapeDtypeStruct and layout is None:
        layout = x.format.layout
    if not isinstance(layout, _layout.Layout):
        return _layout.special_layout(x) or layout
    aval: Any = program.jaxpr.in_avals[len(program.consts) + i]
    layout.check_compatible_aval(aval.shape)
    physical = _layout.physical_layout(layout, aval)
    array = getattr(x, "physical", x)
    if (
        isinstance(array, ArrayImpl)
        and array._committed
        and not physical.matches(_layout.layout_of(array))
    ):
        raise ValueError(
            f"{claims.describe_argument(program, i)} of {program.name}, of type "
            f"{aval.str_short()}, is committed in another layout than in_shardings specifies.\n"
            f"  found:    {_layout.layout_of(array)}\n  expected: {layout}\n"
            "Move it with device_put(x, format) before the call."
        )
    return physical


def _described_sharding(x: object) -> Sharding | None:
    """Return the sharding of a ``ShapeDtypeStruct`` if it names devices, else ``None``."""
    if type(x) is not ir.ShapeDtypeStruct or not isinstance(x.sharding, Sharding):
        return None
    abstract = isinstance(x.sharding, NamedSharding) and not isinstance(x.sharding.mesh, Mesh)
    return None if abstract else x.sharding


def same_partitioning(one: Sharding, other: Sharding, ndim: int) -> bool:
    """Whether two shardings partition arrays alike, whichever devices hold the shards."""
    if one == other:
        return True
    mine, its = one._to_xla_hlo_sharding(ndim), other._to_xla_hlo_sharding(ndim)
    # XLA has several forms of replication, which compare as different.
    return mine == its or (mine.is_replicated() and its.is_replicated())


def _arguments_used(jaxpr: ir.Jaxpr) -> tuple[bool, ...]:
    """Return for each input of a jaxpr whether it is passed to the executable."""
    return jaxpr.derived("arguments used", lambda: _find_used(jaxpr))


def _find_used(jaxpr: ir.Jaxpr) -> tuple[bool, ...]:
    if ir.may_have_dead_code(jaxpr):
        return ir.live_program(jaxpr, final=True).arguments
    read = {atom for eqn in jaxpr.eqns for atom in eqn.invars}.union(jaxpr.outvars)
    return tuple([var in read for var in jaxpr.invars])
