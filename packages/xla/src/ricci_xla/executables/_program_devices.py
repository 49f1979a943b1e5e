"""Where a program runs: the devices that its arguments, results and operations name."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from ricci_ir import (
    AbstractValue,
    Jaxpr,
    JaxprEqn,
    ShapeDtypeStruct,
    Tracer,
    TupleRecord,
    explained,
    live_program,
    may_have_dead_code,
    results_on_host,
    rule_table,
)
from ricci_xla.arrays._array_impl import ArrayImpl
from ricci_xla.arrays._layout import (
    AutoLayout,
    Layout,
    layout_of,
    physical_layout,
    special_layout,
)
from ricci_xla.arrays._memory import HOST_MEMORY, MemorySpace, in_memory
from ricci_xla.devices._client import get_default_device
from ricci_xla.devices._runtime_types import Device
from ricci_xla.devices._state import device_mesh
from ricci_xla.meshes._mesh import Mesh
from ricci_xla.meshes._sharding_types import NamedSharding, Sharding
from ricci_xla.meshes._spec import PartitionSpec
from ricci_xla.meshes._type_forms import typed_sharding
from ricci_xla.programs._program import Program

__all__ = [
    "divides_alike",
]

# For primitives with a mesh of their own, such as shard_map: ``rule(**params)`` gives the mesh.
mesh_rules = rule_table("mesh", required=False)


type Layouts = tuple[Layout | AutoLayout | None, ...]


class Options(TupleRecord):
    """The arguments of ``jit`` that affect compilation.

    Attributes:
      device: the device to run on, if it is fixed.
      in_shardings, out_shardings: one for each leaf (``None`` where unspecified), or ``None``.
      in_layouts, out_layouts: likewise the layouts, where any is given.
      donated: for each leaf of the arguments, whether its buffer is donated; empty for none.
      keep_unused: whether arguments that nothing uses are passed all the same.
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


class Placement(TupleRecord):
    """The devices that a program runs on, and the sharding of each argument.

    Attributes:
      devices: the devices.
      in_shardings: for each constant and argument its sharding, ``None`` where that is open.
      committed: whether the results are committed to the devices, as they are if any argument is.
      mesh: the mesh of the results: the one that is set, or for a program on one device that of
        its arguments.
      on_host: for each constant and argument, whether it is in the host's memory; empty for none.
      in_layouts: for each constant and argument its layout, where it is not the usual one; empty
        if all are.
    """

    devices: tuple[Device, ...]
    in_shardings: tuple[Sharding | None, ...]
    committed: bool
    mesh: Mesh | None = None
    on_host: tuple[bool, ...] = ()
    in_layouts: Layouts = ()

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


class _Claim(TupleRecord):
    """What binds a program to devices: an argument, an operation or a result."""

    devices: tuple[Device, ...]
    sharding: Sharding | None
    name: Callable[[], str]


def place(program: Program, leaves: Sequence[Any], options: Options) -> Placement:
    """Where a call runs: on the devices of its committed arguments, else on the default device.

    If a mesh is set, it runs on that. Arguments that the program does not use may be anywhere.

    Raises:
      ValueError: if arguments, results, operations and the mesh that is set are bound to different
        devices, or to the same devices in different orders; or if an argument is committed
        otherwise than ``in_shardings`` says. The error names what does not fit.
    """
    shardings = [_argument_sharding(program, i, x, options) for i, x in enumerate(leaves)]
    if not options.keep_unused and any(sharding is not None for sharding in shardings):
        used = _arguments_used(program.jaxpr)[len(program.consts) :]
        shardings = [s if u else None for s, u in zip(shardings, used, strict=True)]
    operations = _live_operations(program.jaxpr, options)
    everywhere: Mesh | None = device_mesh.value
    if options.device is not None and everywhere is not None:
        raise ValueError(
            f"jit({program.name}) has device={options.device!r}, but is called while {everywhere} "
            "is set. Leave out the device, or call it inside `with set_mesh(None):`."
        )
    claim = _agreed(program, _claims(program, shardings, operations, options))
    closed = [x.sharding if _is_committed(x) else None for x in program.consts]
    if claim is not None:
        devices = claim.devices
    else:
        # What a function closes over decides only if nothing else does, and is moved otherwise.
        claim = next((_claim(s, lambda: "") for s in closed if s is not None), None)
        devices = (get_default_device(),) if claim is None else claim.devices
    here = [None if s is None or s._device_assignment != devices else s for s in closed]
    committed = claim is not None
    found = (*here, *shardings)
    hosted = tuple(s is not None and s.memory_kind == HOST_MEMORY for s in found)
    on_host = hosted if any(hosted) else ()
    layouts = _argument_layouts(program, leaves, options)
    if len(devices) > 1:
        return Placement(devices, found, committed, everywhere, on_host, layouts)
    mesh = everywhere
    if claim is not None and isinstance(claim.sharding, NamedSharding):
        mesh = claim.sharding.mesh if isinstance(claim.sharding.mesh, Mesh) else None
    elif claim is not None and claim.sharding is not None:
        mesh = None
    elif operations:
        mesh = operations[0].mesh
    if mesh is None or not mesh.axis_names or options.device is not None:
        return Placement(devices, (None,) * len(found), committed, None, on_host, layouts)
    named = (s if isinstance(s, NamedSharding) else None for s in found)
    return Placement(devices, tuple(named), committed, mesh, on_host, layouts)


