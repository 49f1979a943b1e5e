"""Consecutive pieces of a jaxpr with the same operations, and their measures."""

from typing import NamedTuple

import ricci_ir as ir

__all__ = ["CARRIED", "Carry", "Place", "Rows", "Run", "is_costly", "size_in_bytes"]

_COSTLY = frozenset(
    {"conv_general_dilated", "cond", "dot_general", "random_bits", "scan", "sort", "while"}
)

# A result of a piece: its equation, counted in the piece, and its place among the results. What
# enters a piece as its k-th carry is the k-th result of the equation CARRIED.
type Place = tuple[int, int]
CARRIED = -1

# The values of something in all pieces, in order.
type Rows = tuple[ir.Var, ...]


class Carry(NamedTuple):
    """An operand that each piece takes from the piece before it.

    Attributes:
      operand: the variable of the template.
      first: what the first piece takes, from before the run.
      place: the result of a piece that the next one takes.
    """

    operand: ir.Var
    first: ir.Var
    place: Place


class Run(ir.Record):
    """Consecutive pieces of a jaxpr that apply the same operations to values of the same types.

    Attributes:
      start, period, count: the first equation, the equations of a piece, the number of pieces.
      template: the equations of one piece, on variables of their own.
      carries: operands that come from the piece before.
      fixed: operands that are one value for all pieces: the template's variable and the value's.
      stacked: operands that come from outside and differ from piece to piece.
      results: the places of results that are used outside of the run, with those pieces.
      values: the values at all places.
      recomputed: equations ahead of the template, which compute some of its operands from others
        instead of reading them from an array that another run's pieces fill.
    """

    start: int
    period: int
    count: int
    template: list[ir.JaxprEqn]
    carries: list[Carry]
    fixed: list[tuple[ir.Var, ir.Var]]
    stacked: list[tuple[ir.Var, Rows]]
    results: dict[Place, list[int]]
    values: dict[Place, Rows]
    recomputed: list[ir.JaxprEqn]

    @property
    def stop(self) -> int:
        return self.start + self.period * self.count

    @property
    def is_batch(self) -> bool:
        """Whether the pieces are independent and cheap: one operation on all, instead of a loop.

        So the compiler fuses an optimizer's update of stacked parameters as that of each.
        """
        return not self.carries and not any(map(is_costly, self.template))

    @property
    def rows(self) -> list[Rows]:
        """The values that are rows of one array: stacked operands, and results of all pieces."""
        results = [
            self.values[p] for p, pieces in self.results.items() if len(pieces) == self.count
        ]
        return [*(rows for _, rows in self.stacked), *results]

    def is_final(self, place: Place) -> bool:
        """Whether a result is used outside of the last piece alone, and is carried."""
        is_carried = any(carry.place == place for carry in self.carries)
        return is_carried and self.results[place] == [self.count - 1]


def is_costly(eqn: ir.JaxprEqn) -> bool:
    """Whether an equation multiplies matrices, convolves, draws random numbers or loops."""
    inner = (eqn for jaxpr in ir.jaxprs_in_params(eqn.params) for eqn in jaxpr.eqns)
    return eqn.primitive.name in _COSTLY or any(map(is_costly, inner))


def size_in_bytes(var: ir.Var) -> int:
    """The size of a variable's array; that of random keys is a guess, symbolic sizes count as 1."""
    aval = var.aval
    size = getattr(getattr(aval, "dtype", None), "itemsize", 8)
    for n in getattr(aval, "shape", ()):
        if type(n) is int or not ir.is_symbolic_dim(n):
            size *= n
    return size
