"""The values of a jaxpr as numbers, so that NumPy compares the operands of all pieces at once."""

from collections.abc import Iterable
from itertools import chain

import numpy as np

import ricci_ir as ir

__all__ = ["BEFORE", "EARLIER", "LITERAL", "OUTSIDE", "Numbering"]

# The origins of operands that no equation of their piece computes: a literal, a value from before
# the run, a result of a piece before the last one. Results of the last piece are ``BEFORE + n`` for
# its n-th, those of the piece itself their number in the piece.
LITERAL, OUTSIDE, EARLIER, BEFORE = -1, -2, -3, -(1 << 30)


class Numbering:
    """The values that the equations of a jaxpr read, as numbers.

    Args:
      jaxpr: the jaxpr.

    Attributes:
      numbers: the number of each variable: those of results count from 0 in the order of the
        equations, those of all others from -2 downwards.
      operands, readers: the number of each operand, ``LITERAL`` for literals, and its equation.
        The results of the jaxpr are operands of an equation behind the last.
      operand_starts, result_starts: the first operand, and the first result, of each equation.
      producers: the equation of each result.
      last_uses: the last equation that reads each result, -1 if none does.
    """

    def __init__(self, jaxpr: ir.Jaxpr):
        eqns = jaxpr.eqns
        results = [*chain.from_iterable(eqn.outvars for eqn in eqns)]
        self.numbers: dict[ir.Atom, int] = dict(zip(results, range(len(results)), strict=True))
        atoms = [*chain.from_iterable(eqn.invars for eqn in eqns), *jaxpr.outvars]
        numbers = [*map(self.numbers.get, atoms)]
        for i in (i for i, number in enumerate(numbers) if number is None):
            numbers[i] = self._outside(atoms[i], len(results))
        self.operands: np.ndarray = np.array(numbers, np.int64)
        self.operand_starts: np.ndarray = _starts(len(eqn.invars) for eqn in eqns)
        self.result_starts: np.ndarray = _starts(len(eqn.outvars) for eqn in eqns)
        counts = np.diff(self.operand_starts, append=len(atoms))
        self.readers: np.ndarray = np.repeat(np.arange(len(eqns) + 1), counts)
        self.producers: np.ndarray = np.repeat(np.arange(len(eqns)), np.diff(self.result_starts))
        self.last_uses: np.ndarray = np.full(len(results), -1)
        are_results = self.operands >= 0
        # Of equal indices the last one counts.
        self.last_uses[self.operands[are_results]] = self.readers[are_results]

    def _outside(self, atom: ir.Atom, results: int) -> int:
        """The number of a literal, or of a variable that no equation computes."""
        if isinstance(atom, ir.Literal):
            return LITERAL
        return self.numbers.setdefault(atom, results - len(self.numbers) - 2)

    def origins(self, start: int, period: int, first: int, count: int) -> np.ndarray:
        """The origins of the operands of some pieces of a run, a row for each piece.

        Args:
          start: the first equation of the run.
          period: the equations of a piece, which have the same operations in all pieces.
          first, count: the first of the pieces, and their number.
        """
        begins = start + period * np.arange(first, first + count)
        begin, end = self.operand_starts[begins[0]], self.operand_starts[begins[-1] + period]
        numbers = self.operands[begin:end].reshape(count, -1)
        size = self.result_starts[start + period] - self.result_starts[start]
        places = numbers - self.result_starts[begins][:, None]
        origins = np.where(places < 0, places + size + BEFORE, places)
        origins[places < -size] = EARLIER
        origins[numbers < self.result_starts[start]] = OUTSIDE
        origins[numbers == LITERAL] = LITERAL
        return origins

    def used_pieces(self, start: int, period: int, count: int) -> np.ndarray:
        """Whether each result of the pieces of a run is used behind it, a row for each piece."""
        first, stop = self.result_starts[[start, start + period * count]]
        return (self.last_uses[first:stop] >= start + period * count).reshape(count, -1)

    def passing_bytes(self, start: int, period: int, sizes: np.ndarray) -> np.ndarray:
        """The bytes that pass from piece to piece, for each shift of a run's start by an equation.

        Args:
          start, period: the run.
          sizes: the sizes of the results of its first two pieces.
        """
        first, stop = self.result_starts[[start, start + 2 * period]]
        # The last use of each result within a period.
        begin, end = self.operand_starts[start], start + 3 * period
        is_within = end < len(self.operand_starts)
        reads = slice(begin, self.operand_starts[end] if is_within else None)
        numbers, readers = self.operands[reads], self.readers[reads]
        producers = self.producers[first:stop]
        are_near = (numbers >= first) & (numbers < stop)
        numbers, readers = numbers[are_near] - first, readers[are_near]
        are_near = readers <= producers[numbers] + period
        last = np.full(stop - first, -1)
        last[numbers[are_near]] = readers[are_near]
        is_read = last >= 0
        # A value's bytes are added where it is computed, and subtracted behind its last use within
        # a period. The running sum is then what passes each cut; only cuts in the second period
        # count, since what passes those in the first comes from before it as well.
        changes = np.zeros(2 * period + 1)
        np.add.at(changes, producers[is_read] + 1 - start, sizes[is_read])
        ends = np.minimum(last[is_read] + 1 - start, 2 * period)
        np.subtract.at(changes, ends, sizes[is_read])
        return np.cumsum(changes)[period:]

    def first_equations(self, start: int, stop: int) -> np.ndarray:
        """The first equation of an interval that computes or reads each value, by its number.

        It is -1 where none does. Negative numbers count from the end, as in any array.
        """
        firsts = np.full(len(self.numbers) + 1, -1)
        reads = slice(self.operand_starts[start], self.operand_starts[stop])
        # The first use is the last one in reverse.
        firsts[self.operands[reads][::-1]] = self.readers[reads][::-1]
        computed = slice(self.result_starts[start], self.result_starts[stop])
        firsts[computed] = self.producers[computed]
        firsts[LITERAL] = -1
        return firsts


def _starts(counts: Iterable[int]) -> np.ndarray:
    """The positions of the first of each of several groups, and of the end."""
    return np.cumsum([0, *counts])
