"""Results that XLA's CPU backend computes in one loop over the arguments, read from operations.

XLA fuses elementwise operations and those that move elements into one loop, with exceptions: an
expensive operation with several uses has a loop and memory of its own, and so has a barrier's
operand.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from ._module import Module
from ._operations import Function, Operation, Region
from ._types import tensor_type

__all__: list[str] = []

# Those of which XLA does not compute an element twice.
EXPENSIVE = frozenset(
    {
        *("atan2", "cbrt", "complex", "cosine", "divide", "erf", "erf_inv", "exponential"),
        *("exponential_minus_one", "log", "log_plus_one", "logistic", "power", "remainder"),
        *("rsqrt", "sine", "sqrt", "tan", "tanh"),
    }
)
CHEAP = frozenset(
    {
        *("abs", "add", "and", "bitcast_convert", "broadcast_in_dim", "ceil", "clamp", "compare"),
        *("constant", "convert", "count_leading_zeros", "floor", "imag", "iota", "is_finite"),
        *("maximum", "minimum", "multiply", "negate", "not", "or", "popcnt", "real"),
        *("reduce_precision", "reshape", "round_nearest_afz", "round_nearest_even", "select"),
        *("shift_left", "shift_right_arithmetic", "shift_right_logical", "sign", "square"),
        *("subtract", "xor"),
    }
)
_MOVES = frozenset({"concatenate", "pad", "reverse", "slice", "transpose"})
_ARGUMENT, _BARRIER = "argument", "optimization_barrier"
_SMALL = 16384  # elements, whose memory does not matter
_MOST = 4000  # operations that are looked at

_NAME = re.compile(r"%\w+(?:#\d+)?")
_TENSOR = re.compile(r"tensor<([^<>]*)>")


class Node:
    """An operation, or an argument.

    Attributes:
      name: its name without the dialect.
      operands: those that are results of operations, or arguments.
      size, element: the number of elements of the largest result, and their type.
      operations, position: the function's operations, and the position among them.
      uses: how many operations and results use its results.
    """

    __slots__ = ("element", "name", "operands", "operations", "position", "size", "uses")

    def __init__(
        self,
        name: str,
        operands: Sequence["Node"],
        types: str,
        operations: list[Operation],
        position: int,
    ):
        self.name: str = name
        self.operands: Sequence[Node] = operands
        self.size, self.element = max(map(_size, _TENSOR.findall(types)), default=(1, ""))
        self.operations: list[Operation] = operations
        self.position: int = position
        self.uses: int = 0
        for operand in operands:
            operand.uses += 1


def _size(tensor: str) -> tuple[int, str]:
    *dimensions, element = tensor.split("x")
    return math.prod(int(d) for d in dimensions if d.isdigit()), element


class SingleLoops:
    """The operations of a public function, in which those of the functions it calls are inlined.

    Attributes:
      results: the nodes of its results; none if there are many operations.
    """

    def __init__(self, module: Module, region: Region):
        functions = [f for f in module.functions if isinstance(f, Function)]
        self._functions: Mapping[str, Function] = {f.symbol: f for f in functions}
        # The number of times that each operation is inlined.
        self._inlined: Counter[tuple[int, int]] = Counter()
        blocks = [region, *(f.body for f in functions)]
        self._calls_in_regions: bool = any(
            _calls(inner) for block in blocks for inner in _inner_regions(block)
        )
        arguments = [Node(_ARGUMENT, (), tensor_type(x.aval), [], 0) for x in region.arguments]
        self.results: Sequence[Node] = self._inline(region, arguments)
        for node in self.results:
            node.uses += 1

    def is_single(self, position: int) -> bool:
        """Whether a result is computed in one loop, whose memory no other result could share.

        It may be a barrier's operand.
        """
        if self._inlined.total() > _MOST:
            return False
        root = self.results[position]
        if root.uses > 1:
            return False
        if root.name in (_ARGUMENT, _BARRIER):
            return root.name == _ARGUMENT or self.barrier_of(position) is root
        return _loop_leaves(root) is not None

    def barrier_of(self, position: int) -> Node | None:
        """Return the one barrier that a result's loop reads, if its operand is a single loop, too.

        A barrier that runs several times is none, since its operand's memory would be
        needed for each.
        """
        root = self.results[position]
        leaves = [root] if root.name == _BARRIER else _loop_leaves(root) or []
        barriers = [node for node in leaves if node.name == _BARRIER]
        if len(barriers) != 1 or self._calls_in_regions:
            return None
        (barrier,) = barriers
        if self._inlined[id(barrier.operations), barrier.position] != 1:
            return None
        if len(barrier.operands) != 1 or barrier.operands[0].uses > 1:
            return None
        inner = _loop_leaves(barrier.operands[0])
        return None if inner is None or any(x.name == _BARRIER for x in inner) else barrier

    def _inline(self, region: Region, arguments: Sequence[Node]) -> list[Node]:
        """Add the operations of a region, or of a function called with these arguments."""
        nodes = dict(zip((x.name for x in region.arguments), arguments, strict=True))
        operations = region.operations
        assert isinstance(operations, list)
        for position, operation in enumerate(operations):
            self._inlined[id(operations), position] += 1
            if self._inlined.total() > _MOST:
                return []
            result, name, body, types, *_ = operation
            operands = [nodes[x] for x in _names(operation) if x in nodes]
            result, _, count = result.partition(":")
            function = self._functions.get(body[2:].partition("(")[0]) if name == "call" else None
            if function is not None:
                inner = self._inline(function.body, operands)
            else:
                name = name.strip('"').partition(".")[2].partition(" ")[0]
                types = types.rpartition("->")[2]
                inner = [Node(name, operands, types, operations, position)] * int(count or 1)
            names = [f"{result}#{i}" for i in range(int(count))] if count else [result]
            nodes.update(zip(names, inner, strict=False))
        return [nodes[x.name] for x in region.results]


def _inner_regions(region: Region) -> list[Region]:
    """The regions of a region's operations."""
    details = [operation[5] for operation in region.operations]
    return [inner for each in details if each is not None for inner in each.regions]


def _calls(region: Region) -> bool:
    """Whether a region calls functions."""
    return any(operation[1] == "call" for operation in region.operations) or any(
        map(_calls, _inner_regions(region))
    )


def _names(operation: Operation) -> list[str]:
    """The names of the values that an operation uses, also in its regions."""
    _, _, body, _, _, details = operation
    names = _NAME.findall(body)
    for region in () if details is None else details.regions:
        names += [name for inner in region.operations for name in _names(inner)]
        names += [x.name for x in region.results]
    return names


def _loop_leaves(root: Node) -> list[Node] | None:
    """The arguments and barriers that a loop reads; or None if it is not a single loop."""
    if not _is_fused(root):
        return None
    leaves: list[Node] = []
    seen, stack = {root}, [root]
    while stack:
        node = stack.pop()
        # A barrier's result has memory of its own, over which one of the same type may be written.
        if node.name == _ARGUMENT or (node.name == _BARRIER and node.element != root.element):
            leaves.append(node)
        elif _is_fused(node):
            new = set(node.operands) - seen
            seen |= new
            stack += new
        else:
            return None
    return leaves


def _is_fused(node: Node) -> bool:
    """Whether an operation is part of the loop of the one that uses it."""
    if node.name in CHEAP:
        return True
    if node.name in _MOVES:
        near = {_ARGUMENT, "constant", "reshape"}
        return node.size < _SMALL or all(x.name in near for x in node.operands)
    return node.name in EXPENSIVE and node.uses == 1
