"""Parser for the text of an optimized HLO module, and the trip counts of its loops.

Only the parts that collectives need are read: shapes, operands, called computations, and metadata.

Compilers for CPUs and GPUs write a loop's trip count down. Those for TPUs do not, and add their own
loops, in which they compute while a collective moves the next part. The counter of such a loop is
an element of its state: it starts at a constant, a constant is added in each iteration, and the
condition compares it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

__all__ = ["HloModule"]

_COMPUTATION = re.compile(r"^(ENTRY )?%?([^\s(]+) \(.*\{\s*$")
_INSTRUCTION = re.compile(r"^\s+(ROOT )?%?(\S+) = ")
_OPERAND = re.compile(r"%([^\s,()]+)")
_CALLED = re.compile(
    r"\b(calls|to_apply|body|condition|branch_computations|true_computation|false_computation)="
    r"(\{[^}]*\}|%?[^\s,]+)"
)
_ARRAY = re.compile(r"\b([a-z]\w*)\[([\d,<=]*)\]")
_NAME = re.compile(r'op_name="((?:[^"\\]|\\.)*)"')
_FRAME = re.compile(r"stack_frame_id=(\d+)")
_FILE = re.compile(r'source_file="((?:[^"\\]|\\.)*)"')
_LINE = re.compile(r"source_line=(\d+)")
_COLUMN = re.compile(r"source_column=(\d+)")
_ROW = re.compile(r"^(\d+) (.*)$")
_FIELD = re.compile(r"(\w+)=(\d+)")
# The tables ahead of the computations, to which the instructions' locations refer.
_TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the user's code: the file, the line and the column (0 if unknown)."""

    file: str
    line: int
    column: int = 0


@dataclass(slots=True)
class Instruction:
    """An operation of a computation.

    Attributes:
      name: unique in the module.
      shape: the text of its type.
      opcode: such as ``all-reduce``.
      operands: the names of its operands.
      attributes: the text behind the operands.
      is_root: whether it is the result of its computation.
      index: the number of a parameter, or of the element of a tuple that is taken.
      literal: the text of a constant.
    """

    name: str
    shape: str
    opcode: str
    operands: tuple[str, ...]
    attributes: str
    is_root: bool
    index: int = -1
    literal: str = ""

    @property
    def op_name(self) -> str:
        """The path of scopes and the primitive, or an argument's name; ``""`` if there is none."""
        match = _NAME.search(self.attributes)
        return _unquoted(match[1]) if match else ""

    def called(self) -> Iterator[tuple[str, str]]:
        """Yield the computations that it calls: the role of each, and its name."""
        for role, names in _CALLED.findall(self.attributes):
            for name in names.strip("{}").split(","):
                yield role, name.strip().lstrip("%")

    def attribute(self, pattern: re.Pattern[str]) -> str | None:
        """Return the first group of a pattern in the attributes."""
        match = pattern.search(self.attributes)
        return match[1] if match else None


@dataclass(slots=True)
class Computation:
    """A function of the module: its instructions by name, in order."""

    name: str
    is_entry: bool
    instructions: dict[str, Instruction] = field(default_factory=dict)
    users_of: dict[str, list[Instruction]] = field(default_factory=dict)

    def add(self, instruction: Instruction) -> None:
        """Append an instruction."""
        self.instructions[instruction.name] = instruction
        for operand in dict.fromkeys(instruction.operands):
            self.users_of.setdefault(operand, []).append(instruction)

    def users(self, name: str) -> list[Instruction]:
        """Return the instructions that use the result of another one."""
        return self.users_of.get(name, [])

    @property
    def root(self) -> Instruction:
        """The instruction whose result is the computation's."""
        return next(x for x in reversed(self.instructions.values()) if x.is_root)

    def parameter(self, index: int) -> Instruction | None:
        """Return the parameter at a position."""
        parameters = (x for x in self.instructions.values() if x.opcode == "parameter")
        return next((x for x in parameters if x.index == index), None)


