"""Find equal consecutive pieces of a jaxpr, such as the layers that a Python loop traced."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

import numpy as np

import ricci_ir as ir

__all__ = ["SEARCHED", "Refusal", "Run", "count_equations", "find_runs", "size_in_bytes"]

_LEAST_PIECES = 3
# The least number of equations of a piece, with those of the jaxprs that they hold: of any, of a
# loop's, of a loop's without costly ones, which the compiler would fuse if they were no loop.
_LEAST, _LEAST_LOOPED, _LEAST_CHEAP = 4, 8, 32
_LEAST_SAVED = 16  # equations, by a run
_CANDIDATES = 8  # the repetitions that are tried on an interval of equations

# Primitives whose jaxprs are searched too: each may be replaced by another of the same types.
SEARCHED = ("cond", "jit", "remat2", "scan", "while")

_COSTLY = frozenset(
    {"conv_general_dilated", "cond", "dot_general", "random_bits", "scan", "sort", "while"}
)

# A result of a piece: its equation, counted in the piece, and its place among the results.
type Place = tuple[int, int]


class _Origin(NamedTuple):
    """The origin of an operand, as seen from its piece.

    Attributes:
      piece: ``"this"`` piece, the one ``"before"``, one ``"earlier"``, or ``"outside"`` of the run.
      place: the result that it is, if it is one of this piece or of the one before.
    """

    piece: str
    place: Place = (0, 0)


_OUTSIDE, _EARLIER = _Origin("outside"), _Origin("earlier")


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
    """

    start: int
    period: int
    count: int
    template: list[ir.JaxprEqn]
    carries: list[Carry]
    fixed: list[tuple[ir.Var, ir.Var]]
    stacked: list[tuple[ir.Var, tuple[ir.Var, ...]]]
    results: dict[Place, list[int]]

    @property
    def stop(self) -> int:
        return self.start + self.period * self.count

    @property
    def is_batch(self) -> bool:
        """Whether the pieces are independent and cheap: one operation on all, instead of a loop.

        So the compiler fuses an optimizer's update of stacked parameters as that of each.
        """
        return not self.carries and not any(map(_is_costly, self.template))

    def is_final(self, place: Place) -> bool:
        """Whether a result is used outside of the last piece alone, and is carried."""
        is_carried = any(carry.place == place for carry in self.carries)
        return is_carried and self.results[place] == [self.count - 1]


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
    return sorted(search.runs, key=lambda run: run.start), search.refusals


