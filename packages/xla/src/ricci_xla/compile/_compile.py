"""Compile a call: place it, lower it, compile the module with XLA, cache the executable.

With two stages, XLA first compiles without the optimizations of machine code, on which it spends
most of a compilation; their result replaces the first executable when it is done.

Each of several processes traces and compiles by itself. If two of them get different modules, their
collectives deadlock or exchange unrelated values. So the package that joins the processes registers
a check (``check_shared_programs``), which runs before the first call of each such module.
"""

import itertools
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ricci_ir as ir
from ricci_stablehlo import without_locations
from ricci_xla.arrays._layout import Layout, MemorySpace, in_memory
from ricci_xla.devices._jaxlib_options import unguarded
from ricci_xla.devices._runtime_types import CompileOptions, Device, DeviceList, LoadedExecutable
from ricci_xla.devices._topologies import is_described
from ricci_xla.meshes._abstract_mesh import AbstractMesh
from ricci_xla.meshes._encodings import hlo_sharding, is_equal_form, named_by_tiles
from ricci_xla.meshes._mesh import Mesh
from ricci_xla.meshes._sharding import single_device_sharding
from ricci_xla.meshes._sharding_types import GSPMDSharding, HloSharding, NamedSharding, Sharding
from ricci_xla.meshes._type_forms import placed_aval
from ricci_xla.tracing._compile_log import timed
from ricci_xla.tracing._program import Program
from ricci_xla.tracing._warm_start_hook import warm_start_hooks

from ._call import CompiledProgram
from ._claims import mesh_of, meshes_of_results
from ._compiler import compile_text, is_compiled
from ._dispatch import shard_args
from ._executable import Executable, buffer_rank, result_shardings
from ._lower import LoweredProgram, lower_program
from ._place import LEAST_PACKED, Options, Placement, place
from ._sizes import check_sizes, may_fill_memory, size_error

__all__ = ["SharedProgram", "check_shared_programs", "two_stage_compilation"]

_folder = ir.config.state("jax_dump_ir_to")
_counter = itertools.count()
_MODES = ("stablehlo", "jaxpr")


def dump_program(name: str, jaxpr: ir.Jaxpr, text: str) -> None:
    """Write a jaxpr or its module to the folder that ``jax_dump_ir_to`` names, if it is set.

    Args:
      name: the function's name.
      jaxpr: its jaxpr.
      text: its StableHLO module, with locations.

    Raises:
      ValueError: if the option is ``"sponge"`` and ``TEST_UNDECLARED_OUTPUTS_DIR`` is not set.
    """
    if not _folder.value:
        return
    folder = _dump_folder(_folder.value)
    file_name = re.sub(r"[^\w.-]", "_", name)
    modes = (ir.config.jax_dump_ir_modes or "").split(",")
    for mode in filter(None, map(str.strip, modes)):
        number = next(_counter)
        if mode == "stablehlo":
            with_locations = ir.config.jax_include_debug_info_in_dumps
            path = folder / f"jax_ir{number:04d}_jit_{file_name}_compile.mlir"
            path.write_text(text if with_locations else without_locations(text))
        elif mode == "jaxpr":
            (folder / f"jax_{number:06d}_{file_name}.jaxpr.txt").write_text(f"{jaxpr}\n")
        else:
            ir.warn_user(
                f"jax_dump_ir_modes names {mode!r}, which is not supported; give "
                f"{' or '.join(_MODES)}, or both with a comma."
            )


def _dump_folder(name: str) -> Path:
    if name == "sponge":
        outputs = os.environ.get("TEST_UNDECLARED_OUTPUTS_DIR")
        if not outputs:
            raise ValueError(
                "jax_dump_ir_to is 'sponge', which means the folder that the environment "
                "variable TEST_UNDECLARED_OUTPUTS_DIR names, but that is not set. Name a folder."
            )
        name = outputs
    folder = Path(name)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class SharedProgram(ir.TupleRecord):
    """A module that several processes run together.

    Attributes:
      name: the function's name.
      text: the StableHLO module.
      processes: the numbers of the processes, in order.
    """

    name: str
    text: str
    processes: tuple[int, ...]


class _Check:
    """Holds the registered check, if any."""

    def __init__(self):
        self.check: Callable[[SharedProgram], None] | None = None


_current = _Check()


def check_shared_programs(check: Callable[[SharedProgram], None] | None) -> None:
    """Call a function before each module over several processes runs for the first time.

    Args:
      check: the function, which raises an error to prevent the run; ``None`` removes the check.
    """
    _current.check = check


