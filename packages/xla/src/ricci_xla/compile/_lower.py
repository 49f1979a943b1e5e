"""Lowering a traced function to a StableHLO module, with the shardings of its arguments."""

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_stablehlo import HostCallback, HostChecks, lower_jaxpr, parts_text
from ricci_xla.arrays._layout import HOST_MEMORY, layout_text
from ricci_xla.devices._platforms import canonical_platform
from ricci_xla.devices._topologies import is_described
from ricci_xla.meshes import AbstractMesh, GSPMDSharding, Mesh, NamedSharding, Sharding
from ricci_xla.meshes._encodings import shardy_text
from ricci_xla.tracing._compile_log import log_compilation, profiling, timed
from ricci_xla.tracing._program import Program

from ._claims import mesh_of
from ._executable import buffer_rank
from ._passes import PASSES, embed_short_constants, run_passes
from ._place import Buffer, Options, Placement


class Annotations:
    """Sharding attributes: in the ``sdy`` dialect by mesh axes, or in ``mhlo`` by tiles.

    A module can have only one of the two. A ``GSPMDSharding`` names no mesh, so that it needs
    tiles; operations with a mesh need mesh axes.
    """

    def __init__(self, jaxpr: ir.Jaxpr, placement: Placement):
        self.many = len(placement.devices) > 1
        self.meshes: dict[tuple[tuple[Hashable, int], ...], str] = {}
        # Tilings have no mesh whose axes Shardy's attributes could name, so such modules use the
        # older dialect; one dialect serves the whole module.
        tiled = any(isinstance(a.sharding, GSPMDSharding) for a in placement.arguments)
        self.shardy = not tiled or mesh_of(jaxpr) is not None

    def of(self, sharding: Sharding | None, aval: ir.AbstractValue) -> list[str]:
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
        self, sharding: Sharding | None, aval: ir.AbstractValue, mesh: Mesh | None
    ) -> list[str]:
        """Return the attributes of a result: by its type's axes if it has no sharding."""
        # With Explicit and Auto axes, a result's type specifies its sharding over the former only;
        # the compiler chooses it over the latter.
        if sharding is not None or mesh is None or not (mesh.explicit_axes and mesh.auto_axes):
            return self.of(sharding, aval)
        if not (self.many and self.shardy and isinstance(aval, ir.ShapedArray)):
            return []
        typed = aval.type_sharding
        parts, sums = ((), ir.no_axes) if typed is None else (typed.parts, typed.sums[0])
        text = parts_text(mesh, parts, buffer_rank(aval), sums)
        return [f"sdy.sharding = #sdy.sharding<@{self._symbol(mesh)}, {text}>"]

    def _symbol(self, mesh: Mesh | AbstractMesh) -> str:
        # Meshes of equal axes are one symbol; the devices are in the compile options.
        axes = tuple(mesh.shape.items())
        return self.meshes.setdefault(axes, f"mesh{len(self.meshes) or ''}")


_limit = ir.config.state("jax_captured_constants_warn_bytes")
_MAX_LISTED = 3  # the number of arrays that the warning describes, the largest first


def warn_captured(name: str, jaxpr: ir.Jaxpr, consts: Sequence[ir.ArrayLike]) -> None:
    """Warn if the arrays that a function closes over exceed the option's limit together.

    Args:
      name: the function's name.
      jaxpr: its jaxpr, whose first arguments are the arrays.
      consts: the arrays.
    """
    limit = _limit.value
    if limit is None or limit < 0 or not consts:
        return
    sizes = [_bytes(ir.get_aval(x)) for x in consts]
    if sum(sizes) < limit:
        return
    largest = sorted(range(len(consts)), key=sizes.__getitem__, reverse=True)[:_MAX_LISTED]
    lines = [
        f"- {ir.get_aval(consts[i]).str_short()}, {_format_bytes(sizes[i])}, "
        f"used {_first_use(jaxpr, i)}"
        for i in largest
    ]
    ir.warn_user(
        f"jit({name}) closes over arrays of {_format_bytes(sum(sizes))} together:\n"
        + "\n".join(lines)
        + "\nPass them as arguments, else they stay in memory for as long as the program does. If "
        "this is intended, set jax_captured_constants_warn_bytes to -1."
    )


def _bytes(aval: ir.AbstractValue) -> int:
    if not isinstance(aval, ir.ShapedArray):  # a token
        return 0
    return aval.size * getattr(aval.dtype, "itemsize", 0)


def _format_bytes(size: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.4g} {unit}"
        size /= 1000
    return f"{size:.4g} GB"