class _Search:
    """The search for the runs of a jaxpr."""

    def __init__(self, jaxpr: ir.Jaxpr):
        self.eqns = jaxpr.eqns
        self.outvars = jaxpr.outvars
        self.numbers = _operation_numbers(jaxpr.eqns)
        self.weights = np.cumsum([0, *(count_equations([eqn]) for eqn in jaxpr.eqns)])
        self.producers: dict[ir.Var, tuple[int, int]] = {
            var: (i, o) for i, eqn in enumerate(jaxpr.eqns) for o, var in enumerate(eqn.outvars)
        }
        self.runs: list[Run] = []
        self.refusals: list[Refusal] = []

    @cached_property
    def users(self) -> dict[Any, list[int]]:
        """The equations that read each variable; those that a jaxpr returns are read at its end."""
        users: dict[Any, list[int]] = {}
        for i, eqn in enumerate(self.eqns):
            for atom in eqn.invars:
                users.setdefault(atom, []).append(i)
        for atom in self.outvars:
            users.setdefault(atom, []).append(len(self.eqns))
        return users

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

    def _repetitions(self, start: int, stop: int) -> list[tuple[int, int, int]]:
        """The repetitions of operations, as (start, period, length), largest saving first."""
        # A sequence of period p equals itself shifted by p. So for each period all operations are
        # compared with those p later, at once: a stretch of n equal pairs is a repetition of n + p
        # operations, and its edges are where the comparison changes.
        numbers, weights = self.numbers[start:stop], self.weights
        candidates = []
        for period in range(1, (stop - start) // _LEAST_PIECES + 1):
            equal = numbers[:-period] == numbers[period:]
            least = (_LEAST_PIECES - 1) * period
            if np.count_nonzero(equal) < least:
                continue
            edges = np.flatnonzero(np.diff(equal, prepend=False, append=False))
            for first, last in zip(edges[::2], edges[1::2], strict=True):
                if last - first < least:
                    continue
                begin, length = start + int(first), int(last - first) + period
                piece = int(weights[begin + period] - weights[begin])
                saved = (length // period - 1) * piece
                if piece >= _LEAST and saved >= _LEAST_SAVED:
                    candidates.append((saved, -period, begin, length))
        candidates.sort(reverse=True)
        return [(begin, -period, length) for _, period, begin, length in candidates[:_CANDIDATES]]

    def _run(self, start: int, period: int, length: int) -> Run | Refusal:
        start += self._narrowest_cut(start, period, length % period)
        count = length // period
        chosen = max(
            (self._matching(start + skipped * period, period, count - skipped), -skipped)
            for skipped in range(min(3, count - _LEAST_PIECES + 1))
        )
        if chosen[0] < _LEAST_PIECES:
            reason = "pieces read values of other pieces than the one before, or in other ways"
            return Refusal(start, period, count, reason)
        run = self._described(start - chosen[1] * period, period, chosen[0])
        is_costly = any(map(_is_costly, run.template))
        least = _LEAST if run.is_batch else _LEAST_LOOPED if is_costly else _LEAST_CHEAP
        if count_equations(run.template) < least:
            reason = "so few cheap operations are faster one after another than as a loop"
            return Refusal(start, period, count, reason)
        return run

    def _narrowest_cut(self, start: int, period: int, most: int) -> int:
        """The shift of the start with which the fewest bytes pass from piece to piece."""
        if not most:
            return 0
        # A value's bytes are added where it is computed, and subtracted behind its last use within
        # a period. The running sum is then what passes each cut; only cuts in the second period
        # count, since what passes those in the first comes from before it as well.
        changes = np.zeros(2 * period + 1)
        for i in range(start, start + 2 * period):
            for var in self.eqns[i].outvars:
                later = [user for user in self.users.get(var, ()) if user <= i + period]
                if later:
                    changes[i + 1 - start] += size_in_bytes(var)
                    changes[min(later[-1] + 1 - start, 2 * period)] -= size_in_bytes(var)
        return int(np.argmin(np.cumsum(changes)[period : period + most + 1]))

    def _origins(self, start: int, begin: int, period: int) -> list[_Origin | None]:
        """The origins of the operands of a piece of the run at ``start``; ``None`` for literals."""
        origins: list[_Origin | None] = []
        for eqn in self.eqns[begin : begin + period]:
            for atom in eqn.invars:
                if isinstance(atom, ir.Literal):
                    origins.append(None)
                    continue
                i, result = self.producers.get(atom, (-1, 0))
                if i < start:
                    origins.append(_OUTSIDE)
                elif i >= begin:
                    origins.append(_Origin("this", (i - begin, result)))
                elif i >= begin - period:
                    origins.append(_Origin("before", (i - begin + period, result)))
                else:
                    origins.append(_EARLIER)
        return origins

    def _matching(self, start: int, period: int, count: int) -> int:
        """Count the consecutive pieces whose operands have the same origins."""
        expected = self._origins(start, start + period, period)
        if _EARLIER in expected:
            return 0
        # The first piece has none before it: it takes from outside what the others take from there.
        initial = [_OUTSIDE if o and o.piece == "before" else o for o in expected]
        if self._origins(start, start, period) != initial:
            return 0
        for piece in range(2, count):
            if self._origins(start, start + piece * period, period) != expected:
                return piece
        return count

    def _described(self, start: int, period: int, count: int) -> Run:
        stop = start + period * count
        computed: dict[Place, ir.Var] = {}
        operands: dict[Any, ir.Var] = {}
        run = Run(start, period, count, [], [], [], [], {})
        origins = iter(self._origins(start, start + period, period))
        for q, eqn in enumerate(self.eqns[start : start + period]):
            invars: list[ir.Atom] = []
            for a, atom in enumerate(eqn.invars):
                origin = next(origins)
                if origin is None:
                    invars.append(atom)
                elif origin.piece == "this":
                    invars.append(computed[origin.place])
                else:
                    values = tuple(self.eqns[i].invars[a] for i in range(start + q, stop, period))
                    key = (origin, atom) if origin.piece == "before" else values
                    if key not in operands:
                        operands[key] = _add_operand(run, origin, values)
                    invars.append(operands[key])
            outvars = [type(var)(var.aval) for var in eqn.outvars]
            computed.update({(q, o): var for o, var in enumerate(outvars)})
            run.template.append(eqn.replace(invars=invars, outvars=outvars))
        for q, o in computed:
            pieces = enumerate(range(start + q, stop, period))
            used = [piece for piece, i in pieces if self._is_used_outside(i, o, start, stop)]
            if used:
                run.results[q, o] = used
        return run

    def _is_used_outside(self, i: int, result: int, start: int, stop: int) -> bool:
        users = self.users.get(self.eqns[i].outvars[result], ())
        return any(not start <= user < stop for user in users)


def _add_operand(run: Run, origin: _Origin, values: tuple[Any, ...]) -> ir.Var:
    """Add an operand that comes from outside of a piece to the description of a run."""
    operand = ir.Var(values[0].aval)
    if origin.piece == "before":
        run.carries.append(Carry(operand, values[0], origin.place))
    elif all(value is values[0] for value in values):
        run.fixed.append((operand, values[0]))
    else:
        run.stacked.append((operand, values))
    return operand


def _operation_numbers(eqns: Sequence[ir.JaxprEqn]) -> np.ndarray:
    """Number the equations such that those with the same operation have the same number.

    An equation with a side effect has a number of its own: its place among others is kept.
    """
    numbers: list[int] = []
    examples: dict[Any, list[tuple[ir.JaxprEqn, int]]] = {}
    for i, eqn in enumerate(eqns):
        number = i
        if not eqn.effects:
            avals = [x.aval for x in (*eqn.invars, *eqn.outvars)]
            alike = examples.setdefault((eqn.primitive, *map(id, avals)), [])
            for example, earlier in alike:
                if ir.same_operation(example, eqn):
                    number = earlier
                    break
            else:
                alike.append((eqn, i))
        numbers.append(number)
    return np.array(numbers, np.int64)


def count_equations(eqns: Iterable[ir.JaxprEqn]) -> int:
    """The number of equations, with those of the jaxprs that they hold."""
    inner = lambda eqn: (count_equations(jaxpr.eqns) for jaxpr in ir.jaxprs_in_params(eqn.params))
    return sum(1 + sum(inner(eqn)) for eqn in eqns)


def _is_costly(eqn: ir.JaxprEqn) -> bool:
    """Whether an equation multiplies matrices, convolves, draws random numbers or loops."""
    inner = (eqn for jaxpr in ir.jaxprs_in_params(eqn.params) for eqn in jaxpr.eqns)
    return eqn.primitive.name in _COSTLY or any(map(_is_costly, inner))


def size_in_bytes(var: ir.Var) -> int:
    """The size of a variable's array; that of random keys is a guess, symbolic sizes count as 1."""
    aval = var.aval
    sizes = (1 if ir.is_symbolic_dim(n) else n for n in getattr(aval, "shape", ()))
    return prod(sizes) * getattr(getattr(aval, "dtype", None), "itemsize", 8)
