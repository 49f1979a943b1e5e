"""Attribution of an executable's collectives to lines of the user's code.

The compiler gives an instruction that it adds the metadata of the moved value, so that the
line that computed the value is known at once. The line that needs it in another sharding is that of
the first operation that does more than forward it.
"""

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from ._collective import MOVES, SENT, Collective
from ._device_groups import MeshAxes, read_groups, read_pairs
from ._hlo_text import Computation, HloModule, Instruction, Line, arrays_in, shape_bytes, trip_count
from ._program_lines import REQUESTS, ProgramLines, Request, Value

_CHANNEL = re.compile(r"channel_id=(\d+)")
# Opcodes that forward data without computing with it.
_PASSING = frozenset(
    "bitcast broadcast concatenate convert copy copy-done copy-start custom-call dynamic-slice "
    "dynamic-update-slice get-tuple-element opt-barrier optimization-barrier pad reshape select "
    "slice transpose tuple".split()
)
_ASYNC = ("-start", "-done", "-update")


@dataclass(slots=True)
class _Occurrence:
    """A collective instruction, where it is, and how often it runs in a step.

    Attributes:
      computation, instruction: the instruction whose operands are the devices' contributions.
      kind: the kind of collective.
      attributes: the text that names the devices.
      times: the number of runs in a step, if that is known.
      site, result: the instruction whose result is the collective's, as its users see it.
    """

    computation: Computation
    instruction: Instruction
    kind: str
    attributes: str
    times: int | None
    site: Computation
    result: Instruction


# Where a fused computation is called from: the computation and its instruction.
type _Caller = tuple[Computation, Instruction] | None


def base_kind(opcode: str) -> str:
    """Strip from a collective's opcode the suffix of an asynchronous start.

    Example:
      >>> from ricci_parallel.reports._attribution import base_kind
      >>> base_kind("all-gather-start"), base_kind("add")
      ('all-gather', 'add')
    """
    return opcode.removesuffix("-start")


