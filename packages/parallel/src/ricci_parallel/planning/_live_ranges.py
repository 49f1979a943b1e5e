"""Live ranges: which arrays of an HLO module are in memory at the same time.

The text of an executable is in the order in which it runs, so that an array is live from the
instruction that computes it to the last one that reads it. Some instructions compute in the memory
of an operand, by the rules below. XLA's own buffer assignment knows more, and cannot
reuse memory without gaps, so that its total differs.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ricci_parallel.reports._hlo_text import Computation, HloModule, Instruction

from ._buffers import Leaf, Shape, read_shape
from ._entry_memory_types import Buffer, LiveArray, Peak, Span

_ALIASES = re.compile(
    r"output_to_operand_aliasing=\{((?:[^{}]|\{[^{}]*\}|\{\{[^{}]*\}[^{}]*\})*)\}"
)
_ALIAS = re.compile(r"\{([\d, ]*)\}: \((\d+), \{([\d, ]*)\}")
_DONATED = re.compile(r"\{([\d, ]*)\}: \((\d+), \{[\d, ]*\}")
# Opcodes that only name a value, or a part of it.
_NAMES = frozenset({"bitcast", "opt-barrier", "optimization-barrier", "add-dependency", "domain"})
# Opcodes that compute an element of the result from the same element of each operand, and sorting:
# the result may reuse the memory of an operand of its size.
_IN_PLACE = frozenset(
    "abs add and clamp convert cosine divide exponential exponential-minus-one floor log maximum "
    "minimum multiply negate not or power remainder rsqrt select sign sine sort sqrt subtract tanh "
    "xor all-reduce".split()
)
# The memories that are not the device's main memory, by platform: a TPU has several on the chip,
# and for all of them 5 is the host's.
_HOST_SPACE = 5


# The arrays of a value, nested as its type is.
type Value = "Buffer | tuple[Value, ...]"


@dataclass(slots=True)
class EntryMemory:
    """The arrays of a module.

    Attributes:
      arguments: the arrays that its caller passes.
      results: the arrays returned, except those in the memory of donated arguments.
      peak: the arrays that it computes, all results among them, at the peak.
      spans: the live range of each array that it computes.
      inside: by the position of an instruction, the peak of the computation that it calls.
      donated: the positions of arguments whose memory results reuse.
    """

    arguments: list[Buffer]
    results: list[Buffer]
    peak: Peak
    spans: list[Span]
    inside: dict[int, int]
    donated: frozenset[int]


def entry_memory(module: HloModule, on_chip: bool) -> EntryMemory:
    """Compute the live ranges and the peak of a module.

    Args:
      module: the module, in the order in which it runs.
      on_chip: whether the devices have memories on the chip besides the main one.
    """
    ranges = _Ranges(module, on_chip)
    entry = module.entry
    pairs = _DONATED.findall(_donations(module.text))
    donated = {_numbers(out) for out, _ in pairs}
    arguments: list[Buffer] = []
    values: dict[str, Value] = {}
    for instruction in entry.instructions.values():
        if instruction.opcode == "parameter":
            value = ranges.fresh(entry, instruction, read_shape(instruction.shape))
            values[instruction.name] = value
            arguments.extend(flat(value))
    # Buffers are compared by identity: equal types do not mean equal memory.
    argument_ids = set(map(id, arguments))
    into_donated = _named(entry, donated)
    values, buffers = ranges.evaluate(entry, values, into_donated)
    results: list[Buffer] = []
    elsewhere = set(argument_ids)
    for path, buffer in _paths(values[entry.root.name]):
        if path in donated:
            elsewhere.add(id(buffer))
        elif id(buffer) not in argument_ids:
            results.append(buffer)
    computed = [buffer for buffer in buffers if id(buffer) not in elsewhere]
    order = list(entry.instructions.values())
    spans = _spans(order, values, computed)
    _place_in_results(spans, results, len(order))
    inside = {
        position: ranges.inner[id(instruction)].bytes
        for position, instruction in enumerate(order)
        if id(instruction) in ranges.inner
    }
    donated_arguments = frozenset(int(number) for _, number in pairs)
    peak = ranges.peak(order, [span for span in spans if span.host is None])
    _share(peak, spans)
    return EntryMemory(arguments, results, peak, spans, inside, donated_arguments)


def _place_in_results(spans: list[Span], results: list[Buffer], length: int) -> None:
    """Give results their memory from the start, as the runtime allocates them.

    Before a result is computed, other arrays may lie in its memory. As in XLA, the larger ones are
    placed first, and each in the first memory that is free during all of its live range.
    """
    lasting = set(map(id, results))
    hosts = [span for span in spans if id(span.buffer) in lasting]
    # The result itself occupies its memory from its computation on.
    occupied = [[(span.first, length)] for span in hosts]
    for span in hosts:
        span.first, span.last = 0, length - 1
    others = [span for span in spans if id(span.buffer) not in lasting and span.buffer.bytes]
    for span in sorted(others, key=lambda span: (-span.buffer.bytes, span.first - span.last)):
        for host, times in zip(hosts, occupied, strict=True):
            # First fit, with the intervals of positions during which the memory is in use.
            fits = span.buffer.bytes <= host.buffer.bytes
            if fits and all(span.last < first or last < span.first for first, last in times):
                span.host = host.buffer
                times.append((span.first, span.last))
                break


def _share(peak: Peak, spans: list[Span]) -> None:
    """Split the results at a peak whose memory holds another array then."""
    guests = {
        id(span.host): span.buffer
        for span in spans
        if span.host is not None and span.first <= peak.position <= span.last
    }
    shared: list[LiveArray] = []
    for alive in peak.buffers:
        guest = guests.get(id(alive.buffer))
        if guest is not None:
            shared.append(LiveArray(guest, peak.position, guest.bytes))
            # The guest lies inside of the result's memory, so the total of the peak stays the same.
            alive = alive._replace(bytes=alive.bytes - guest.bytes)
        if alive.bytes:
            shared.append(alive)
    peak.buffers = shared


def _named(entry: Computation, paths: set[tuple[int, ...]]) -> frozenset[str]:
    """Return the names of some results of a module."""
    root = entry.root
    if () in paths:
        return frozenset({root.name})
    if root.opcode != "tuple":
        return frozenset()
    return frozenset(root.operands[path[0]] for path in paths if path[0] < len(root.operands))


def flat(value: Value) -> Iterator[Buffer]:
    """Yield the arrays of a value."""
    for _, buffer in _paths(value):
        yield buffer


def _paths(value: Value, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Buffer]]:
    if isinstance(value, Buffer):
        yield path, value
        return
    for i, part in enumerate(value):
        yield from _paths(part, (*path, i))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in text.split(",") if n.strip())


def _donations(text: str) -> str:
    head = text.partition("\n")[0]
    return head.partition("input_output_alias={")[2].partition("entry_computation_layout")[0]


def _at(value: Value, path: tuple[int, ...]) -> Value:
    for i in path:
        value = value[i]  # pyright: ignore[reportIndexIssue]
    return value


class _Ranges:
    """Evaluates computations on arrays that have only sizes."""

    def __init__(self, module: HloModule, on_chip: bool):
        self.module, self.on_chip = module, on_chip
        self.inner: dict[int, Peak] = {}  # by the instruction that calls, its computation's peak

    def fresh(self, computation: Computation, instruction: Instruction, shape: Shape) -> Value:
        """Allocate arrays of a type."""
        if isinstance(shape, Leaf):
            elsewhere = shape.space != 0 if self.on_chip else shape.space == _HOST_SPACE
            size = 0 if elsewhere else shape.bytes
            return Buffer(shape, size, computation, instruction)
        return tuple(self.fresh(computation, instruction, part) for part in shape)

    def evaluate(
        self,
        computation: Computation,
        values: dict[str, Value],
        placed: frozenset[str] = frozenset(),
    ) -> tuple[dict[str, Value], list[Buffer]]:
        """Return the value of each instruction, and the arrays allocated by the computation.

        Args:
          computation: the computation.
          values: those of its parameters.
          placed: the instructions whose results have memory already.
        """
        allocated: list[Buffer] = []
        uses = _last_uses(computation)
        for position, instruction in enumerate(computation.instructions.values()):
            if instruction.opcode == "parameter":
                continue
            operands = [values[o] for o in instruction.operands if o in values]
            value = self._value(computation, instruction, operands)
            free = instruction.name not in placed
            if free and isinstance(value, Buffer) and self._in_place(instruction):
                value = self._reused(
                    value, instruction, operands, uses, position, allocated, values
                )
            values[instruction.name] = value
            allocated_ids = set(map(id, allocated))
            for buffer in flat(value):
                if buffer.instruction is instruction and id(buffer) not in allocated_ids:
                    allocated.append(buffer)
        return values, allocated

    def peak(self, order: list[Instruction], spans: list[Span]) -> Peak:
        """Return the peak of a computation and the computations that it calls.

        Args:
          order: the instructions of the computation.
          spans: the live ranges of the arrays that count.
        """
        starts: dict[int, list[Buffer]] = {}
        ends: dict[int, list[Buffer]] = {}
        for span in spans:
            starts.setdefault(span.first, []).append(span.buffer)
            ends.setdefault(span.last, []).append(span.buffer)
        # A sweep over the instructions: an array counts from its first position to its last,
        # inclusive, so that an operation's operands and results are in memory together. A called
        # computation adds its own peak while the instruction that calls it runs.
        alive: dict[int, Buffer] = {}
        total, best = 0, Peak()
        for position, instruction in enumerate(order):
            for buffer in starts.get(position, ()):
                alive[id(buffer)] = buffer
                total += buffer.bytes
            inner = self.inner.get(id(instruction))
            current = total + (inner.bytes if inner is not None else 0)
            # Of equal moments the first at which an operation runs.
            idle = best.instruction is not None and best.instruction.opcode == "parameter"
            if current > best.bytes or (current == best.bytes and idle):
                inside = inner.buffers if inner is not None else []
                running = inner.instruction if inner is not None else None
                live = [LiveArray(b, position, b.bytes) for b in alive.values() if b.bytes]
                best = Peak(current, live + inside, position, running or instruction)
            for buffer in ends.get(position, ()):
                del alive[id(buffer)]
                total -= buffer.bytes
        return best

    def _value(
        self, computation: Computation, instruction: Instruction, operands: list[Value]
    ) -> Value:
        opcode = instruction.opcode
        if opcode == "tuple":
            return tuple(operands)
        if opcode in _NAMES and operands:
            return operands[0]
        if opcode == "get-tuple-element" and isinstance(operands[0], tuple):
            return operands[0][instruction.index]
        if opcode.endswith(("-done", "-update")) and operands:
            return _finished(instruction, operands[0])
        if opcode == "while":
            self._loop(instruction, operands[0])
            return operands[0]
        shape = read_shape(instruction.shape)
        value = self.fresh(computation, instruction, shape)
        if opcode == "constant":  # part of the executable
            for buffer in flat(value):
                buffer.bytes = 0
            return value
        if opcode in ("call", "conditional", "async-start"):
            self._branches(instruction, operands)
        if opcode == "dynamic-update-slice":
            return operands[0]
        # The start of an asynchronous operation has a tuple type, in which its operands stand
        # beside its results: they are the same arrays, so only the results are allocated.
        if opcode == "copy-start" and isinstance(value, tuple):
            return (value[0], operands[0], *value[2:])
        if opcode.endswith("-start") and isinstance(value, tuple) and len(value) > 1:
            source = operands[0] if not isinstance(value[0], tuple) else tuple(operands)
            return (source, *value[1:])
        if opcode == "fusion":
            value = self._updated(instruction, value, operands)
        return _aliased(instruction, value, operands)

    def _updated(self, fusion: Instruction, value: Value, operands: list[Value]) -> Value:
        """Return the value of a fusion, with the arrays that it updates in place."""
        inner = self.module.computations.get(next((n for _, n in fusion.called()), ""))
        if inner is None:
            return value
        root = inner.root
        if isinstance(value, Buffer):
            return self._place(inner, root, value, operands)
        if root.opcode != "tuple" or len(root.operands) != len(value):
            return value
        return tuple(
            self._place(inner, inner.instructions[name], part, operands)
            for name, part in zip(root.operands, value, strict=True)
        )

    def _place(
        self, inner: Computation, result: Instruction, value: Value, operands: list[Value]
    ) -> Value:
        # A fusion that ends in a dynamic-update-slice of a parameter writes into the parameter's
        # memory, also through instructions that only rename a value (``_NAMES``).
        while result.opcode in _NAMES:
            result = inner.instructions[result.operands[0]]
        if result.opcode != "dynamic-update-slice":
            return value
        updated = inner.instructions[result.operands[0]]
        while updated.opcode in _NAMES:
            updated = inner.instructions[updated.operands[0]]
        if updated.opcode == "parameter" and updated.index < len(operands):
            return operands[updated.index]
        return value

    def _loop(self, loop: Instruction, state: Value) -> None:
        """Compute the peak of a loop's body, whose result lies where its operand does."""
        names = dict(loop.called())
        body = self.module.computations.get(names.get("body", ""))
        if body is None or id(loop) in self.inner:
            return
        parameter = body.parameter(0)
        values: dict[str, Value] = {} if parameter is None else {parameter.name: state}
        values, allocated = self.evaluate(body, values)
        result = values[body.root.name]
        if isinstance(state, tuple) and isinstance(result, tuple):
            root = body.root
            for i, part in enumerate(state if root.opcode == "tuple" else ()):
                if isinstance(part, Buffer) and result[i] is not part:
                    part.written_in = (body, body.instructions[root.operands[i]])
                elif isinstance(part, Buffer) and part.written_in is None:
                    written = body.instructions[root.operands[i]]
                    if written.opcode not in ("get-tuple-element", "parameter"):
                        part.written_in = (body, written)
        # The next iteration's state is written to the memory of this one's, which the caller
        # counts. Only arrays that do not outlive the iteration add to the peak.
        carried = set(map(id, flat(result)))
        order = list(body.instructions.values())
        local_buffers = [buffer for buffer in allocated if id(buffer) not in carried]
        self.inner[id(loop)] = self.peak(order, _spans(order, values, local_buffers))

    def _branches(self, instruction: Instruction, operands: list[Value]) -> None:
        """Record the largest peak of the computations that an instruction may call."""
        best = Peak()
        for i, (_, name) in enumerate(instruction.called()):
            inner = self.module.computations.get(name)
            if inner is None:
                continue
            # The first operand of a conditional selects the branch; each further one is a branch's
            # argument.
            arguments = operands if instruction.opcode != "conditional" else operands[i + 1 : i + 2]
            values: dict[str, Value] = {}
            for index, value in enumerate(arguments):
                parameter = inner.parameter(index)
                if parameter is not None:
                    values[parameter.name] = value
            values, allocated = self.evaluate(inner, values)
            carried = set(map(id, flat(values[inner.root.name])))
            order = list(inner.instructions.values())
            local_buffers = [b for b in allocated if id(b) not in carried]
            peak = self.peak(order, _spans(order, values, local_buffers))
            if peak.bytes > best.bytes:
                best = peak
        self.inner[id(instruction)] = best

    def _in_place(self, instruction: Instruction) -> bool:
        if instruction.opcode == "fusion":
            return "kind=kLoop" in instruction.attributes
        return instruction.opcode in _IN_PLACE

    def _reused(
        self,
        value: Buffer,
        instruction: Instruction,
        operands: list[Value],
        uses: dict[str, int],
        position: int,
        allocated: list[Buffer],
        values: dict[str, Value],
    ) -> Buffer:
        """Return the dead operand whose memory the result reuses, or the result."""
        allocated_ids = set(map(id, allocated))
        # XLA writes an elementwise result over an operand of the same size and layout that nothing
        # reads later. Arguments are excluded, since this computation did not allocate them; so is
        # an operand that another name (a tuple, a bitcast) still reads.
        for operand in operands:
            if (
                isinstance(operand, Buffer)
                and id(operand) in allocated_ids
                and operand.bytes == value.bytes
                and operand.leaf.sizes == value.leaf.sizes
                and operand.leaf.order == value.leaf.order
                and all(
                    uses.get(name, -1) <= position
                    for name, other in values.items()
                    if any(buffer is operand for buffer in flat(other))
                )
            ):
                operand.earlier.append((position, operand.instruction, operand.leaf))
                operand.instruction, operand.leaf = instruction, value.leaf
                return operand
        return value


