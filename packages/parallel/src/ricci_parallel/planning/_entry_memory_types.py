"""Records of the memory of an entry computation: buffers, the arrays in them, the peak."""

from dataclasses import dataclass, field
from typing import NamedTuple

from ricci_parallel.reports._hlo_text import Computation, Instruction

from ._buffers import Leaf


@dataclass(eq=False, slots=True)
class Buffer:
    """An array that a module computes, from its computation to its last use.

    Attributes:
      leaf: its type.
      bytes: its size in the main memory; 0 if it is elsewhere, or part of another's.
      computation, instruction: the instruction that computes it, and where that is.
      written_in: the loop's body and the instruction there that computes its elements, for one
        that a loop carries.
      readers: the instructions that compute with it, with their positions in the computation that
        it belongs to.
      earlier: its former contents, if the instruction computes in the memory of an operand: each
        with the position at which it was overwritten, in order.
    """

    leaf: Leaf
    bytes: int
    computation: Computation
    instruction: Instruction
    written_in: tuple[Computation, Instruction] | None = None
    readers: list[tuple[int, Instruction]] = field(default_factory=list)
    earlier: list[tuple[int, Instruction, Leaf]] = field(default_factory=list)

    def at(self, position: int) -> tuple[Instruction, Leaf, int | None]:
        """Return the contents after the instruction at a position has run.

        Returns the instruction that computed it, its type, and the position at which it is
        overwritten.
        """
        for end, instruction, leaf in self.earlier:
            if position < end:
                return instruction, leaf, end
        return self.instruction, self.leaf, None


class LiveArray(NamedTuple):
    """An array that is in memory at some moment.

    Attributes:
      buffer: the array.
      position: the position of the instruction that runs then, in the computation that the array
        belongs to.
      bytes: its size; less where another array lies in a part of its memory.
    """

    buffer: Buffer
    position: int
    bytes: int


@dataclass(slots=True)
class Peak:
    """The arrays that are live when a computation holds most.

    Attributes:
      bytes: the sum of their sizes.
      buffers: the arrays.
      position: the position of the instruction that runs then.
      instruction: the one that runs then, in a loop's body if there is one; ``None`` if the module
        computes nothing.
    """

    bytes: int = 0
    buffers: list[LiveArray] = field(default_factory=list)
    position: int = 0
    instruction: Instruction | None = None


@dataclass(slots=True)
class Span:
    """An array, and the positions of the first and last instruction that it is live for.

    ``host`` is the result in whose memory it lies before that is computed, if there is one.
    """

    buffer: Buffer
    first: int
    last: int
    host: Buffer | None = None