class Attribution:
    """Finds the collectives of a module, and the lines that own them.

    Args:
      module: the module of the executable.
      lines: the lines of the traced jaxpr.
      axes: the axes of the user's meshes.
      count: the number of devices.
    """

    def __init__(self, module: HloModule, lines: ProgramLines, axes: MeshAxes, count: int):
        self.module = module
        self.lines = lines
        self.axes = axes
        self.count = count
        self._homes = {
            loop.name: computation
            for computation in module.computations.values()
            for loop in computation.instructions.values()
            if loop.opcode == "while"
        }

    def rows(self) -> list[Collective]:
        """Return a row for each collective, and for each line that a merged one is due to."""
        occurrences: list[_Occurrence] = []
        self._collect(self.module.entry, 1, None, occurrences, {})
        return [row for each in occurrences for row in self._rows_of(each) if row.group_size > 1]

    def _collect(
        self,
        computation: Computation,
        times: int | None,
        caller: _Caller,
        occurrences: list[_Occurrence],
        fused: dict[tuple[str, str | None], _Occurrence],
    ) -> None:
        """Append the collectives of a computation, and of those that it calls.

        Args:
          computation: the computation.
          times: the number of runs in a step, if that is known.
          caller: the fusion whose body it is, or ``None``.
          occurrences: the collectives so far.
          fused: the collectives in fusions, by kind and channel.
        """
        for instruction in computation.instructions.values():
            kind = base_kind(instruction.opcode)
            if kind in SENT:
                each = _Occurrence(
                    computation,
                    instruction,
                    kind,
                    instruction.attributes,
                    times,
                    *(caller or (computation, instruction)),
                )
                if caller is None:
                    occurrences.append(each)
                else:
                    self._add_fused(each, caller, occurrences, fused)
                continue
            trips = self.trips(instruction) if instruction.opcode == "while" else 1
            # Nested loops multiply; one loop of unknown length makes the number unknown.
            inner_times = None if times is None or trips is None else times * trips
            inside = (computation, instruction) if instruction.opcode == "fusion" else None
            for role, name in instruction.called():
                inner = self.module.computations.get(name)
                if inner is not None and (role != "to_apply" or instruction.opcode == "call"):
                    self._collect(inner, inner_times, inside or caller, occurrences, fused)

    def _add_fused(
        self,
        each: _Occurrence,
        caller: tuple[Computation, Instruction],
        occurrences: list[_Occurrence],
        fused: dict[tuple[str, str | None], _Occurrence],
    ) -> None:
        """Append a collective in a fusion, as TPU compilers make them.

        One that runs while others compute is repeated in each fusion that it overlaps with: it is
        the same if its channel is, and the last fusion has its result. An all-reduce of which each
        device takes a part is fused with that.
        """
        if each.kind == "all-reduce" and each.computation.name.startswith("all-reduce-scatter"):
            each.kind = "reduce-scatter"
            each.computation, each.instruction = caller
        key = (each.kind, each.instruction.attribute(_CHANNEL))
        earlier = fused.get(key) if key[1] is not None else None
        if earlier is not None:
            earlier.site, earlier.result = each.site, each.result
            return
        fused[key] = each
        occurrences.append(each)

    def trips(self, loop: Instruction) -> int | None:
        """Return the number of iterations of a loop, if it is known."""
        trips = trip_count(self.module, self._homes[loop.name], loop)
        if trips is not None:
            return trips
        value = self.lines.computed(self.module.line_of(loop), _primitive(loop.op_name))
        return None if value is None else value.length

    def _rows_of(self, occurrence: _Occurrence) -> Iterator[Collective]:
        instruction, kind = occurrence.instruction, occurrence.kind
        operands = instruction.operands
        if kind == "ragged-all-to-all":
            operands = operands[:1]
        if len(operands) == 1 or kind == "all-to-all":
            yield self._row(occurrence, operands, instruction)
            return
        # Merged collectives have the metadata of one. Each one's own survives where its result is
        # taken out; else its operand's is used.
        elements = {
            x.index: x for x in occurrence.site.users(occurrence.result.name) if x.index >= 0
        }
        groups: dict[tuple[Line | None, str], list[str]] = {}
        origins: dict[tuple[Line | None, str], Instruction] = {}
        for i, operand in enumerate(operands):
            origin = elements.get(i)
            if origin is None or self.module.line_of(origin) is None:
                origin = self.origin(occurrence.computation, operand) or instruction
            key = (self.module.line_of(origin), origin.op_name)
            groups.setdefault(key, []).append(operand)
            origins[key] = origin
        for key, members in groups.items():
            yield self._row(occurrence, members, origins[key])

    def _row(
        self, occurrence: _Occurrence, operands: Sequence[str], origin: Instruction
    ) -> Collective:
        instruction, kind, computation = (
            occurrence.instruction,
            occurrence.kind,
            occurrence.computation,
        )
        if not (origin.op_name or self.module.line_of(origin)):
            origin = self.origin(computation, operands[0]) or origin
        name, line = origin.op_name, self.module.line_of(origin)
        primitive = _primitive(name)
        argument = self.lines.arguments.get(name) if line is None else None
        value = argument or self.lines.computed(line, primitive)
        # A collective is written where the program calls its primitive. One that only moves data,
        # and is not written, is there because a value's producer and its user are sharded in two
        # ways: the user's line is then the one to change.
        written = primitive in self.lines.collectives and argument is None
        moved = kind in MOVES and not written
        user = self.user(occurrence.site, occurrence.result) if moved else None
        needed = (
            (None, "") if user is None else (self.module.line_of(user), _primitive(user.op_name))
        )
        place, operation = needed if needed[0] is not None else (line, primitive)
        shapes = [
            computation.instructions[o].shape for o in operands if o in computation.instructions
        ]
        contributed = sum(map(shape_bytes, shapes))
        # A permutation between different devices sends each array once, so it counts as a group of
        # 2.
        pairs = read_pairs(occurrence.attributes) if kind == "collective-permute" else []
        if kind == "collective-permute":
            size = 2 if any(a != b for a, b in pairs) else 1
            axes = self.axes.of_pairs(pairs)
        else:
            groups = read_groups(occurrence.attributes, self.count)
            size = max(map(len, groups))
            axes = self.axes.of_groups(groups)
        replicates = kind == "all-gather" and _is_whole(shapes, size, value)
        if written:
            reason = "written"
        elif not moved:
            reason = "computed"
        elif primitive in REQUESTS or (
            value is not None and any(map(_asks(kind, axes), value.requests))
        ):
            reason = "requested"
        else:
            reason = "involuntary"
        return Collective(
            kind=kind,
            axes=axes,
            group_size=size,
            bytes=round(contributed * SENT[kind](size)) * (occurrence.times or 1),
            times=occurrence.times,
            shape=_shown(shapes),
            reason=reason,
            replicates=replicates,
            value=name if argument is not None or not primitive else f"the result of {primitive}",
            operation=operation,
            file=place.file if place else "",
            line=place.line if place else 0,
            column=place.column if place else 0,
            function=self.lines.function(place) if place else "",
            instruction=instruction.name,
        )

    def origin(self, computation: Computation, name: str) -> Instruction | None:
        """Return the instruction that computed a value, behind those that forwarded it."""
        seen: set[str] = set()
        while name not in seen:
            seen.add(name)
            instruction = computation.instructions.get(name)
            if instruction is None:
                return None
            if self.module.line_of(instruction) is not None or instruction.opcode == "parameter":
                return instruction if instruction.op_name else None
            if instruction.opcode == "fusion":
                inner = self._fused(instruction)
                if inner is not None and self.module.line_of(inner.root) is not None:
                    return inner.root
            if not instruction.operands:
                return None
            name = instruction.operands[0]
        return None

    def user(self, computation: Computation, moved: Instruction) -> Instruction | None:
        """Return the first instruction that computes with a moved value; ``None`` at the end."""
        # Breadth first, so that the consumer is one with the fewest forwarding operations in
        # between.
        names = [moved.name]
        seen: set[str] = set()
        while names:
            name = names.pop(0)
            for user in computation.users(name):
                if user.name in seen:
                    continue
                seen.add(user.name)
                consumer = self._computing(name, user)
                if consumer is not None:
                    return consumer
                names.append(user.name)
        return None

    def _computing(self, name: str, user: Instruction) -> Instruction | None:
        """Return the instruction in ``user`` that computes with a value, if there is one."""
        opcode = user.opcode
        if opcode == "fusion":
            inner = self._fused(user)
            if inner is None:
                return user
            for i, operand in enumerate(user.operands):
                parameter = inner.parameter(i) if operand == name else None
                consumer = self.user(inner, parameter) if parameter is not None else None
                if consumer is not None:
                    return consumer if self.module.line_of(consumer) is not None else user
            return None
        if opcode in _PASSING or opcode.endswith(_ASYNC) or base_kind(opcode) in MOVES:
            return None
        return user if self.module.line_of(user) is not None else None

    def _fused(self, fusion: Instruction) -> Computation | None:
        for role, name in fusion.called():
            if role == "calls":
                return self.module.computations.get(name)
        return None


def _primitive(op_name: str) -> str:
    """Return the primitive at the end of a path of scopes; ``""`` for an argument's name."""
    path, slash, last = op_name.rpartition("/")
    return last if slash and "(" in path else ""


def _asks(kind: str, axes: tuple[Hashable, ...] | None) -> Callable[[Request], bool]:
    """Return whether a request asks for a collective: a gather unshards along its axes."""

    def asks(request: Request) -> bool:
        return kind != "all-gather" or request is None or not request.intersection(axes or ())

    return asks


def _is_whole(shapes: Sequence[str], group_size: int, value: Value | None) -> bool:
    """Whether gathering the parts gives an array of the size of a whole one."""
    if value is None:
        return False
    parts = [prod(sizes) for shape in shapes for _, sizes in arrays_in(shape)]
    return any(part * group_size in value.sizes for part in parts)


def _shown(shapes: Sequence[str]) -> str:
    arrays = [f"{d}[{','.join(map(str, s))}]" for shape in shapes for d, s in arrays_in(shape)]
    return ", ".join(dict.fromkeys(arrays))