def with_typed_results(program: Program, placement: Placement, options: Options) -> Options:
    """The options, with a sharding for each result whose type says how it is divided."""
    mesh = _mesh_of_arguments(placement)
    if mesh is None or not mesh.are_all_axes_explicit:
        return options
    jaxpr = program.jaxpr
    shardings = list(options.out_shardings or (None,) * len(jaxpr.outvars))
    on_host = results_on_host(jaxpr, placement.on_host)
    for i, (aval, is_there) in enumerate(zip(jaxpr.out_avals, on_host, strict=True)):
        if shardings[i] is None:
            typed = typed_sharding(aval, mesh)
            shardings[i] = in_memory(typed, MemorySpace.Host) if typed and is_there else typed
    return options._replace(out_shardings=tuple(shardings))


def mesh_of_types(placement: Placement) -> Mesh | None:
    """The mesh of several devices whose axes the types of a program name."""
    return _mesh_of_arguments(placement) if len(placement.devices) > 1 else None


def _mesh_of_arguments(placement: Placement) -> Mesh | None:
    mesh = placement.mesh or next(
        (s.mesh for s in placement.in_shardings if isinstance(s, NamedSharding)), None
    )
    return mesh if isinstance(mesh, Mesh) else None


def _argument_sharding(program: Program, i: int, x: Any, options: Options) -> Sharding | None:
    """The sharding that an argument must have: the one that ``jit`` was given, or its own.

    Raises:
      ValueError: if it has one of its own that divides it in another way, or another memory.
    """
    given = None if options.in_shardings is None else options.in_shardings[i]
    committed = _is_committed(x)
    if given is None:
        return x.sharding if committed else _described_sharding(x)
    own: Sharding | None = getattr(x, "sharding", None)
    if own is None or own is given or getattr(x, "aval", None) is None:
        if not given.is_fully_addressable and type(x) is not ShapeDtypeStruct:
            _check_same_everywhere(program, i, x, given)
        return given
    words = getattr(x, "physical", x)
    # The devices may differ: an array that is divided alike is copied to the others.
    if committed and not divides_alike(own, given, words.ndim):
        raise ValueError(
            f"{_argument(program, i)} of {program.name}, of type {x.aval.str_short()}, is committed"
            " to another sharding than in_shardings says.\n"
            f"  found:    {own}\n  expected: {given}\n"
            "Move it with device_put(x, sharding) before the call, or leave its in_shardings out."
        )
    if own.memory_kind != given.memory_kind:
        raise ValueError(
            f"{_argument(program, i)} of {program.name}, of type {x.aval.str_short()}, is in the "
            f"memory {own.memory_kind!r}, but in_shardings says {given.memory_kind!r}. Move it "
            "with device_put(x, sharding) before the call."
        )
    return given


