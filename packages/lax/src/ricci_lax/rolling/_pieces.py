"""Find equal consecutive pieces of a jaxpr, such as the layers that a Python loop traced."""

import marshal
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

import ricci_ir as ir

from ._numbering import BEFORE, EARLIER, LITERAL, OUTSIDE, Numbering
from ._recomputing import recompute_cheap
from ._runs import CARRIED, Carry, Place, Run, is_costly, size_in_bytes

__all__ = ["SEARCHED", "Refusal", "find_runs", "operation_numbers"]

_LEAST_PIECES = 3
# The least number of equations of a piece, with those of the jaxprs that they hold: of any piece,
# of a loop's, and of a loop's without costly ones, which the compiler fuses outside of a loop.
_LEAST, _LEAST_LOOPED, _LEAST_CHEAP = 4, 8, 32
_LEAST_SAVED = 16  # equations, by a run
_MOST_TRIMMED = 2  # pieces of a run that are left out for it to agree with another
_SAMPLES = 8  # the operations that are compared before a whole repetition is
_CANDIDATES = 8  # the repetitions that are tried on an interval of equations

_NO_COUNTERPART = "loops that fill or read the same arrays have no such piece"

# Primitives whose jaxprs are searched too: each may be replaced by another of the same types.
SEARCHED = ("cond", "jit", "remat2", "scan", "while")


class Refusal(ir.Record):
    """A repetition that is not rolled, and why."""

    start: int
    period: int
    count: int
    reason: str


def find_runs(jaxpr: ir.Jaxpr) -> tuple[list[Run], list[Refusal]]:
    """Find the runs of a jaxpr, in the order of its equations, and repetitions that are not runs.

    Repetitions are those of operations, whatever their operands are. The one that saves the most
    equations is tried first, then what lies before and after it.
    """
    search = _Search(jaxpr)
    search.interval(0, len(jaxpr.eqns))
    runs = search.trimmed()
    recompute_cheap(jaxpr, runs)
    return runs, search.refusals