def before_first_run(name: str, text: str, devices: Sequence[Device]) -> Callable[[], None] | None:
    """Return the check of a module, to be called before its first run, or ``None``."""
    if _current.check is None:
        return None
    processes = tuple(sorted({device.process_index for device in devices}))
    if len(processes) < 2:
        return None
    return partial(_current.check, SharedProgram(name, text, processes))


if TYPE_CHECKING:
    from concurrent.futures import Future

    from ._background import Background


_VARIABLE = "RICCI_TWO_STAGE_COMPILATION"
two_stage_compilation: ir.State = ir.State(
    "two_stage_compilation", None, os.environ.get(_VARIABLE, "").lower() in ("1", "true", "on")
)
"""Whether functions are compiled in two stages; off unless ``RICCI_TWO_STAGE_COMPILATION`` is set.

``with two_stage_compilation(True):`` holds for the calls inside, and
``two_stage_compilation.set_global(True)`` for all. Results of both stages are equal up to rounding.
Functions on several devices, and those with side effects or callbacks, are compiled once; so are
all while a warm start's bundle is in use.
"""

UNOPTIMIZED: dict[str, Any] = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
}


@cache
def _background() -> "Background":
    """Return the thread that compiles with optimizations, started on first use."""
    from . import _background as background  # noqa: PLC0415 - lazy: few programs need it

    return background.Background("ricci.compile")


def compile_in_stages(
    compile: Callable[[Mapping[str, Any], bool], LoadedExecutable], options: Mapping[str, Any]
) -> "tuple[LoadedExecutable, Future[LoadedExecutable]]":
    """Return an executable without optimizations, and a future of the optimized one.

    Args:
      compile: called as ``compile(flags, cached)``, with XLA's flags by name, and whether
        caches are used.
      options: the user's flags, for both stages.
    """
    quick = compile({**UNOPTIMIZED, **options}, False)
    # The optimized executable is compiled by another thread, while the quick one runs.
    return quick, _background().submit(lambda: compile(options, True))


def compile_program(
    program: Program, leaves: Sequence[Any], options: Options, *, in_stages: bool = False
) -> CompiledProgram:
    """Compile a traced function for the placement of its arguments, unless that is cached.

    Args:
      program: the traced function.
      leaves: the arguments.
      options: the options of ``jit``.
      in_stages: whether the first calls may run an executable without optimizations.
    """
    packed = _compile_packed(program, leaves, options, in_stages)
    if packed is not None:
        return packed
    placement = place(program, leaves, options)
    # A bundle stores the executable for other processes, which have no functions of this one.
    checks = warm_start_hooks.compile is None
    lower = lambda: lower_program(program, placement, options, checks=checks)
    return cached_program(program, placement, options, lower, in_stages=in_stages)


def _compile_packed(
    program: Program, leaves: Sequence[Any], options: Options, in_stages: bool
) -> CompiledProgram | None:
    """Compile a program on stacks of arguments or results that its caller makes; else ``None``."""
    if len(program.jaxpr.invars) + len(program.jaxpr.outvars) < LEAST_PACKED:
        return None
    from . import _packing as packed  # noqa: PLC0415 - lazy: few have so many

    packing = packed.packing_for(program, leaves, options)
    if packing is None:
        return None
    inner = packing.program._replace(consts=program.consts)
    types = packed.packed_types(packing, leaves)
    inner_options = packed.packed_options(packing, options)
    compiled = compile_program(inner, types, inner_options, in_stages=in_stages)
    return packed.PackedProgram(program, packing, compiled, options)


def cached_program(
    program: Program,
    placement: Placement,
    options: Options,
    lower: Callable[[], LoweredProgram],
    *,
    in_stages: bool = False,
) -> CompiledProgram:
    """Return the executable that is cached on a jaxpr for a placement; else compile ``lower()``.

    Two programs may share a jaxpr: one has its leading arguments as constants, the other takes all
    of them. So the number of constants is part of the key.
    """
    key = ("compiled", len(program.consts), placement, options)
    # The executable, which the jaxpr caches, must not refer to the program and so to the jaxpr:
    # without a cycle, reference counting frees them and their arrays.
    build = lambda: compile_lowered(program, lower(), options, in_stages=in_stages).executable
    return CompiledProgram(program, program.jaxpr.derived(key, build))


