"""Placing, lowering and compiling a program, and calling the executable."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ricci_ir import (
    ProgramCompiled,
    ShapedArray,
    TupleRecord,
    current_source,
    debug_key_reuse,
    get_aval,
    is_observed,
    is_static_shape,
    key_checks,
    live_program,
    may_have_dead_code,
    no_execution,
    notify,
    results_on_host,
    warn_user,
)
from ricci_stablehlo import HostCallback, lower_jaxpr
from ricci_xla.arrays._donation import name_deleted
from ricci_xla.arrays._layout import (
    AutoLayout,
    Layout,
    has_layout,
    layout_of,
    layout_text,
)
from ricci_xla.arrays._memory import HOST_MEMORY, MemorySpace, in_memory
from ricci_xla.arrays._placement import block_until_ready
from ricci_xla.devices._client import canonical_platform
from ricci_xla.devices._guards import unguarded
from ricci_xla.devices._runtime_types import CompileOptions, DeviceList, LoadedExecutable
from ricci_xla.devices._topologies import is_described
from ricci_xla.meshes._abstract_mesh import AbstractMesh
from ricci_xla.meshes._mesh import Mesh
from ricci_xla.meshes._sharding import single_device_sharding
from ricci_xla.meshes._sharding_types import (
    GSPMDSharding,
    HloSharding,
    NamedSharding,
    Sharding,
)
from ricci_xla.meshes._tiles import named_by_tiles
from ricci_xla.meshes._type_forms import placed_aval
from ricci_xla.programs._compile_log import log_compilation, timed
from ricci_xla.programs._profiling import profiling
from ricci_xla.programs._program import Program
from ricci_xla.programs._remembered import memories

from ._annotations import Annotations, with_terms
from ._captured import warn_captured
from ._compile import Executable, buffer_rank, compile_text, is_compiled, result_shardings
from ._dispatch import FastPath, fast_path, shard_args
from ._dump import dump_program
from ._embedding import embed_short
from ._error_checks import check_errors, checks_errors
from ._layouts import required_layouts, result_layouts
from ._memories import result_moves
from ._nan_checks import check_results, checks_results
from ._partitioners import partition_error
from ._program_devices import (
    Options,
    Placement,
    mesh_of,
    mesh_of_types,
    meshes_of_results,
    place,
    with_typed_results,
)
from ._shared_programs import before_first_run
from ._sizes import check_sizes, uncountable
from ._two_stages import compile_in_stages


class LoweredProgram(TupleRecord):
    """The StableHLO of a program for given devices.

    Attributes:
      text: the module.
      kept: the positions, among constants and arguments, of those that the module takes.
      placement: where it runs.
      shardy: whether its shardings are annotated in the ``sdy`` dialect.
      host_callbacks: the Python functions that it calls.
      on_host: for each result, whether it is in the host's memory.
    """

    text: str
    kept: tuple[int, ...]
    placement: Placement
    shardy: bool
    host_callbacks: tuple[HostCallback, ...] = ()
    on_host: tuple[bool, ...] = ()


def lower_program(
    program: Program,
    placement: Placement,
    options: Options,
    platform: str | None = None,
    *,
    sources: bool = False,
    closed: list[np.ndarray] | None = None,
) -> LoweredProgram:
    """Lower a program to StableHLO, with donation and shardings, without unused arguments.

    Args:
      program: the program.
      placement: where it runs.
      options: what ``jit`` was given.
      platform: the platform to lower for, ``cpu``, ``cuda``, ``rocm`` or ``tpu``; by default that
        of the devices.
      sources: whether operations have the lines of the user's code in their locations; they have
        them while a profile is recorded, too.
      closed: a list, if the module is to take the function's arguments alone and not its
        constants. Large ones are appended to it, and left out of the text: see ``lower_jaxpr``.
    """
    sources = sources or profiling.wants_lines
    jaxpr = program.jaxpr
    count = len(program.consts)
    warn_captured(program.name, jaxpr, program.consts)
    log_compilation(program.name, jaxpr.in_avals[count:], placement.in_shardings[count:])
    with timed("Writing {} as StableHLO", f"jit({program.name})", "jaxpr_to_mlir_module_duration"):
        target = platform or canonical_platform(placement.devices[0])
        return _lower_program(program, placement, options, target, sources, closed)


def _lower_program(
    program: Program,
    placement: Placement,
    options: Options,
    platform: str,
    sources: bool,
    closed: list[np.ndarray] | None,
) -> LoweredProgram:
    fixed = options.out_shardings or (None,) * len(program.jaxpr.outvars)
    wanted = [None if s is None else s.memory_kind == HOST_MEMORY for s in fixed]
    left = results_on_host(program.jaxpr, placement.on_host)
    on_host = tuple(b if a is None else a for a, b in zip(wanted, left, strict=True))
    is_closed = closed is not None
    jaxpr = program.jaxpr if is_closed else embed_short(program.jaxpr, program.consts)
    jaxpr = with_terms(result_moves.moved(jaxpr, wanted, left), fixed)
    if may_have_dead_code(jaxpr):
        jaxpr = live_program(jaxpr, final=True).jaxpr
    always = range(len(program.consts), len(jaxpr.invars)) if options.keep_unused else ()
    used = {atom for eqn in jaxpr.eqns for atom in eqn.invars}.union(jaxpr.outvars)
    used.update(v for v in jaxpr.invars if not is_static_shape(getattr(v.aval, "shape", ())))
    kept = tuple(i for i, var in enumerate(jaxpr.invars) if i in always or var in used)
    inside: list[int] = []
    if is_closed:
        inside = [i for i in kept if i < len(program.consts)]
        kept = kept[len(inside) :]
    layouts = result_layouts(program.jaxpr, options)
    aliases, donors = _donations(program, kept, placement, options, on_host, any(layouts))
    annotations = Annotations(jaxpr, placement)
    mesh = mesh_of_types(placement)
    host_callbacks: list[HostCallback] = []
    text = lower_jaxpr(
        jaxpr.replace(
            constvars=[jaxpr.invars[i] for i in inside],
            consts=[program.consts[i] for i in inside],
            invars=[jaxpr.invars[i] for i in kept],
        ),
        program.name,
        platform=platform,
        aliases=aliases,
        donors=donors,
        num_partitions=len(placement.devices),
        result_info=program.result_info or None,
        meshes=annotations.meshes,
        locations="sources" if sources else True,
        shardy=annotations.shardy,
        host_callbacks=host_callbacks,
        devices=placement.devices,
        arg_names=argument_names(program, kept) if sources else (),
        embed_constants=is_closed,
        uses_host_memory=any(placement.on_host),
        large_constants=closed,
        arg_attributes=[
            annotations.of(placement.in_shardings[i], jaxpr.invars[i].aval)
            + _memory_attribute(bool(placement.on_host) and placement.on_host[i])
            + _layout_attribute(placement.in_layouts[i] if placement.in_layouts else None)
            for i in kept
        ],
        result_attributes=[
            annotations.of_result(sharding, aval, mesh)
            + _memory_attribute(there)
            + _layout_attribute(layout)
            for sharding, aval, there, layout in zip(
                fixed, jaxpr.out_avals, on_host, layouts, strict=True
            )
        ],
    )
    callbacks = tuple(host_callbacks)
    return LoweredProgram(text, kept, placement, annotations.shardy, callbacks, on_host)


def _layout_attribute(layout: Layout | AutoLayout | None) -> list[str]:
    return [] if layout is None else [f'mhlo.layout_mode = "{layout_text(layout)}"']


def _memory_attribute(on_host: bool) -> list[str]:
    return [f'mhlo.memory_kind = "{HOST_MEMORY}"'] if on_host else []


def argument_names(program: Program, positions: Sequence[int]) -> list[str]:
    """The user's names of a program's arguments; constants, which come first, have none."""
    count = len(program.consts)
    known = dict(enumerate(program.arg_names, count))
    return [known.get(i, "a closed-over array" if i < count else f"args[{i}]") for i in positions]


def _donations(
    program: Program,
    kept: Sequence[int],
    placement: Placement,
    options: Options,
    on_host: Sequence[bool],
    has_layouts: bool,
) -> tuple[dict[int, int], list[int]]:
    """Pair each donated argument with a result of the same shape, dtype, memory and sharding.

    On several devices the compiler chooses the sharding of a result unless it is given, and only a
    buffer of the same size can be reused. Where it is not given, the compiler also chooses which
    results take the memory of which arguments.

    Returns the paired results by argument, and the arguments that are left over, which XLA may
    still use for results and temporary buffers.
    """
    if not any(options.donated):
        return {}, []
    offset = len(program.consts)
    many = len(placement.devices) > 1
    paired = not has_layouts and not placement.in_layouts
    fixed = options.out_shardings or (None,) * len(program.jaxpr.outvars)
    free: dict[Any, list[int]] = {}
    for position, aval in reversed(list(enumerate(program.jaxpr.out_avals))):
        kind = (aval.shape, aval.dtype, on_host[position])  # pyright: ignore
        free.setdefault((kind, fixed[position] if many else None), []).append(position)
    aliases: dict[int, int] = {}
    donors: list[int] = []
    unused: list[str] = []
    for new, old in enumerate(kept):
        if old < offset or not options.donated[old - offset]:
            continue
        aval = program.jaxpr.invars[old].aval
        here = placement.in_shardings[old] if many else None
        kind = (aval.shape, aval.dtype, bool(placement.on_host) and placement.on_host[old])
        matching = free.get((kind, here))
        if matching and paired and (here is not None or not many):
            aliases[new] = matching.pop()
            continue
        donors.append(new)
        chosen = free.get((kind, None)) or ([] if paired else matching)
        if not chosen and here is not None:
            chosen = _of_equal_parts(free, kind, here)
        if chosen:
            chosen.pop()
        else:
            unused.append(aval.str_short())
    if unused:
        warn_user(
            f"Some donated buffers of {program.name} were not usable: {', '.join(unused)}. No "
            "result has the same shape and dtype, and the same sharding."
        )
    return aliases, donors


def _of_equal_parts(
    free: dict[Any, list[int]], kind: tuple[tuple[int, ...], Any, bool], here: Sharding
) -> list[int] | None:
    """Results that are divided otherwise into parts of the same size, whose memory is as large."""
    size = math.prod(here.shard_shape(kind[0]))
    for (other, where), positions in free.items():
        if positions and where is not None and other == kind:
            if math.prod(where.shard_shape(kind[0])) == size:
                return positions
    return None


class CompiledProgram:
    """A program with its executable, to be called with flat arguments.

    Args:
      program: the program.
      executable: what it was compiled to.
      is_known: whether the program's equations are known; not if it was loaded compiled.
    """

    __slots__ = ("executable", "is_known", "program")

    executable: Executable
    is_known: bool
    program: Program

    def __init__(self, program: Program, executable: Executable, is_known: bool = True):
        self.program = program
        self.executable = executable
        self.is_known = is_known

    @property
    def is_provisional(self) -> bool:
        """Whether a better program is to take over."""
        return self.executable.better is not None

    def call(self, leaves: Sequence[Any]) -> tuple[list[Any], FastPath | None]:
        """Run the program.

        Returns the flat results, and the entry for the C++ dispatcher's cache, or ``None`` if calls
        must come to Python every time: if results are checked, are no plain arrays, or have
        effects.
        """
        executable = self.executable
        kept = executable.kept
        program = self.program
        if no_execution.value:
            raise RuntimeError(
                f"jit({program.name}) was called, but the option jax_no_execution forbids running "
                "programs."
            )
        if not executable.is_loaded:
            raise RuntimeError(
                f"{program.name} was compiled for devices of a topology, which are described and "
                "not attached, so it cannot be called. Ask it for as_text(), memory_analysis() and "
                "cost_analysis()."
            )
        try:
            arrays = shard_args(
                [s for s, keep in zip(executable.in_shardings, kept, strict=True) if keep],
                [x for x, keep in zip(leaves, kept, strict=True) if keep],
            )
        except RuntimeError:
            name_deleted(program.name, program.arg_names, leaves)
            raise
        arranged = executable.arranged(arrays)
        given = [*program.consts, *leaves]
        checks_keys = self.is_known and debug_key_reuse.value
        if checks_keys:
            key_checks().call(program.jaxpr, program.name, given, ())
        checked = self.is_known and checks_errors()
        if checked:
            check_errors(program.jaxpr, program.name, given)
        results = executable.execute(arranged)
        if executable.fills_memory:
            block_until_ready(results)
        if checks_keys:
            key_checks().call(program.jaxpr, program.name, given, results)
        if checks_results():
            jaxpr = program.jaxpr if self.is_known else None
            check_results(jaxpr, program.name, given, results)
            return results, None
        if checked or executable.has_extended_results or executable.effects:
            return results, None
        # C++ would pass arrays in the layout that they have, and never look for a better program.
        if arranged is not arrays or self.is_provisional:
            return results, None
        return results, fast_path(executable, self.program.out_tree)

    def check_types(self, leaves: Sequence[Any]) -> None:
        """Raise ``TypeError`` unless the arguments have the types it was compiled for."""
        names = self.program.arg_names
        for i, (aval, leaf) in enumerate(zip(self.executable.in_avals, leaves, strict=True)):
            found: Any = get_aval(leaf)
            if found.shape != aval.shape or found.dtype != aval.dtype:
                raise TypeError(
                    f"{self.program.name} was compiled for argument "
                    f"{names[i] if i < len(names) else i} of type {aval.str_short()}, but was "
                    f"called with {found.str_short()}. Call the jitted function instead, which "
                    "compiles for new types."
                )

    def check_places(self, leaves: Sequence[Any]) -> None:
        """Raise ``ValueError`` if arguments are committed otherwise than it was compiled for."""
        executable, names = self.executable, self.program.arg_names
        wrong: list[str] = []
        layouts = iter(executable.in_layouts)
        for i, (leaf, expected) in enumerate(zip(leaves, executable.in_shardings, strict=True)):
            if not executable.kept[i]:
                continue
            layout = next(layouts, None)
            if not getattr(leaf, "committed", False):
                continue
            if not has_layout(leaf, layout):
                name = names[i] if i < len(names) else i
                found = layout_of(getattr(leaf, "physical", leaf))
                wrong.append(
                    f"argument {name} of type {leaf.aval.str_short()}\n"
                    f"  compiled for {layout or 'the usual layout'}\n  called with  {found}\n"
                )
            if not leaf.sharding.is_equivalent_to(expected, getattr(leaf, "physical", leaf).ndim):
                name = names[i] if i < len(names) else i
                wrong.append(
                    f"argument {name} of type {leaf.aval.str_short()}\n"
                    f"  compiled for {expected}\n  called with  {leaf.sharding}\n"
                )
        if wrong:
            more = f"and {len(wrong) - 2} more\n" if len(wrong) > 2 else ""
            raise ValueError(
                f"{self.program.name} was called with arguments that are committed to other "
                f"shardings or layouts than it was compiled for:\n{''.join(wrong[:2])}{more}"
                "Move them with device_put, or call the jitted function, which compiles anew."
            )


def compile_program(
    program: Program, leaves: Sequence[Any], options: Options, *, in_stages: bool = False
) -> CompiledProgram:
    """Compile a program for the places of its arguments, unless it is compiled for them."""
    placement = place(program, leaves, options)
    options = with_typed_results(program, placement, options)
    lower = lambda: lower_program(program, placement, options)
    return kept_program(program, placement, options, lower, in_stages=in_stages)


def kept_program(
    program: Program,
    placement: Placement,
    options: Options,
    lower: Callable[[], LoweredProgram],
    *,
    in_stages: bool = False,
) -> CompiledProgram:
    """The compiled program that its jaxpr keeps for a placement; else ``lower()`` is compiled.

    The same jaxpr may belong to two programs: one that gives its leading arguments as constants,
    and a call of it with all arguments given.
    """
    key = ("compiled", len(program.consts), placement, options)
    # The jaxpr must not keep the program, which keeps the jaxpr: they are freed without the
    # garbage collector, together with the arrays that they hold.
    build = lambda: compile_lowered(program, lower(), options, in_stages=in_stages).executable
    return CompiledProgram(program, program.jaxpr.derived(key, build))


def _compilation(program: Program) -> ProgramCompiled:
    """The event that tells observers that a program is compiled."""
    avals = program.jaxpr.in_avals[len(program.consts) :]
    arguments = tuple(zip(program.arg_names, avals, strict=True))
    source = current_source()
    return ProgramCompiled(source, program.origin, arguments, program.static, program.jaxpr)


def compile_lowered(
    program: Program, lowered: LoweredProgram, options: Options, *, in_stages: bool = False
) -> CompiledProgram:
    """Compile a lowered program; ``in_stages`` if its first calls may run one compiled quickly."""
    if program.origin and is_observed():
        notify(_compilation(program))
    placement = lowered.placement
    devices = placement.devices
    described = is_described(devices[0])
    dump_program(program.name, program.jaxpr, lowered.text)
    check_sizes(program, devices)
    with timed("Compiling {} with XLA", f"jit({program.name})", "backend_compile_duration"):
        try:
            compile = lambda flags, cached=True: compile_text(
                lowered.text,
                devices,
                num_partitions=len(devices),
                compiler_options=flags,
                use_shardy=lowered.shardy,
                host_callbacks=lowered.host_callbacks,
                configure=_propagate if len(devices) > 1 else None,
                cached=cached,
            )
            flags, better = dict(options.compiler_options), None
            if (
                in_stages
                and not (described or len(devices) > 1 or memories.programs is not None)
                and not (lowered.host_callbacks or program.jaxpr.effects)
                and not is_compiled(lowered.text, devices, flags)
            ):
                loaded, better = compile_in_stages(compile, flags)
            else:
                loaded = compile(flags)
        except RuntimeError:
            error = uncountable(program) or partition_error(lowered.text)
            if error is None:
                raise
            raise error from error.__cause__
    jaxpr = program.jaxpr
    count = len(program.consts)
    if len(devices) == 1:
        here = single_device_sharding(devices[0])
        in_shardings = [s or here for s in placement.in_shardings]
        in_avals = jaxpr.in_avals
        chosen = [placement.result_sharding(aval, in_avals) or here for aval in jaxpr.out_avals]
    else:
        given = (*placement.in_shardings, *(options.out_shardings or ()))
        mesh = (
            placement.mesh
            or mesh_of(jaxpr)
            or next((s.mesh for s in given if isinstance(s, NamedSharding)), None)
        )
        in_shardings = _argument_shardings(loaded, lowered, jaxpr.in_avals, mesh)
        chosen = [
            named_by_tiles(s, made_on or mesh, buffer_rank(aval))
            # For a program without results jaxlib still returns one sharding.
            for s, aval, made_on in zip(
                (result_shardings(loaded, devices) or [])[: len(jaxpr.outvars)],
                jaxpr.out_avals,
                meshes_of_results(jaxpr),
                strict=True,
            )
        ]
    if placement.on_host:
        in_shardings = [
            in_memory(s, MemorySpace.Host) if there else s
            for s, there in zip(in_shardings, placement.on_host, strict=True)
        ]
    fixed = options.out_shardings or (None,) * len(jaxpr.outvars)
    out_shardings = [
        f if f is not None else in_memory(s, MemorySpace.Host) if there else s
        for f, s, there in zip(fixed, chosen, lowered.on_host, strict=True)
    ]
    kept = [i in lowered.kept for i in range(len(jaxpr.invars))]
    consts: list[Any] = []
    if not described:  # such devices hold no arrays
        with unguarded():
            consts = shard_args(
                [s for s, keep in zip(in_shardings[:count], kept, strict=False) if keep],
                [c for c, keep in zip(program.consts, kept, strict=False) if keep],
            )
    executable = Executable(
        loaded,
        jaxpr.in_avals[count:],
        [
            placed_aval(aval, sharding) if isinstance(aval, ShapedArray) else aval
            for aval, sharding in zip(jaxpr.out_avals, out_shardings, strict=True)
        ],
        in_shardings=in_shardings[count:],
        out_shardings=out_shardings,
        kept=kept[count:],
        committed=placement.committed,
        consts=consts,
        effects=jaxpr.effects,
        in_layouts=required_layouts(loaded, lowered.kept, count, placement.in_layouts),
        before_first_run=(
            before_first_run(program.name, lowered.text, devices) if len(devices) > 1 else None
        ),
        better=better,
    )
    return CompiledProgram(program, executable)


def _propagate(options: CompileOptions) -> None:
    """Let XLA choose the shardings of arguments that have none."""
    build = options.executable_build_options
    build.allow_spmd_sharding_propagation_to_parameters = [True]


def _argument_shardings(
    loaded: LoadedExecutable,
    lowered: LoweredProgram,
    avals: Sequence[Any],
    mesh: Mesh | AbstractMesh | None,
) -> list[Sharding]:
    """The sharding that each argument must have: its own if it was annotated, else XLA's choice."""
    given = list(lowered.placement.in_shardings)
    wanted = loaded.get_parameter_shardings()
    where = DeviceList(tuple(lowered.placement.devices))
    replicated = named_by_tiles(GSPMDSharding(where, HloSharding.replicate()), mesh, 0)
    shardings: list[Sharding] = [s if s is not None else replicated for s in given]
    for position, i in enumerate(lowered.kept):
        written = given[i] is not None and (
            not lowered.shardy or isinstance(given[i], NamedSharding)
        )
        if not written and wanted is not None:
            chosen = GSPMDSharding(where, wanted[position])
            shardings[i] = named_by_tiles(chosen, mesh, buffer_rank(avals[i]))
    return shardings
