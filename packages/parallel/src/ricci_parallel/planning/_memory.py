"""The memory of an executable on each device, and the lines that own it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ricci_parallel.reports._attribution import Attribution
from ricci_parallel.reports._hlo_text import Computation, HloModule, Instruction, Line
from ricci_xla import Executable

from ._buffers import Leaf
from ._entry_memory_types import Buffer
from ._live_ranges import EntryMemory
from ._module_paths import module_path

__all__ = ["LiveBuffer", "Memory", "Owner"]

# The name in the HLO module of an array that the function closes over.
CLOSED_OVER = "a closed-over array"
RESIDUAL = "kept for the backward pass"

# Opcodes through which a loop body's result reaches its dynamic-update-slice.
_PASSING = frozenset(
    "all-reduce bitcast convert copy copy-done copy-start dynamic-slice get-tuple-element "
    "reduce-scatter reshape slice transpose".split()
)


@dataclass(frozen=True, slots=True)
class Memory:
    """The bytes of an executable on each device; all but ``live`` are the compiler's.

    Attributes:
      arguments: the arguments.
      results: the results, of which ``donated`` lie in the memory of arguments.
      donated: the results that lie in the memory of donated arguments.
      temporaries: intermediate values; the compiler reuses memory, and leaves gaps.
      code: the executable itself, if it is in the device's memory.
      live: the results and temporaries that are in memory at the same time, at most, as estimated
        from the HLO text. ``owners`` add up to this and the arguments. It is to be compared
        with ``results - donated + temporaries``, which has gaps, and is usually more.
      host: the temporaries in the host's memory, which do not count in ``total``.
    """

    arguments: int
    results: int
    donated: int
    temporaries: int
    code: int
    live: int
    host: int

    @property
    def total(self) -> int:
        """The memory that a device must have to run the executable."""
        return self.arguments + self.results - self.donated + self.temporaries + self.code


def memory_of(executable: Executable, live: int) -> Memory:
    """Read the bytes of an executable on each device, with the estimate of ``live``."""
    stats = executable.memory_analysis()
    return Memory(
        stats.argument_size_in_bytes,
        stats.output_size_in_bytes,
        stats.alias_size_in_bytes,
        stats.temp_size_in_bytes,
        stats.generated_code_size_in_bytes,
        live,
        stats.host_temp_size_in_bytes,
    )


@dataclass(frozen=True, slots=True)
class Owner:
    """Arrays that are in memory at the peak, due to one line or one argument.

    Attributes:
      kind: ``"argument"``, ``"result"`` or ``"temporary"``; of a ``MemoryPlan`` the reason as in
        ``LiveBuffer.why``.
      bytes: their size together on each device.
      count: their number.
      shape: the type of the largest, of which each device has this part.
      name: the argument's name, or the operation that computes them.
      file, line, function: the place in the user's code; ``""`` and 0 if unknown, as for arguments.
      scope: the name scopes of the largest, as models set them: ``Model/block0/Dense_0``;
        without any, the path of the module whose parameters it reads: ``model.blocks[3].attn``.
    """

    kind: str
    bytes: int
    count: int
    shape: str
    name: str
    file: str
    line: int
    function: str
    scope: str = ""


@dataclass(frozen=True, slots=True)
class LiveBuffer:
    """An array that is in memory at an executable's peak.

    Attributes:
      why: why it is alive: it is an ``"argument"``, a ``"donated argument"``, whose memory a result
        takes, a ``"constant"`` that the function closes over, a ``"result"``, ``"kept for the
        backward pass"``, or a ``"temporary"``.
      bytes: its size on each device.
      dtype: XLA's name of its dtype.
      shape: its shape, of which each device has this part.
      operation: the operation that computes it, or the argument's name.
      file, line, function: the place in the user's code; ``""`` and 0 if unknown, as for arguments.
      scope: the name scopes that it is computed in, without those of transformations; without
        any, the path of the module whose parameters it reads, as in ``model.blocks[3].attn``.
    """

    why: str
    bytes: int
    dtype: str
    shape: tuple[int, ...]
    operation: str
    file: str
    line: int
    function: str
    scope: str = ""

    @property
    def type(self) -> str:
        """The dtype and the shape, such as ``f32[2,3]``."""
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"

    def of(self, argument: str) -> "LiveBuffer":
        """Return the buffer under the name of an argument."""
        return replace(self, operation=argument)


def live_buffers(
    memory: EntryMemory, module: HloModule, sources: Attribution
) -> tuple[LiveBuffer, ...]:
    """List the arrays in memory at the peak, each with the line or argument that owns it."""
    rows: list[LiveBuffer] = []
    for buffer in memory.arguments:
        name = buffer.instruction.op_name or buffer.instruction.name
        why = "argument"
        if buffer.instruction.index in memory.donated:
            why = "donated argument"
        elif name == CLOSED_OVER:
            why = "constant"
        rows.append(_row(buffer.bytes, buffer.leaf, why, name, None, sources))
    reasons = Reasons(memory, module, sources)
    for buffer, position, size in memory.peak.buffers:
        origin = reasons.origin(buffer, position)
        line = module.line_of(origin) if origin is not None else None
        scope, name = ("", "") if origin is None else _scope_and_operation(origin.op_name)
        written, leaf, _ = buffer.at(position)
        scope = scope or module_path(buffer.computation, written)
        why = reasons.why(buffer, position)
        rows.append(_row(size, leaf, why, name, line, sources, scope))
    return tuple(sorted((row for row in rows if row.bytes), key=lambda row: -row.bytes))


def _row(
    size: int,
    leaf: Leaf,
    why: str,
    name: str,
    line: Line | None,
    sources: Attribution,
    scope: str = "",
) -> LiveBuffer:
    function = sources.lines.function(line) if line else ""
    place = (line.file, line.line, function) if line else ("", 0, "")
    return LiveBuffer(why, size, leaf.dtype, leaf.sizes, name, *place, scope)


# Texts that transformations put around the scopes of an operation, and into their path.
_WRAPPERS = re.compile(r"\b(?:jvp|transpose|vmap|linearize|checkpoint|rematted_computation)\(")
_OF_PROGRAMS = re.compile(r"(?:jit|pjit)\((.*)\)|shard_map|while|body|cond|branch_\d+_fun")


def _scope_and_operation(op_name: str) -> tuple[str, str]:
    """Return the name scopes in an instruction's path, and its operation.

    Example:
      >>> from ricci_parallel.planning._memory import _scope_and_operation
      >>> _scope_and_operation("jit(loss)/transpose(jvp(Model))/block0/add")
      ('Model/block0', 'add')
    """
    # The compiler joins the paths of instructions that it has merged.
    path, _, operation = op_name.partition(";")[0].rpartition("/")
    scopes: list[str] = []
    programs: set[str | None] = {None}
    for part in path.split("/"):
        of_program = _OF_PROGRAMS.fullmatch(part)
        if of_program is not None:
            programs.add(of_program[1])
            continue
        scope = _WRAPPERS.sub("", part)
        scope = scope if "(" in scope else scope.rstrip(")")
        if scope and scope not in programs:  # some libraries name a scope like their function
            scopes.append(scope)
    return "/".join(scopes), operation


class Reasons:
    """Finds the instruction that computes an array, and the reason why it is alive.

    Args:
      memory: the arrays of the module.
      module: the module.
      sources: finds the lines of its instructions.
    """

    def __init__(self, memory: EntryMemory, module: HloModule, sources: Attribution):
        self.module, self.sources = module, sources
        self._results = set(map(id, memory.results))
        self._origins: dict[tuple[int, str], Instruction | None] = {}

    def origin(self, buffer: Buffer, position: int) -> Instruction | None:
        """Return the instruction whose line owns a buffer's contents after a position."""
        ends = id(buffer) in self._results
        instruction = buffer.instruction if ends else buffer.at(position)[0]
        key = (id(buffer), instruction.name)
        if key not in self._origins:
            self._origins[key] = _origin(buffer, instruction, self.module, self.sources)
        return self._origins[key]

    def why(self, buffer: Buffer, position: int) -> str:
        """Return the reason why a buffer's contents are alive after a position."""
        instruction, _, end = buffer.at(position)
        if id(buffer) in self._results:
            return "result"
        if is_backward(self.origin(buffer, position) or instruction):
            return "temporary"
        later = (x for at, x in buffer.readers if at >= position and (end is None or at <= end))
        return RESIDUAL if any(map(is_backward, later)) else "temporary"