def _first_use(jaxpr: ir.Jaxpr, i: int) -> str:
    var = jaxpr.invars[i]
    for eqn in jaxpr.eqns:
        if any(atom is var for atom in eqn.invars):
            return f"by {eqn.primitive.name} at {eqn.source}"
    return "as a result"


# For a module that takes no constants: they are all part of its text, so no pass embeds some.
_CLOSED_PASSES = tuple(p for p in PASSES if p is not embed_short_constants)


class LoweredProgram(ir.TupleRecord):
    """The StableHLO module of a traced function for given devices.

    Attributes:
      text: the module.
      used: the positions, among constants and arguments, of those that the module takes.
      placement: where it runs.
      shardy: whether its shardings are annotated in the ``sdy`` dialect.
      host_callbacks: the Python functions that it calls.
      host_checks: its checks whose failures the caller raises.
    """

    text: str
    used: tuple[int, ...]
    placement: Placement
    shardy: bool
    host_callbacks: tuple[HostCallback, ...] = ()
    host_checks: HostChecks | None = None


def lower_program(
    program: Program,
    placement: Placement,
    options: Options,
    platform: str | None = None,
    *,
    sources: bool = False,
    closed: list[np.ndarray] | None = None,
    checks: bool = False,
) -> LoweredProgram:
    """Lower a traced function, with donation and shardings, without unused arguments.

    Args:
      program: the traced function.
      placement: where it runs.
      options: the options of ``jit``.
      platform: the platform to lower for, ``cpu``, ``cuda``, ``rocm`` or ``tpu``; by default that
        of the devices.
      sources: whether locations contain the lines of the user's code; they also do while a profile
        is recorded.
      closed: a list, if the module is to take the function's arguments alone and not its
        constants. Large ones are appended to it, and left out of the text: see ``lower_jaxpr``.
      checks: whether the module may have checks whose failures this process raises.
    """
    sources = sources or profiling.wants_lines
    count = len(program.consts)
    shardings = [argument.sharding for argument in placement.arguments[count:]]
    warn_captured(program.name, program.jaxpr, program.consts)
    log_compilation(program.name, program.jaxpr.in_avals[count:], shardings)
    with timed("Writing {} as StableHLO", f"jit({program.name})", "jaxpr_to_mlir_module_duration"):
        target = platform or canonical_platform(placement.devices[0])
        return _lower(program, placement, options, target, sources, closed, checks)