def _is_committed(x: object) -> bool:
    """Whether a value must stay where it is. A tracer, which only has a type, need not."""
    if isinstance(x, Tracer) and x.concrete() is None:
        return False
    return getattr(x, "committed", False)


def _check_same_everywhere(program: Program, i: int, x: object, given: Sharding) -> None:
    """Raise ``ValueError`` if a value of NumPy is to be divided over several processes.

    Whether it is the same in all of them, or each has its own part, cannot be told.
    """
    if not given.is_fully_replicated:
        raise ValueError(
            f"{_argument(program, i)} of {program.name}, of type {type(x).__name__}, is divided "
            f"over several processes by its sharding in in_shardings, {given}.\nIf each process "
            "has its own part, pass make_array_from_process_local_data(sharding, x); if all have "
            "the same values, device_put(x, sharding), or replicate it in in_shardings."
        )


def _argument_layouts(program: Program, leaves: Sequence[Any], options: Options) -> Layouts:
    """The layouts of constants and arguments: those that ``jit`` was given, or their own.

    Raises:
      ValueError: if an array is committed in another layout, or a layout does not fit it.
    """
    given = options.in_layouts or (None,) * len(leaves)
    found: list[Layout | AutoLayout | None] = [None] * len(program.consts)
    for i, (x, layout) in enumerate(zip(leaves, given, strict=True)):
        if type(x) is ShapeDtypeStruct and layout is None:
            layout = x.format.layout
        own = special_layout(x)
        if not isinstance(layout, Layout):
            found.append(own or layout)
            continue
        aval: Any = program.jaxpr.in_avals[len(program.consts) + i]
        layout.check_compatible_aval(aval.shape)
        words = physical_layout(layout, aval)
        array = getattr(x, "physical", x)
        if (
            isinstance(array, ArrayImpl)
            and array._committed
            and not words.matches(layout_of(array))
        ):
            raise ValueError(
                f"{_argument(program, i)} of {program.name}, of type {aval.str_short()}, is "
                "committed in another layout than in_shardings says.\n"
                f"  found:    {layout_of(array)}\n  expected: {layout}\n"
                "Move it with device_put(x, format) before the call."
            )
        found.append(words)
    return tuple(found) if any(layout is not None for layout in found) else ()


def _described_sharding(x: object) -> Sharding | None:
    """The sharding of a ``ShapeDtypeStruct``, if it names devices; other values have none."""
    if type(x) is not ShapeDtypeStruct or not isinstance(x.sharding, Sharding):
        return None
    abstract = isinstance(x.sharding, NamedSharding) and not isinstance(x.sharding.mesh, Mesh)
    return None if abstract else x.sharding


def divides_alike(one: Sharding, other: Sharding, ndim: int) -> bool:
    """Whether two shardings divide arrays alike, whichever devices hold the parts."""
    if one == other:
        return True
    mine, its = one._to_xla_hlo_sharding(ndim), other._to_xla_hlo_sharding(ndim)
    return mine == its or (mine.is_replicated() and its.is_replicated())


def _claims(
    program: Program,
    shardings: Sequence[Sharding | None],
    operations: Sequence["_Operation"],
    options: Options,
) -> Iterator[_Claim]:
    """What binds a program to devices, the committed arguments first.

    To the device that ``jit`` was given, arguments are moved.
    """
    device = options.device
    if device is not None:
        yield _Claim((device,), None, lambda: f"{program.name}, by jit's device,")
    for i, sharding in enumerate(shardings):
        if sharding is not None and device is None:
            yield _claim(sharding, partial(_argument, program, i))
    everywhere: Mesh | None = device_mesh.value
    if everywhere is not None:
        yield _Claim(tuple(everywhere.devices.flat), None, lambda: "the mesh that is set")
    for operation in operations:
        devices = tuple(operation.mesh.devices.flat)
        yield _Claim(devices, None, partial(_operation, operation.eqn))
    for sharding in options.out_shardings or ():
        if sharding is not None:
            yield _claim(sharding, lambda: "a result, by out_shardings,")


def _claim(sharding: Sharding, name: Callable[[], str]) -> _Claim:
    return _Claim(tuple(sharding._device_assignment), sharding, name)