def is_backward(instruction: Instruction) -> bool:
    """Whether an instruction belongs to a backward pass, by its name scopes."""
    return "transpose(" in instruction.op_name


def owners_of(buffers: Sequence[LiveBuffer], exact: bool = False) -> tuple[Owner, ...]:
    """Return the lines and arguments that own the memory at the peak, the largest first.

    Args:
      buffers: the arrays that are live then.
      exact: whether the kind of an owner is the reason itself, or one of the three kinds of a
        ``Plan``.
    """
    groups: dict[tuple[str, str, str, int], list[LiveBuffer]] = {}
    for row in buffers:
        kind = row.why if exact else _KINDS.get(row.why, "temporary")
        groups.setdefault((kind, row.operation, row.file, row.line), []).append(row)
    rows = [
        Owner(
            kind=kind,
            bytes=sum(row.bytes for row in members),
            count=len(members),
            shape=max(members, key=lambda row: row.bytes).type,
            name=name,
            file=file,
            line=line,
            function=members[0].function,
            scope=max(members, key=lambda row: row.bytes).scope,
        )
        for (kind, name, file, line), members in groups.items()
    ]
    return tuple(sorted(rows, key=lambda row: -row.bytes))


_KINDS = {
    "argument": "argument",
    "donated argument": "argument",
    "constant": "argument",
    "result": "result",
}


