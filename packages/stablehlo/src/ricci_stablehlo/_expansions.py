"""The operations that XLA's CPU backend fuses to compute a value, read from a block.

Values may be large and computed from small ones, such as the distances of all pairs of points.
Where XLA fuses their operations with the one that reduces them, they are never stored.
"""

import re
from math import prod

from ._operations import Operation
from ._single_loops import CHEAP, EXPENSIVE
from ._values import Value
from ._writer import Writer

__all__ = ["Expansion", "stored"]

_FUSED = CHEAP | EXPENSIVE | {"slice", "transpose"}
_SOURCES = frozenset(("constant", "iota"))
# Of which the operand may have another number of elements.
_RESIZES = frozenset(("broadcast_in_dim", "reduce", "slice"))
# A reduction with a region of its own, which the library YNNPACK does not take.
_LOOP = '"stablehlo.reduce"'
_MOST = 500  # operations that are looked at

_NAME = re.compile(r"%\w+(?:#\d+)?")
_TENSOR = re.compile(r"tensor<([^<>]*)>")


class Expansion:
    """The operations by which one loop computes a value.

    Attributes:
      is_large: whether the value has at least twice the elements of each array that the loop reads.
      reduces: whether there is a reduction by elements, as of the components of a difference.
      slices: whether there are several slices of one value, as of the terms of a short sum.
      operations: the number of operations.

    Args:
      writer: the block, as far as it is written.
      x: the value.
    """

    __slots__ = ("is_large", "operations", "reduces", "slices")

    def __init__(self, writer: Writer, x: Value):
        self.is_large: bool = True
        self.reduces: bool = False
        self.slices: bool = False
        self.operations: int = 0
        limit = x.aval.size // 2
        sizes = {x.name: x.aval.size}  # of the operands whose operations are still to come
        sliced: set[str] = set()
        for record in reversed(writer.operations[-_MOST:]):
            if not sizes:
                return
            size = sizes.pop(record[0], None)
            if size is None:
                continue
            name = record[1].rpartition(".")[2]
            if name in _SOURCES:
                continue
            is_loop = record[1] == _LOOP
            if not is_loop and name not in _FUSED:
                self.is_large &= size <= limit
                continue
            self.operations += 1
            self.reduces |= is_loop
            operands = _NAME.findall(record[2])
            operands = operands[:1] if is_loop else operands  # without the initial value
            if is_loop or name in _RESIZES:
                size = _operand_size(record)
            sizes.update(dict.fromkeys(operands, size))
            if name == "slice":
                self.slices |= operands[0] in sliced
                sliced.add(operands[0])
        self.is_large &= all(size <= limit for size in sizes.values())


def stored(writer: Writer, x: Value) -> Value:
    """Return a value behind a barrier, so that XLA stores it.

    Args:
      writer: the block, as far as it is written.
      x: the value.
    """
    return writer.emit("stablehlo.optimization_barrier", [x], x.aval)


def _operand_size(record: Operation) -> int:
    """The elements of the first operand, by the operation's signature."""
    match = _TENSOR.search(record[3])
    return 1 if match is None else prod(int(d) for d in match[1].split("x")[:-1])
