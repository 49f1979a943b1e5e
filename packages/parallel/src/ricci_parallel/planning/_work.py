"""Operations and memory traffic of an executable, with all iterations of its loops.

XLA's own analysis counts the body of a loop once, and does not distinguish the memories of a chip.
So this counts from the HLO text: the matrix products and convolutions that further
iterations add, and the bytes that instructions read from the main memory and write there.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from ricci_parallel.reports._attribution import base_kind
from ricci_parallel.reports._collective import SENT
from ricci_parallel.reports._hlo_text import Computation, HloModule, Instruction

from ._buffers import Leaf, leaves, read_shape

_WINDOW = re.compile(r"window=\{([^}]*)\}")
_LABELS = re.compile(r"dim_labels=(\w+)_(\w+)->(\w+)")
_CONTRACTED = re.compile(r"lhs_contracting_dims=\{([\d,]*)\}")
_GROUPS = re.compile(r"(?:feature|batch)_group_count=(\d+)")
_UPDATE = "dynamic-update-slice"
# Opcodes without cost: names of values, and starts and ends of operations that are counted once.
_FREE = frozenset(
    "parameter constant get-tuple-element tuple bitcast while conditional call opt-barrier "
    "optimization-barrier after-all partition-id replica-id domain iota".split()
)


@dataclass(slots=True)
class Work:
    """The work of an executable.

    Attributes:
      extra_flops: floating-point operations of matrix products and convolutions in all iterations
        of loops but each loop's first.
      bytes: the bytes that instructions read from the main memory and write there, all iterations.
      unknown_loops: the number of loops of unknown length, of which one iteration is counted.
    """

    extra_flops: float = 0
    bytes: float = 0
    unknown_loops: int = 0


def work_of(module: HloModule, trips: Callable[[Instruction], int | None], on_chip: bool) -> Work:
    """Count the operations and bytes of an HLO module.

    Args:
      module: the module.
      trips: returns the number of iterations of a ``while``, or ``None`` if it is unknown.
      on_chip: whether the devices have memories on the chip besides the main one.
    """
    walk = _Walk(module, trips, on_chip)
    walk.visit(module.entry, 1, fused=False)
    return walk.work


class _Walk:
    """Visits the instructions of a module, with the number of times that each runs."""

    def __init__(
        self, module: HloModule, trips: Callable[[Instruction], int | None], on_chip: bool
    ):
        self.module, self.trips, self.on_chip = module, trips, on_chip
        self.work = Work()

    def visit(self, computation: Computation, times: int, fused: bool) -> None:
        for instruction in computation.instructions.values():
            inner_times, inner_fused = times, fused or instruction.opcode == "fusion"
            if instruction.opcode == "while":
                trips = self.trips(instruction)
                self.work.unknown_loops += trips is None
                inner_times *= trips or 1
            for role, name in instruction.called():
                inner = self.module.computations.get(name)
                # The computation of a reduction, a sort or a scatter works on scalars, and accesses
                # no memory.
                if inner is not None and (role != "to_apply" or instruction.opcode == "call"):
                    self.visit(inner, inner_times, inner_fused)
            # XLA's analysis has counted the first iteration already.
            self.work.extra_flops += (times - 1) * flops_of(computation, instruction)
            # Values inside of a fusion are in registers; only its operands and results are in
            # memory.
            if not fused:
                self.work.bytes += times * self._bytes(computation, instruction)

    def _bytes(self, computation: Computation, instruction: Instruction) -> int:
        opcode = instruction.opcode
        if opcode in _FREE or opcode.endswith(("-done", "-update")):
            return 0
        read = [self._size(computation.instructions[o].shape) for o in instruction.operands]
        result = leaves(read_shape(instruction.shape))
        written = sum(map(self._main, result))
        # An asynchronous operation is counted at its start; its end has no cost.
        if opcode == "copy-start":
            return read[0] + self._main(result[0])
        if opcode == "slice-start":
            return min(read[0], result[1].bytes) + self._main(result[1])
        if opcode in ("dynamic-slice", "slice", "gather"):
            return min(read[0], result[0].bytes) + written
        if opcode == _UPDATE:
            # The update is read and written; the rest of the operand stays in place.
            return 2 * read[1]
        if opcode.endswith("-start"):
            return written
        if opcode != "fusion":
            return sum(read) + written
        inner = self._fused(instruction)
        if inner is None:
            return sum(read) + written
        return self._read(inner, read) + self._written(inner, result)

    def _read(self, inner: Computation, sizes: list[int]) -> int:
        """Return the bytes that a fusion reads of its operands."""
        total = 0
        for i, size in enumerate(sizes):
            parameter = inner.parameter(i)
            if parameter is None:
                total += size
            elif size:
                total += min(size, self._read_of(inner, parameter, size))
        return total

    def _read_of(self, inner: Computation, parameter: Instruction, size: int) -> int:
        """Return the bytes that a fusion reads of an operand: all, or the slices that it takes."""
        total = 0
        for name, user in _readers(inner, parameter.name):
            opcode = user.opcode
            if opcode in ("dynamic-slice", "slice"):
                total += _size(user)
            elif opcode == "tuple" or (opcode == _UPDATE and user.operands[0] == name):
                continue  # it is forwarded, or a part of it is written
            elif opcode == "fusion" and (nested := self._fused(user)) is not None:
                parts = [nested.parameter(i) for i, o in enumerate(user.operands) if o == name]
                total += sum(self._read_of(nested, part, size) for part in parts if part)
            elif base_kind(opcode) not in SENT:  # a collective reads while others compute
                total += size
        return total

    def _written(self, inner: Computation, result: list[Leaf]) -> int:
        """Return the bytes that a fusion writes: only updated parts, no forwarded operands."""
        root = inner.root
        names = root.operands if root.opcode == "tuple" else (root.name,)
        if len(names) != len(result):
            return sum(map(self._main, result))
        total = 0
        for name, leaf in zip(names, result, strict=True):
            source = inner.instructions[name]
            while source.opcode == "bitcast":
                source = inner.instructions[source.operands[0]]
            if source.opcode == _UPDATE:
                total += min(self._main(leaf), _size(inner.instructions[source.operands[1]]))
            elif source.opcode != "parameter" and base_kind(source.opcode) not in SENT:
                total += self._main(leaf)
        return total

    def _fused(self, fusion: Instruction) -> Computation | None:
        return next((self.module.computations.get(n) for _, n in fusion.called()), None)

    def _size(self, shape: str) -> int:
        return sum(map(self._main, leaves(read_shape(shape))))

    def _main(self, leaf: Leaf) -> int:
        """Return the size of an array in the main memory, else 0."""
        return 0 if self.on_chip and leaf.space else leaf.bytes


def _size(instruction: Instruction) -> int:
    return sum(leaf.bytes for leaf in leaves(read_shape(instruction.shape)))


def _readers(computation: Computation, name: str) -> list[tuple[str, Instruction]]:
    """Return the instructions that read an array, behind bitcasts, each with the name it reads."""
    readers: list[tuple[str, Instruction]] = []
    for user in computation.users(name):
        bitcast = user.opcode == "bitcast"
        readers.extend(_readers(computation, user.name) if bitcast else [(name, user)])
    return readers


def flops_of(computation: Computation, instruction: Instruction) -> float:
    """Count the floating-point operations of a matrix product or a convolution; else 0.

    A product and a sum are two operations. Of a convolution only the products are counted whose
    factors are in the arrays, as XLA does: TPUs compute batches of products as convolutions that
    are mostly padding.
    """
    if instruction.opcode not in ("dot", "convolution"):
        return 0
    result = _array(instruction.shape)
    left, right = (_array(computation.instructions[o].shape) for o in instruction.operands[:2])
    if instruction.opcode == "dot":
        contracted = _CONTRACTED.search(instruction.attributes)
        dims = [int(n) for n in contracted[1].split(",") if n] if contracted else []
        return 2 * prod(result.sizes) * prod(left.sizes[i] for i in dims)
    labels = _LABELS.search(instruction.attributes)
    if labels is None:
        return 0
    window = _windows(instruction)
    spatial = [c for c in labels[2] if c.isdigit()]
    pairs = 1
    for c in spatial:
        # Spatial dimensions are independent, so the numbers of pairs multiply.
        pairs *= _valid_pairs(
            left.sizes[labels[1].index(c)],
            right.sizes[labels[2].index(c)],
            result.sizes[labels[3].index(c)],
            {key: values[int(c)] for key, values in window.items() if int(c) < len(values)},
        )
    features = right.sizes[labels[2].index("i")]
    outer = result.sizes[labels[3].index("b")] * result.sizes[labels[3].index("f")]
    groups = _GROUPS.search(instruction.attributes)
    batch_grouped = groups is not None and "batch_group_count" in groups[0]
    batch_groups = int(groups[1]) if groups is not None and batch_grouped else 1
    batch = left.sizes[labels[1].index("b")] // batch_groups if batch_grouped else None
    if batch is not None:
        outer = batch * result.sizes[labels[3].index("f")]
    return 2.0 * outer * features * pairs


def _array(shape: str) -> Leaf:
    return leaves(read_shape(shape))[0]


def _windows(instruction: Instruction) -> dict[str, list[str]]:
    match = _WINDOW.search(instruction.attributes)
    text = match[1] if match else ""
    return {key: value.split("x") for key, _, value in (p.partition("=") for p in text.split())}


def _valid_pairs(size: int, kernel: int, out: int, window: dict[str, str]) -> int:
    """Count the pairs of elements of a dimension and the kernel that meet, without padding."""
    stride = int(window.get("stride", 1))
    low = int(window.get("pad", "0_0").split("_")[0])
    spread = int(window.get("lhs_dilate", 1))
    gap = int(window.get("rhs_dilate", 1))
    last = (size - 1) * spread
    count = 0
    for k in range(kernel):
        # The positions o with 0 <= o * stride + k * gap - low <= last that have an element.
        offset = k * gap - low
        # Without dilation of the input, the valid positions are an interval: floor and ceiling of
        # its ends give their number, without a loop over positions.
        if spread == 1:
            first = max(0, -(offset // stride))
            final = min(out - 1, (last - offset) // stride)
            count += max(0, final - first + 1)
        else:
            count += sum(
                0 <= (at := o * stride + offset) <= last and at % spread == 0 for o in range(out)
            )
    return count