def compile_lowered(
    program: Program, lowered: LoweredProgram, options: Options, *, in_stages: bool = False
) -> CompiledProgram:
    """Compile a lowered function; ``in_stages`` as for ``compile_program``."""
    if program.origin and ir.is_observed():
        ir.notify(_compilation(program))
    devices = lowered.placement.devices
    dump_program(program.name, program.jaxpr, lowered.text)
    check_sizes(program, devices)
    with timed("Compiling {} with XLA", f"jit({program.name})", "backend_compile_duration"):
        try:
            loaded, optimized = _compile_module(program, lowered, options, in_stages)
        except RuntimeError:
            from ._partitioners import partition_error  # noqa: PLC0415 - lazy: for errors

            # XLA's own message does not tell the cause, which Ricci knows for these two kinds of
            # failures.
            error = size_error(program) or partition_error(lowered.text)
            if error is None:
                raise
            raise error from error.__cause__
    return CompiledProgram(program, _executable(program, lowered, loaded, optimized))


def _compilation(program: Program) -> ir.ProgramCompiled:
    """Return the event of a compilation, for observers."""
    avals = program.jaxpr.in_avals[len(program.consts) :]
    arguments = tuple(zip(program.arg_names, avals, strict=True))
    source = ir.current_source()
    return ir.ProgramCompiled(source, program.origin, arguments, program.static, program.jaxpr)


def _compile_module(
    program: Program, lowered: LoweredProgram, options: Options, in_stages: bool
) -> "tuple[LoadedExecutable, Future[LoadedExecutable] | None]":
    """Compile a module; in two stages, return also the future of the optimized executable.

    Only modules that may run twice, on one attached device, are compiled in stages, and only if no
    cache has them.
    """
    devices = lowered.placement.devices

    def compile(flags: Any, cached: bool = True) -> LoadedExecutable:
        return compile_text(
            lowered.text,
            devices,
            num_partitions=len(devices),
            compiler_options=flags,
            use_shardy=lowered.shardy,
            host_callbacks=lowered.host_callbacks,
            configure=partial(_let_propagate, lowered) if len(devices) > 1 else None,
            cached=cached,
        )

    flags = dict(options.compiler_options)
    if (
        in_stages
        # Not where the executables of several processes or devices would have to be replaced at one
        # moment, nor those that a bundle stores.
        and not (
            is_described(devices[0]) or len(devices) > 1 or warm_start_hooks.compile is not None
        )
        and not (lowered.host_callbacks or program.jaxpr.effects)
        and not is_compiled(lowered.text, devices, flags)
    ):
        return compile_in_stages(compile, flags)
    return compile(flags), None


def _let_propagate(lowered: LoweredProgram, options: CompileOptions) -> None:
    """Let XLA choose the shardings of arguments and results that have none."""
    build = options.executable_build_options
    build.allow_spmd_sharding_propagation_to_parameters = [True]
    if not lowered.shardy:
        # Shardings by tiles are replaced by others where propagation to them is allowed.
        placement = lowered.placement
        arguments = [placement.arguments[i] for i in lowered.used]
        inner, outer = (
            [buffer.sharding is None for buffer in buffers]
            for buffers in (arguments, placement.results)
        )
        build.allow_spmd_sharding_propagation_to_parameters = inner
        build.allow_spmd_sharding_propagation_to_output = outer


def _executable(
    program: Program,
    lowered: LoweredProgram,
    loaded: LoadedExecutable,
    optimized: "Future[LoadedExecutable] | None",
) -> Executable:
    """Return the executable with the shardings, layouts and constants that its calls need."""
    jaxpr, placement, devices = program.jaxpr, lowered.placement, lowered.placement.devices
    count, used = len(program.consts), frozenset(lowered.used)
    in_shardings, out_shardings = _chosen_shardings(jaxpr, lowered, loaded, count)
    in_shardings = [
        in_memory(sharding, MemorySpace.Host) if argument.on_host else sharding
        for sharding, argument in zip(in_shardings, placement.arguments, strict=True)
    ]
    for i, result in enumerate(placement.results):
        if result.sharding is not None:
            out_shardings[i] = result.sharding
        elif result.on_host:
            out_shardings[i] = in_memory(out_shardings[i], MemorySpace.Host)
    consts: list[Any] = []
    if not is_described(devices[0]):  # described devices hold no arrays
        positions = [i for i in lowered.used if i < count]
        with unguarded():
            consts = shard_args(
                [in_shardings[i] for i in positions], [program.consts[i] for i in positions]
            )
    return Executable(
        loaded,
        jaxpr.in_avals[count:],
        [
            placed_aval(aval, sharding) if isinstance(aval, ir.ShapedArray) else aval
            for aval, sharding in zip(jaxpr.out_avals, out_shardings, strict=True)
        ],
        in_shardings=in_shardings[count:],
        out_shardings=out_shardings,
        used_arguments=[i in used for i in range(count, len(jaxpr.invars))],
        committed=placement.committed,
        consts=consts,
        effects=jaxpr.effects,
        in_layouts=_required_layouts(loaded, lowered, count),
        before_first_run=(
            before_first_run(program.name, lowered.text, devices) if len(devices) > 1 else None
        ),
        optimized=optimized,
        is_large=may_fill_memory(jaxpr),
        host_checks=lowered.host_checks,
    )