def _spans(order: list[Instruction], values: dict[str, Value], buffers: list[Buffer]) -> list[Span]:
    """Return the live ranges of some arrays of a computation; record their readers as well.

    Args:
      order: the instructions of the computation.
      values: the value of each of them.
      buffers: the arrays.
    """
    counted = {id(buffer): buffer for buffer in buffers}
    spans: dict[int, Span] = {}
    for position, instruction in enumerate(order):
        # Taking an element of a tuple uses that element alone.
        taking = instruction.opcode == "get-tuple-element"
        reads = not taking and instruction.opcode not in _NAMES and instruction.opcode != "tuple"
        for name in (instruction.name, *(() if taking else instruction.operands)):
            for buffer in flat(values[name]) if name in values else ():
                if id(buffer) not in counted:
                    continue
                span = spans.setdefault(id(buffer), Span(buffer, position, position))
                span.last = position
                if reads and name != instruction.name:
                    buffer.readers.append((position, instruction))
    return list(spans.values())


def _last_uses(computation: Computation) -> dict[str, int]:
    """Return the last position that reads each name; the result is read at the end."""
    last_uses: dict[str, int] = {}
    for position, instruction in enumerate(computation.instructions.values()):
        for operand in instruction.operands:
            last_uses[operand] = position
        if instruction.is_root:
            last_uses[instruction.name] = len(computation.instructions)
    return last_uses


def _finished(instruction: Instruction, started: Value) -> Value:
    """Return the result of an asynchronous operation, which is among the values of its start."""
    if not isinstance(started, tuple):
        return started
    kind = instruction.opcode.rpartition("-")[0]
    if instruction.opcode.endswith("-update"):
        return started
    if kind == "all-reduce":  # its start has the type of its result
        return started
    return started[0 if kind == "copy" else 1] if len(started) > 1 else started


def _aliased(instruction: Instruction, value: Value, operands: list[Value]) -> Value:
    """Return the value of an instruction whose attributes place results in operands' memory."""
    aliases = _ALIASES.search(instruction.attributes)
    if aliases is None:
        return value
    for out, operand, inside in _ALIAS.findall(aliases[1]):
        path, index = _numbers(out), int(operand)
        if index >= len(operands):
            continue
        source = _at(operands[index], _numbers(inside))
        if not path:
            return source
        if isinstance(value, tuple) and len(path) == 1:
            value = (*value[: path[0]], source, *value[path[0] + 1 :])
    return value