class _Search:
    """The search for the runs of a jaxpr."""

    def __init__(self, jaxpr: ir.Jaxpr):
        self.eqns = jaxpr.eqns
        self.numbers = operation_numbers(jaxpr.eqns)
        # Equations with the same operation hold as many others.
        counts = {i: ir.count_equations([jaxpr.eqns[i]]) for i in set(self.numbers.tolist())}
        self.weights = np.cumsum([0, *(counts[number] for number in self.numbers.tolist())])
        self.numbering = Numbering(jaxpr)
        self.runs: list[Run] = []
        self.refusals: list[Refusal] = []

    def interval(self, start: int, stop: int) -> None:
        """Find the runs among some equations."""
        # The repetition that saves most comes first, and parts the interval in two.
        for first, period, length in self._repetitions(start, stop):
            run = self._run(first, period, length)
            if isinstance(run, Run):
                self.runs.append(run)
                self.interval(start, run.start)
                self.interval(run.stop, stop)
                return
            self.refusals.append(run)

    def trimmed(self) -> list[Run]:
        """The runs in order, without pieces at their ends that other runs have no counterpart of.

        The backward pass of the first layer often differs, whose input has no gradient. Where the
        forward pass leaves that layer out, too, its loop stacks the arrays that the other reads.
        """
        runs = sorted(self.runs, key=lambda run: run.start)
        for i, run in enumerate(runs):
            first, stop = self._common(run, [*runs[:i], *runs[i + 1 :]])
            if (first, stop) != (0, run.count):
                begin, end = (run.start + piece * run.period for piece in (first, stop))
                left_out = run.start if first else end
                count = run.count - (stop - first)
                self.refusals.append(Refusal(left_out, run.period, count, _NO_COUNTERPART))
                runs[i] = self._described(begin, run.period, stop - first)
        return runs

    def _common(self, run: Run, others: Sequence[Run]) -> tuple[int, int]:
        """The range of a run's pieces in which others' rows of most bytes are."""
        rows = run.rows
        read = [values for other in others for values in other.rows]
        ends = {value for values in read for value in (values[0], values[-1])}
        pieces: dict[ir.Var, dict[int, int]] = {}
        for g, values in enumerate(rows):
            for value in ends.intersection(values):
                pieces.setdefault(value, {})[g] = values.index(value)
        sizes: Counter[tuple[int, int]] = Counter()
        for values in read:
            for g, first in pieces.get(values[0], {}).items():
                last = pieces.get(values[-1], {}).get(g, -1)
                low, high = sorted((first, last))
                step = 1 if first <= last else -1
                if values == rows[g][low : high + 1][::step]:
                    sizes[low, high + 1] += size_in_bytes(values[0]) * len(values)
        if not sizes:
            return 0, run.count
        first, stop = max(sizes, key=lambda extent: sizes[extent])
        # Equations that are left out are compiled once more.
        is_short = stop - first < max(_LEAST_PIECES, run.count - _MOST_TRIMMED)
        return (0, run.count) if is_short else (first, stop)

    def _repetitions(self, start: int, stop: int) -> list[tuple[int, int, int]]:
        """The repetitions of operations, as (start, period, length), largest saving first."""
        # A sequence of period p equals itself shifted by p. So for each period all operations are
        # compared with those p later, at once: a stretch of n equal pairs is a repetition of n + p
        # operations, and its edges are where the comparison changes.
        numbers, weights = self.numbers[start:stop], self.weights
        candidates = []
        for period in _possible_periods(numbers):
            equal = numbers[:-period] == numbers[period:]
            least = (_LEAST_PIECES - 1) * period
            if np.count_nonzero(equal) < least:
                continue
            edges = np.flatnonzero(equal[1:] != equal[:-1]) + 1
            firsts = np.concatenate([[0], edges])
            lasts = np.concatenate([edges, [len(equal)]])
            is_long = equal[firsts] & (lasts - firsts >= least)
            stretches = zip(firsts[is_long].tolist(), lasts[is_long].tolist(), strict=True)
            for first, last in stretches:
                begin, length = start + first, last - first + period
                piece = int(weights[begin + period] - weights[begin])
                saved = (length // period - 1) * piece
                if piece >= _LEAST and saved >= _LEAST_SAVED:
                    candidates.append((saved, -period, begin, length))
        candidates.sort(reverse=True)
        return [(begin, -period, length) for _, period, begin, length in candidates[:_CANDIDATES]]

    def _run(self, start: int, period: int, length: int) -> Run | Refusal:
        start += self._cut(start, period, length)
        count = length // period
        matching = skipped = 0
        for first in range(min(3, count - _LEAST_PIECES + 1)):
            # The rest is at most as many pieces as match already.
            if count - first <= matching:
                break
            if (more := self._matching(start + first * period, period, count - first)) > matching:
                matching, skipped = more, first
        if matching < _LEAST_PIECES:
            reason = "pieces read values of other pieces than the one before, or in other ways"
            return Refusal(start, period, count, reason)
        run = self._described(start + skipped * period, period, matching)
        has_costly = any(map(is_costly, run.template))
        least = _LEAST if run.is_batch else _LEAST_LOOPED if has_costly else _LEAST_CHEAP
        if ir.count_equations(run.template) < least:
            reason = "so few cheap operations are faster one after another than as a loop"
            return Refusal(start, period, count, reason)
        return run

    def _cut(self, start: int, period: int, length: int) -> int:
        """The shift of the start with which the fewest bytes pass from piece to piece.

        Of several, one whose pieces are those of the runs that are found: then the rows of one
        loop's arrays are those that another one reads, and none is copied.
        """
        spare = length % period
        if not spare:
            return 0
        first, last = self.numbering.result_starts[[start, start + period]]
        results = (var for eqn in self.eqns[start : start + period] for var in eqn.outvars)
        sizes = np.fromiter(map(size_in_bytes, results), np.float64, last - first)
        passing = self.numbering.passing_bytes(start, period, np.tile(sizes, 2))[: spare + 1]
        shifts = np.flatnonzero(passing == passing.min())
        covered = np.zeros(len(shifts))
        if len(shifts) > 1 and self.runs:
            near = self.numbering.first_equations(start, start + length)
            for values in (values for run in self.runs for values in run.rows):
                places = near[[*map(self.numbering.numbers.__getitem__, values)]]
                first, last = places.min(), math.inf if places.min() < 0 else places.max()
                begins = start + shifts
                is_covered = (begins <= first) & (last < begins + length - spare)
                covered += is_covered * size_in_bytes(values[0]) * len(values)
        return int(shifts[np.argmax(covered)])

    def _matching(self, start: int, period: int, count: int) -> int:
        """Count the consecutive pieces whose operands have the same origins."""
        origins = self.numbering.origins(start, period, 0, count)
        expected = origins[1]
        if (expected == EARLIER).any():
            return 0
        # The first piece has none before it: it takes from outside what the others take from there.
        initial = np.where(expected < EARLIER, OUTSIDE, expected)
        if (origins[0] != initial).any():
            return 0
        differ = (origins[2:] != expected).any(axis=1)
        return 2 + int(np.argmax(differ)) if differ.any() else count

    def _described(self, start: int, period: int, count: int) -> Run:
        stop = start + period * count
        run = Run(start, period, count, [], [], [], [], {}, {}, [])
        computed: list[ir.Var] = []
        places: list[Place] = []
        operands: dict[Any, ir.Var] = {}
        origins = iter(self.numbering.origins(start, period, 1, 1)[0].tolist())
        for q in range(period):
            pieces = self.eqns[start + q : stop : period]
            eqn = pieces[0]
            invars: list[ir.Atom] = []
            for a, atom in enumerate(eqn.invars):
                origin = next(origins)
                if origin == LITERAL:
                    invars.append(atom)
                elif origin >= 0:
                    invars.append(computed[origin])
                else:
                    values = tuple([piece.invars[a] for piece in pieces])
                    key = values if origin == OUTSIDE else (origin, atom)
                    if key not in operands:
                        operands[key] = _add_operand(run, origin, values)
                    invars.append(operands[key])
            outvars = [type(var)(var.aval) for var in eqn.outvars]
            for o in range(len(outvars)):
                places.append((q, o))
                run.values[q, o] = tuple([piece.outvars[o] for piece in pieces])
            computed += outvars
            run.template.append(eqn.replace(invars=invars, outvars=outvars))
        run.carries[:] = [carry._replace(place=places[carry.place[1]]) for carry in run.carries]
        for k, carry in enumerate(run.carries):
            run.values[CARRIED, k] = (carry.first, *run.values[carry.place][:-1])
        # No equation reads a result before it is computed.
        used = self.numbering.used_pieces(start, period, count)
        for n in np.flatnonzero(used.any(axis=0)).tolist():
            run.results[places[n]] = np.flatnonzero(used[:, n]).tolist()
        return run


def _possible_periods(numbers: np.ndarray) -> list[int]:
    """The periods with which a sequence may repeat a piece as often as a run needs.

    Comparing the whole sequence with itself, shifted by each period, takes time that grows with the
    square of its length. A repetition that is long enough has ``_SAMPLES`` operations at equal
    distances that all equal those a period later. These are counted for all periods at once, in
    time that grows with the length times its logarithm.
    """
    periods = np.arange(1, len(numbers) // _LEAST_PIECES + 1)
    if not len(periods):
        return []
    # A stretch of twice the period holds at least this many of the positions at these distances.
    steps = np.maximum(periods * (_LEAST_PIECES - 1) // _SAMPLES, 1)
    least = periods * (_LEAST_PIECES - 1) // steps
    counts = (len(numbers) - periods - 1) // steps + 1
    ends = np.cumsum(counts)
    within = np.arange(ends[-1]) - np.repeat(ends - counts, counts)
    positions = within * np.repeat(steps, counts)
    equal = numbers[positions] == numbers[positions + np.repeat(periods, counts)]
    totals = np.add.reduceat(equal, ends - counts, dtype=np.int64)
    return periods[totals >= least].tolist()


def _add_operand(run: Run, origin: int, values: tuple[Any, ...]) -> ir.Var:
    """Add an operand that comes from outside of a piece to the description of a run.

    The place of a carry is the number of the result in the piece, which comes after this operand.
    """
    operand = ir.Var(values[0].aval)
    if origin != OUTSIDE:
        run.carries.append(Carry(operand, values[0], (CARRIED, origin - BEFORE)))
    elif all(value is values[0] for value in values):
        run.fixed.append((operand, values[0]))
    else:
        run.stacked.append((operand, values))
    return operand


def operation_numbers(eqns: Sequence[ir.JaxprEqn]) -> np.ndarray:
    """Number the equations such that those with the same operation have the same number.

    An equation with a side effect has a number of its own: its place among others is kept.
    """
    numbers: list[int] = []
    # Most equal operations have the same objects or equal tuples as parameters, so that a look-up
    # compares them.
    numbers_by_key: dict[Any, int] = {}
    examples: dict[Any, list[tuple[ir.JaxprEqn, int]]] = {}
    for i, eqn in enumerate(eqns):
        number = i
        if not eqn.effects:
            types = [_literal_key(x) if type(x) is ir.Literal else id(x.aval) for x in eqn.invars]
            key = (eqn.primitive, id(eqn.settings), *types, *map(_param_key, eqn.params.values()))
            number = numbers_by_key.get(key, -1)
            if number < 0:
                alike = examples.setdefault((eqn.primitive, *types), [])
                number = next((j for other, j in alike if ir.same_operation(other, eqn)), i)
                if number == i:
                    alike.append((eqn, i))
                numbers_by_key[key] = number
        numbers.append(number)
    return np.array(numbers, np.int32)


def _param_key(value: object) -> bytes | int:
    """A tuple's bytes, anything else's identity; parameters of one key have the same meaning."""
    if type(value) is tuple:
        try:
            # Unlike equality, it tells True from 1. Later formats depend on counts of references.
            return marshal.dumps(value, 2)
        except ValueError:  # with objects other than numbers, strings, None and tuples
            pass
    return id(value)


def _literal_key(literal: ir.Literal) -> tuple[int, type, float | bytes | str]:
    """The type and the value of a literal; literals of one key are equal."""
    value = literal.val
    kind = type(value)
    if (kind is float or kind is int) and value:  # zeros have signs
        return id(literal.aval), kind, value
    if isinstance(value, np.generic):
        return id(literal.aval), kind, value.tobytes()
    is_scalar = isinstance(value, int | float | complex)
    return id(literal.aval), kind, repr(value) if is_scalar else id(value)