class HloModule:
    """An optimized HLO module.

    Args:
      text: the result of ``Compiled.as_text``.

    Example:
      >>> from ricci_parallel.reports import HloModule
      >>> module = HloModule('''HloModule m
      ...
      ... ENTRY %main (x: f32[2]) -> f32[4] {
      ...   %x = f32[2]{0} parameter(0), metadata={op_name="x"}
      ...   ROOT %y = f32[4]{0} all-gather(%x), replica_groups={{0,1}}, dimensions={0}
      ... }
      ... ''')
      >>> y = module.entry.root
      >>> y.opcode, y.operands, y.shape
      ('all-gather', ('x',), 'f32[4]{0}')
    """

    def __init__(self, text: str):
        self.text = text
        self.computations: dict[str, Computation] = {}
        self._tables: dict[str, dict[int, str]] = {name: {} for name in _TABLES}
        self._read()

    @property
    def entry(self) -> Computation:
        """The entry computation."""
        return next(c for c in self.computations.values() if c.is_entry)

    def _read(self) -> None:
        table: dict[int, str] | None = None
        current: Computation | None = None
        for line in self.text.splitlines():
            if current is not None:
                if line.startswith("}"):
                    current = None
                    continue
                instruction = _instruction(line)
                if instruction is not None:
                    current.add(instruction)
            elif opening := _COMPUTATION.match(line):
                table, current = None, Computation(opening[2], bool(opening[1]))
                self.computations[current.name] = current
            elif line in self._tables:
                table = self._tables[line]
            elif table is not None and (row := _ROW.match(line)):
                table[int(row[1])] = row[2]

    @cached_property
    def _lines(self) -> dict[int, Line]:
        """The line of each stack frame."""
        lines = {}
        for number, text in self._tables["StackFrames"].items():
            location = _fields(text).get("file_location_id", 0)
            place = _fields(self._tables["FileLocations"].get(location, ""))
            file = self._tables["FileNames"].get(place.get("file_name_id", 0))
            if file is not None:
                lines[number] = Line(_unquoted(file[1:-1]), place["line"], place.get("column", 0))
        return lines

    def line_of(self, instruction: Instruction) -> Line | None:
        """Return the line of the user's code that an instruction is from, if that is known."""
        frame = instruction.attribute(_FRAME)
        # Locations are either numbers of stack frames in the module's tables, or written in full.
        if frame is not None:
            return self._lines.get(int(frame))
        file, line = instruction.attribute(_FILE), instruction.attribute(_LINE)
        if file is None or line is None:
            return None
        return Line(_unquoted(file), int(line), int(instruction.attribute(_COLUMN) or 0))


def _fields(text: str) -> dict[str, int]:
    return {name: int(value) for name, value in _FIELD.findall(text)}


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _instruction(line: str) -> Instruction | None:
    opening = _INSTRUCTION.match(line)
    if opening is None:
        return None
    start = opening.end()
    end = _closing(line, start) if line[start] == "(" else line.index(" ", start)
    shape = line[start:end]
    parenthesis = line.index("(", end)
    opcode = line[end:parenthesis].strip()
    close = _closing(line, parenthesis)
    inside, attributes = line[parenthesis + 1 : close - 1], line[close:]
    index = -1
    if opcode == "parameter":
        index = int(inside)
    elif opcode == "get-tuple-element":
        index = int(attributes.partition("index=")[2].partition(",")[0])
    operands = () if opcode in ("parameter", "constant") else tuple(_OPERAND.findall(inside))
    literal = inside if opcode == "constant" else ""
    is_root = bool(opening[1])
    return Instruction(opening[2], shape, opcode, operands, attributes, is_root, index, literal)


def _closing(text: str, start: int) -> int:
    """Return the position behind the parenthesis that closes the one at ``start``."""
    depth = 0
    for i in range(start, len(text)):
        if text[i] == "(":
            depth += 1
        elif text[i] == ")":
            depth -= 1
            if not depth:
                return i + 1
    return len(text)


def arrays_in(shape: str) -> list[tuple[str, tuple[int, ...]]]:
    """Return the arrays of a type: the name of each one's dtype, and its dimensions.

    Example:
      >>> from ricci_parallel.reports._hlo_text import arrays_in
      >>> arrays_in("(f32[2,3]{1,0:T(8,128)}, bf16[], u32[]{:S(2)})")
      [('f32', (2, 3)), ('bf16', ()), ('u32', ())]
    """
    return [
        (dtype, tuple(int(n.lstrip("<=")) for n in sizes.split(",") if n))
        for dtype, sizes in _ARRAY.findall(shape)
    ]


