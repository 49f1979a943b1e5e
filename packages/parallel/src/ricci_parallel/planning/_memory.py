"""What a program takes of each device's memory, and the lines that own it."""

from collections.abc import Iterable
from dataclasses import dataclass

from ricci_parallel.reports._attribution import Attribution
from ricci_parallel.reports._hlo_text import Computation, HloModule, Instruction, Line

from ._live_ranges import Buffer, EntryMemory

# What passes on to an update, in a loop's body, what is computed there.
_PASSING = frozenset(
    "all-reduce bitcast convert copy copy-done copy-start dynamic-slice get-tuple-element "
    "reduce-scatter reshape slice transpose".split()
)


@dataclass(frozen=True, slots=True)
class Memory:
    """The bytes that a program takes on each device; all but ``live`` are the compiler's.

    Attributes:
      arguments: the arguments.
      results: the results, of which ``donated`` lie in the memory of arguments.
      donated: the results that lie in the memory of donated arguments.
      temporaries: what it computes on the way; the compiler reuses memory, and leaves gaps.
      code: the program itself, if it is in the device's memory.
      live: the results and temporaries that are in memory at the same time, at most, as found in
        the text of the program. ``owners`` add up to this and the arguments. It is to be compared
        with ``results - donated + temporaries``, which has gaps, and is usually more.
    """

    arguments: int
    results: int
    donated: int
    temporaries: int
    code: int
    live: int

    @property
    def total(self) -> int:
        """All that a device must have for the program to run."""
        return self.arguments + self.results - self.donated + self.temporaries + self.code


@dataclass(frozen=True, slots=True)
class Owner:
    """Arrays that are in memory at the peak, and are due to one line or one argument.

    Attributes:
      kind: ``"argument"``, ``"result"`` or ``"temporary"``.
      bytes: what they take together on each device.
      count: their number.
      shape: the type of the largest, of which each device has this part.
      name: the argument's name, or the operation that computes them.
      file, line, function: the place in the user's code; ``""`` and 0 if unknown, as for arguments.
    """

    kind: str
    bytes: int
    count: int
    shape: str
    name: str
    file: str
    line: int
    function: str


def owners_of(found: EntryMemory, module: HloModule, sources: Attribution) -> tuple[Owner, ...]:
    """The lines and arguments that a program's memory at its peak is due to, the largest first."""
    groups: dict[tuple[str, str, Line | None], list[Buffer]] = {}
    for buffer in found.arguments:
        name = buffer.instruction.op_name or buffer.instruction.name
        groups.setdefault(("argument", name, None), []).append(buffer)
    results = set(map(id, found.results))
    for buffer in found.peak.buffers:
        kind = "result" if id(buffer) in results else "temporary"
        origin = _origin(buffer, module, sources)
        line = module.line_of(origin) if origin is not None else None
        name = origin.op_name.rpartition("/")[2] if origin is not None else ""
        groups.setdefault((kind, name, line), []).append(buffer)
    rows = [
        Owner(
            kind=kind,
            bytes=sum(buffer.bytes for buffer in buffers),
            count=len(buffers),
            shape=str(max(buffers, key=lambda buffer: buffer.bytes).leaf),
            name=name,
            file=line.file if line else "",
            line=line.line if line else 0,
            function=sources.lines.function(line) if line else "",
        )
        for (kind, name, line), buffers in groups.items()
    ]
    return tuple(sorted((row for row in rows if row.bytes), key=lambda row: -row.bytes))


def _origin(buffer: Buffer, module: HloModule, sources: Attribution) -> Instruction | None:
    """The instruction whose line owns an array.

    For an array that a loop carries this is what the loop's body writes there, if it has a line.
    """
    for computation, instruction in _writers(buffer):
        for found in (
            _written(computation, instruction, module),
            instruction,
            sources.origin(computation, instruction.name),
            sources.user(computation, instruction),
        ):
            if found is not None and module.line_of(found) is not None:
                return found
    return None


def _writers(buffer: Buffer) -> Iterable[tuple[Computation, Instruction]]:
    if buffer.written_in is not None:
        yield buffer.written_in
    yield buffer.computation, buffer.instruction


def _written(
    computation: Computation, instruction: Instruction, module: HloModule
) -> Instruction | None:
    """What computes the part that an update writes; ``None`` for what is no update."""
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
    here = computation if inner is None else inner
    found = here.instructions[update.operands[1]]
    while found.opcode in _PASSING and found.operands:
        found = here.instructions[found.operands[0]]
    if inner is None or found.opcode != "parameter":
        return found
    found = computation.instructions[instruction.operands[found.index]]
    while found.opcode in _PASSING and found.operands:
        found = computation.instructions[found.operands[0]]
    return found