def _origin(
    buffer: Buffer, written: Instruction, module: HloModule, sources: Attribution
) -> Instruction | None:
    """Return the instruction whose line owns an array that an instruction has written.

    For an array that a loop carries, prefer the one in the loop's body that writes it.
    """
    for computation, instruction in _writers(buffer, written):
        for candidate in (
            _update_source(computation, instruction, module),
            instruction,
            sources.origin(computation, instruction.name),
            sources.user(computation, instruction),
        ):
            if candidate is not None and module.line_of(candidate) is not None:
                return candidate
    return None


def _writers(buffer: Buffer, written: Instruction) -> Iterable[tuple[Computation, Instruction]]:
    if buffer.written_in is not None:
        yield buffer.written_in
    yield buffer.computation, written


def _update_source(
    computation: Computation, instruction: Instruction, module: HloModule
) -> Instruction | None:
    """Return the instruction that computes a dynamic-update-slice's update operand, or None."""
    # The update is the operand 1 of the instruction, or, of a fusion, that of its root. An operand
    # that is a parameter of the fusion is computed by the instruction that the fusion is called
    # with.
    inner = None
    update = instruction
    if instruction.opcode == "fusion":
        names = [name for _, name in instruction.called()]
        inner = module.computations.get(names[0]) if names else None
        if inner is None:
            return None
        update = inner.root
        while update.opcode == "bitcast":
            update = inner.instructions[update.operands[0]]
    if update.opcode != "dynamic-update-slice":
        return None
    owner = computation if inner is None else inner
    source = owner.instructions[update.operands[1]]
    while source.opcode in _PASSING and source.operands:
        source = owner.instructions[source.operands[0]]
    if inner is None or source.opcode != "parameter":
        return source
    source = computation.instructions[instruction.operands[source.index]]
    while source.opcode in _PASSING and source.operands:
        source = computation.instructions[source.operands[0]]
    return source