def element_bits(dtype: str) -> int:
    """Return the bits of an element, by XLA's name of its dtype.

    Example:
      >>> from ricci_parallel.reports._hlo_text import element_bits
      >>> [element_bits(name) for name in ("f32", "bf16", "s4", "f8e4m3fn", "pred", "token")]
      [32, 16, 4, 8, 8, 0]
    """
    if dtype == "pred":
        return 8
    digits = re.search(r"\d+", dtype)
    return int(digits[0]) if digits else 0


def shape_bytes(shape: str) -> int:
    """Return the size of a type's arrays in bytes.

    Example:
      >>> from ricci_parallel.reports._hlo_text import shape_bytes
      >>> shape_bytes("(f32[2,3]{1,0}, s4[8])")
      28
    """
    return sum((prod(sizes) * element_bits(dtype) + 7) // 8 for dtype, sizes in arrays_in(shape))


_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
_DIRECTION = re.compile(r"direction=(\w+)")
_SAME = frozenset({"copy", "bitcast", "copy-start", "copy-done", "convert", "reshape"})


def trip_count(module: HloModule, caller: Computation, loop: Instruction) -> int | None:
    """Return the number of iterations of a loop; ``None`` if the text does not have it.

    Args:
      module: the module.
      caller: the computation that the loop is in.
      loop: its instruction.
    """
    annotated = loop.attribute(_TRIPS)
    if annotated is not None:
        return int(annotated)
    called = {role: module.computations.get(name) for role, name in loop.called()}
    condition, body = called.get("condition"), called.get("body")
    if condition is None or body is None:
        return None
    test = _inlined(module, condition, condition.root)
    if test is None or test[1].attribute(_DIRECTION) != "LT":
        return None
    owner, compared = test
    # A loop `while counter < limit` counts up from its operand's element `start` by the constant
    # `step` that its body adds, so all three must be constants behind copies.
    counter, limit = (_behind(owner, name) for name in compared.operands[:2])
    last = _integer(limit)
    if last is None or counter is None or counter.opcode != "get-tuple-element":
        return None
    start = _integer(_element(caller, caller.instructions.get(loop.operands[0]), counter.index))
    step = _step(body, counter.index)
    if start is None or not step:
        return None
    # Floor division of the negated distance rounds the number of iterations up.
    return max(0, -((start - last) // step))


def _inlined(
    module: HloModule, computation: Computation, result: Instruction
) -> tuple[Computation, Instruction] | None:
    """Return the comparison that a condition computes, perhaps inside of a fusion."""
    if result.opcode == "compare":
        return computation, result
    inner = next((module.computations.get(name) for _, name in result.called()), None)
    if result.opcode != "fusion" or inner is None or inner.root.opcode != "compare":
        return None
    # The operands of the comparison are the fusion's parameters. Named by the operands of the
    # fusion, the comparison reads as if it were not fused.
    root = inner.root
    outer: list[str] = []
    for name in root.operands:
        source = _behind(inner, name)
        if source is None or source.opcode != "parameter":
            return None
        outer.append(result.operands[source.index])
    shown = Instruction(root.name, root.shape, "compare", tuple(outer), root.attributes, True)
    return computation, shown


def _behind(computation: Computation, name: str) -> Instruction | None:
    """Return the instruction that computes a value, behind copies of it."""
    source = computation.instructions.get(name)
    while source is not None and source.opcode in _SAME and source.operands:
        source = computation.instructions.get(source.operands[0])
    return source


def _element(computation: Computation, state: Instruction | None, index: int) -> Instruction | None:
    if state is None or state.opcode != "tuple" or index >= len(state.operands):
        return None
    return _behind(computation, state.operands[index])


def _integer(constant: Instruction | None) -> int | None:
    if constant is None or constant.opcode != "constant":
        return None
    try:
        return int(constant.literal)
    except ValueError:
        return None


def _step(body: Computation, index: int) -> int | None:
    """Return the constant that an iteration adds to an element of the state, or ``None``."""
    added = _element(body, body.root, index)
    if added is None or added.opcode != "add":
        return None
    parts = [_behind(body, name) for name in added.operands]
    counters = [
        part
        for part in parts
        if part is not None and part.opcode == "get-tuple-element" and part.index == index
    ]
    steps = [step for step in map(_integer, parts) if step is not None]
    return steps[0] if len(counters) == len(steps) == 1 else None