def _agreed(program: Program, claims: Iterable[_Claim]) -> _Claim | None:
    """The first claim, with whose devices all others must agree."""
    first: _Claim | None = None
    for claim in claims:
        if first is None:
            first = claim
        elif claim.devices != first.devices:
            raise ValueError(
                explained(
                    f"the arguments, results and operations of {program.name} are committed to "
                    "different devices, which are incompatible:\n"
                    f"  {first.name()} to {_ids(first.devices)}\n"
                    f"  {claim.name()} to {_ids(claim.devices)}\n"
                    "Move one of them with device_put.",
                    "devices",
                )
            )
    return first


def _argument(program: Program, i: int) -> str:
    names = program.arg_names
    return f"argument {names[i] if i < len(names) else i}"


def _operation(eqn: JaxprEqn) -> str:
    source = eqn.source
    return f"{eqn.primitive.name}{'' if source.code is None else f' at {source}'}"


def _ids(devices: Sequence[Device]) -> str:
    ids = [d.id for d in devices]
    some = f"{ids[:12]}, ..." if len(ids) > 12 else f"{ids}"
    return f"device ids {some} on {devices[0].platform}"


def _arguments_used(jaxpr: Jaxpr) -> tuple[bool, ...]:
    """For each input of a program, whether it is passed to the executable."""
    return jaxpr.derived("arguments used", lambda: _find_used(jaxpr))


def _find_used(jaxpr: Jaxpr) -> tuple[bool, ...]:
    if may_have_dead_code(jaxpr):
        return live_program(jaxpr, final=True).arguments
    read = {atom for eqn in jaxpr.eqns for atom in eqn.invars}.union(jaxpr.outvars)
    return tuple([var in read for var in jaxpr.invars])


class _Operation(TupleRecord):
    """An operation that has a mesh of its own."""

    mesh: Mesh
    eqn: JaxprEqn


def mesh_of(jaxpr: Jaxpr) -> Mesh | None:
    """The first mesh that a primitive in a program has of its own, if any."""
    found = _operations_of(jaxpr)
    return found[0].mesh if found else None


def meshes_of(jaxpr: Jaxpr) -> tuple[Mesh, ...]:
    """The meshes that primitives in a program have of their own, one for each row of devices."""
    return tuple(operation.mesh for operation in _operations_of(jaxpr))


def meshes_of_results(jaxpr: Jaxpr) -> list[Mesh | None]:
    """For each result of a program the mesh of the operation that makes it, if that has one."""
    meshes: dict[int, Mesh | None] = {}
    for eqn in jaxpr.eqns:
        rule = mesh_rules.get(eqn.primitive)
        mesh = None if rule is None else rule(**eqn.params)
        meshes.update((id(var), mesh) for var in eqn.outvars)
    return [meshes.get(id(atom)) for atom in jaxpr.outvars]


def _operations_of(jaxpr: Jaxpr) -> tuple[_Operation, ...]:
    """Operations with a mesh of their own, one for each row of devices."""
    return jaxpr.derived("operations with a mesh", lambda: _find_operations(jaxpr))


def _live_operations(jaxpr: Jaxpr, options: Options) -> tuple[_Operation, ...]:
    """Those whose results something depends on, if what nothing uses is left out."""
    found = _operations_of(jaxpr)
    if not found or options.keep_unused or not may_have_dead_code(jaxpr):
        return found
    return _operations_of(live_program(jaxpr, final=True).jaxpr)


def _find_operations(jaxpr: Jaxpr) -> tuple[_Operation, ...]:
    found: dict[tuple[Device, ...], _Operation] = {}
    for eqn in jaxpr.eqns:
        if eqn.primitive in mesh_rules:
            mesh = mesh_rules[eqn.primitive](**eqn.params)
            if mesh is not None:
                found.setdefault(tuple(mesh.devices.flat), _Operation(mesh, eqn))
        for value in eqn.params.values():
            if type(value) is not Jaxpr and not isinstance(value, tuple):
                continue
            for inner in value if isinstance(value, tuple) else (value,):
                if type(inner) is Jaxpr:
                    for operation in _operations_of(inner):
                        found.setdefault(tuple(operation.mesh.devices.flat), operation)
    return tuple(found.values())