def _chosen_shardings(
    jaxpr: Any, lowered: LoweredProgram, loaded: LoadedExecutable, num_consts: int
) -> tuple[list[Sharding], list[Sharding]]:
    """Return the sharding of each argument and result, chosen by XLA where unspecified."""
    placement = lowered.placement
    if len(placement.devices) == 1:
        # On one device XLA reports no shardings, so they follow from the placement.
        default, in_avals = single_device_sharding(placement.devices[0]), jaxpr.in_avals
        return [argument.sharding or default for argument in placement.arguments], [
            placement.result_sharding(aval, in_avals) or default for aval in jaxpr.out_avals
        ]
    mesh = (
        placement.mesh
        or mesh_of(jaxpr)
        or next((s.mesh for s in placement.shardings if isinstance(s, NamedSharding)), None)
    )
    # For a module without results jaxlib still returns one sharding.
    of_results = (result_shardings(loaded, placement.devices) or [])[: len(jaxpr.outvars)]
    example, example_rank = _first_sharding(lowered, jaxpr.in_avals, num_consts)
    out_shardings: list[Sharding] = []
    for sharding, aval, operation_mesh in zip(
        of_results, jaxpr.out_avals, meshes_of_results(jaxpr), strict=True
    ):
        rank, its_mesh = buffer_rank(aval), operation_mesh or mesh
        named = named_by_tiles(sharding, its_mesh, rank)
        if example is not None and (example_rank, example.mesh) == (rank, its_mesh):
            if is_equal_form(hlo_sharding(sharding, rank), hlo_sharding(example, rank)):
                kind = named.memory_kind
                named = example if kind is None else example.with_memory_kind(kind)
        out_shardings.append(named)
    return _argument_shardings(loaded, lowered, jaxpr.in_avals, mesh), out_shardings


def _first_sharding(
    lowered: LoweredProgram, avals: Sequence[Any], num_consts: int
) -> tuple[NamedSharding | None, int]:
    """Return the sharding that was given for the first used argument, and its rank.

    XLA's form of a sharding does not tell mesh axes of size 1 and trailing entries of a spec. A
    result with the same form keeps those of the first argument, so that ``x + 1`` has the sharding
    of ``x``.
    """
    first = next((i for i in lowered.used if i >= num_consts), None)
    shardings = [argument.sharding for argument in lowered.placement.arguments]
    sharding = None if first is None else shardings[first]
    meshes = {s.mesh for s in shardings if isinstance(s, NamedSharding)}
    if first is None or not isinstance(sharding, NamedSharding) or len(meshes) > 1:
        return None, 0
    return sharding, buffer_rank(avals[first])


def _argument_shardings(
    loaded: LoadedExecutable,
    lowered: LoweredProgram,
    avals: Sequence[Any],
    mesh: Mesh | AbstractMesh | None,
) -> list[Sharding]:
    """Return each argument's sharding: the annotated one, else the one that XLA chose."""
    requested = [argument.sharding for argument in lowered.placement.arguments]
    of_parameters = loaded.get_parameter_shardings()
    devices = DeviceList(tuple(lowered.placement.devices))
    # An unused argument is not a parameter of the module, so XLA chooses no sharding for it.
    replicated = named_by_tiles(GSPMDSharding(devices, HloSharding.replicate()), mesh, 0)
    shardings: list[Sharding] = [replicated if s is None else s for s in requested]
    for position, i in enumerate(lowered.used):
        is_annotated = requested[i] is not None and (
            not lowered.shardy or isinstance(requested[i], NamedSharding)
        )
        if not is_annotated and of_parameters is not None:
            chosen = GSPMDSharding(devices, of_parameters[position])
            shardings[i] = named_by_tiles(chosen, mesh, buffer_rank(avals[i]))
    return shardings


def _required_layouts(
    loaded: LoadedExecutable, lowered: LoweredProgram, num_consts: int
) -> tuple[Layout | None, ...]:
    """Return the layout that each used argument must have; empty if all are row-major."""
    arguments = lowered.placement.arguments
    if all(argument.layout is None for argument in arguments):
        return ()
    layouts = loaded.get_parameter_layouts()
    layouts = layouts[len(layouts) - len(lowered.used) :]  # tokens come first
    return tuple(
        None if arguments[i].layout is None else Layout.from_pjrt_layout(layout)
        for i, layout in zip(lowered.used, layouts, strict=True)
        if i >= num_consts
    )