def _lower(
    program: Program,
    placement: Placement,
    options: Options,
    platform: str,
    sources: bool,
    closed: list[np.ndarray] | None,
    checks: bool,
) -> LoweredProgram:
    is_closed = closed is not None
    passes = _CLOSED_PASSES if is_closed else PASSES
    jaxpr = run_passes(program.jaxpr, placement, program.consts, passes)
    used = _used_arguments(jaxpr, len(program.consts), options.keep_unused)
    embedded: list[int] = []
    if is_closed:
        embedded = [i for i in used if i < len(program.consts)]
        used = used[len(embedded) :]
    arguments = [placement.arguments[i] for i in used]
    aliases, donors = _donations(program, used, placement, options)
    new_results = [
        i
        for i, result in enumerate(placement.results)
        # Any result may take a donor's memory.
        if not (donors or i in aliases.values() or result.on_host or result.layout is not None)
    ]
    annotations = Annotations(jaxpr, placement)
    host_callbacks: list[HostCallback] = []
    host_checks = HostChecks(checks and not (is_closed or is_described(placement.devices[0])))
    text = lower_jaxpr(
        jaxpr.replace(
            constvars=[jaxpr.invars[i] for i in embedded],
            consts=[program.consts[i] for i in embedded],
            invars=[jaxpr.invars[i] for i in used],
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
        host_checks=host_checks,
        devices=placement.devices,
        arg_names=argument_names(program, used) if sources else (),
        embed_constants=is_closed,
        uses_host_memory=any(argument.on_host for argument in placement.arguments),
        large_constants=closed,
        # The module of a file, or of described devices, is compiled for other processes.
        calls_native_kernels=not (is_closed or is_described(placement.devices[0])),
        new_results=new_results,
        arg_attributes=[
            annotations.of(argument.sharding, jaxpr.invars[i].aval) + _attributes(argument)
            for i, argument in zip(used, arguments, strict=True)
        ],
        result_attributes=[
            annotations.of_result(result.sharding, aval, placement.mesh_of_types)
            + _attributes(result)
            for result, aval in zip(placement.results, jaxpr.out_avals, strict=True)
        ],
    )
    return LoweredProgram(
        text, used, placement, annotations.shardy, tuple(host_callbacks), host_checks
    )


def _used_arguments(jaxpr: ir.Jaxpr, num_consts: int, keep_unused: bool) -> tuple[int, ...]:
    """Return the positions of the constants and arguments that the module takes.

    Arguments of symbolic shapes are always taken, since they determine the dimensions.
    """
    always = range(num_consts, len(jaxpr.invars)) if keep_unused else ()
    # The dimension variables of a symbolic shape are read from the argument's type at run time,
    # also if its elements are not used.
    read = {atom for eqn in jaxpr.eqns for atom in eqn.invars}.union(jaxpr.outvars)
    read.update(v for v in jaxpr.invars if not ir.is_static_shape(getattr(v.aval, "shape", ())))
    return tuple(i for i, var in enumerate(jaxpr.invars) if i in always or var in read)


def _attributes(buffer: Buffer) -> list[str]:
    """Return the attributes of an argument or result for its memory and its layout."""
    attributes = [f'mhlo.memory_kind = "{HOST_MEMORY}"'] if buffer.on_host else []
    if buffer.layout is not None:
        attributes.append(f'mhlo.layout_mode = "{layout_text(buffer.layout)}"')
    return attributes


def argument_names(program: Program, positions: Sequence[int]) -> list[str]:
    """Return the user's names of arguments; constants, which come first, have none."""
    count = len(program.consts)
    names = dict(enumerate(program.arg_names, count))
    return [names.get(i, "a closed-over array" if i < count else f"args[{i}]") for i in positions]


def _donations(
    program: Program, used: Sequence[int], placement: Placement, options: Options
) -> tuple[dict[int, int], list[int]]:
    """Pair each donated argument with a result of the same shape, dtype, memory and sharding.

    On several devices the compiler chooses a result's sharding unless it is specified, and only a
    buffer of the same size can be reused. If it is unspecified, the compiler also chooses which
    result reuses which argument.

    Returns:
      The aliases, from arguments to results; and the donors: unpaired arguments, whose memory XLA
      may still use for results and temporary buffers.
    """
    if not any(options.donated):
        return {}, []
    offset = len(program.consts)
    many = len(placement.devices) > 1
    # Aliases are fixed in the module, and need equal buffers. With special layouts, arguments are
    # only offered as donors, which XLA matches with results itself.
    paired = not any(b.layout is not None for b in (*placement.arguments, *placement.results))
    free: dict[Any, list[int]] = {}
    # Reversed, so that pop() takes the first result of a kind.
    for position, result in reversed(list(enumerate(placement.results))):
        kind = _buffer_kind(program.jaxpr.out_avals[position], result)
        free.setdefault((kind, result.sharding if many else None), []).append(position)
    aliases: dict[int, int] = {}
    donors: list[int] = []
    unused: list[str] = []
    for new, old in enumerate(used):
        if old < offset or not options.donated[old - offset]:
            continue
        aval: Any = program.jaxpr.invars[old].aval
        argument = placement.arguments[old]
        sharding, kind = argument.sharding if many else None, _buffer_kind(aval, argument)
        matching = free.get((kind, sharding))
        if matching and paired and (sharding is not None or not many):
            aliases[new] = matching.pop()
            continue
        donors.append(new)
        chosen = free.get((kind, None)) or ([] if paired else matching)
        if not chosen and sharding is not None:
            chosen = _with_equal_shards(free, kind, sharding)
        if chosen:
            chosen.pop()
        else:
            unused.append(aval.str_short())
    if unused:
        ir.warn_user(
            f"Some donated buffers of {program.name} were not usable: {', '.join(unused)}. No "
            "result has the same shape and dtype, and the same sharding."
        )
    return aliases, donors


def _buffer_kind(aval: Any, buffer: Buffer) -> tuple[tuple[int, ...], Any, bool]:
    return aval.shape, aval.dtype, buffer.on_host


def _with_equal_shards(
    free: dict[Any, list[int]], kind: tuple[tuple[int, ...], Any, bool], sharding: Sharding
) -> list[int] | None:
    """Return the free results of another sharding with shards of the same size."""
    # XLA can reuse a buffer of the same number of bytes on each device.
    size = math.prod(sharding.shard_shape(kind[0]))
    for (other, candidate), positions in free.items():
        if positions and candidate is not None and other == kind:
            if math.prod(candidate.shard_shape(kind[0])) == size:
                return positions
    return None
