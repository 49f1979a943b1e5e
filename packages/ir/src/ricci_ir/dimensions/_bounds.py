"""Lower and upper bounds of symbolic dimensions.

A lower bound is found by a search. A *fact* is a polynomial that is never negative: a constraint of
the scope, or an inequality that holds by definition of an operation (``a - 2*floordiv(a, 2)`` is at
least 0). If ``e = k*fact + remainder`` with ``k > 0``, then a lower bound of the remainder is one
of ``e``. The search subtracts multiples of up to four facts, so that monomials of ``e`` cancel, and
bounds each remainder term by term, by the intervals of its factors. The result is the largest of
these bounds: each is valid, so an incomplete search only gives a weaker one. An upper bound is the
negative of a lower bound of ``-e``.

Polynomials are mappings from monomials to coefficients, which may be fractions.
"""

from collections.abc import Iterator, Mapping
from math import ceil, inf
from threading import RLock
from typing import Any

from ._expressions import Factor, Monomial, Size, SymbolicDimension, times

# Interval arithmetic on integers. An interval is the least and the greatest value: ints, or
# infinities.
type Interval = tuple[float, float]


def interval_sum(x: Interval, y: Interval) -> Interval:
    """The interval of sums."""
    return x[0] + y[0], x[1] + y[1]


def _end_product(x: float, y: float) -> float:
    return 0 if x == 0 or y == 0 else x * y  # a value is finite, so 0 times it is 0


def interval_product(x: Interval, y: Interval) -> Interval:
    """The interval of products."""
    # A product is monotone in each factor, so its extremes are at the ends of both intervals.
    ends = [_end_product(a, b) for a in x for b in y]
    return min(ends), max(ends)


# ``inf // y`` is nan in Python. As y grows, ``x // y`` tends to 0, or to -1 if the signs differ.
def _end_quotient(x: float, y: float) -> float:
    if abs(y) == inf:
        return 0 if x == 0 else 0 if (x > 0) == (y > 0) else -1
    if abs(x) == inf:
        return x if y > 0 else -x
    return x // y


def _quotient(x: Interval, y: Interval) -> Interval:
    if y[0] <= 0 <= y[1]:  # a divisor that may be 0 leaves the quotient unbounded
        return -inf, inf
    # The divisor has one sign, so that a quotient is monotone in both operands.
    ends = []
    for a in x:
        for b in y:
            if abs(a) == inf and abs(b) == inf:
                # The quotient may be anything between 0 and the infinity of its sign.
                sign = 1 if (a > 0) == (b > 0) else -1
                ends += [0 if sign > 0 else -1, sign * inf]
            else:
                ends.append(_end_quotient(a, b))
    return min(ends), max(ends)


def _remainder(x: Interval, y: Interval) -> Interval:
    # As in Python, a remainder has the sign of the divisor.
    if y[0] > 0:
        high = y[1] - 1
        return 0, min(high, x[1]) if x[0] >= 0 else high
    if y[1] < 0:
        return y[0] + 1, 0
    return -inf, inf


_operations = {
    "floordiv": _quotient,
    "mod": _remainder,
    "max": lambda x, y: (max(x[0], y[0]), max(x[1], y[1])),
    "min": lambda x, y: (min(x[0], y[0]), min(x[1], y[1])),
}


def interval_of_operation(name: str, x: Interval, y: Interval) -> Interval:
    """The interval of ``floordiv``, ``mod``, ``max`` or ``min`` of values in two intervals."""
    return _operations[name](x, y)


type Polynomial = Mapping[Monomial, Any]

_DEPTH = 4  # the largest number of facts that are combined
_STEPS = 400  # the largest number of polynomials in one search


def terms_of(x: Size) -> dict[Monomial, int]:
    """The monomials and coefficients of a dimension or an int."""
    if isinstance(x, SymbolicDimension):
        return dict(x.terms)
    return {(): x} if x else {}


def _combined(x: Polynomial, y: Polynomial, factor: Any) -> dict[Monomial, Any]:
    """``x + factor * y``."""
    result = dict(x)
    for monomial, c in y.items():
        total = result.get(monomial, 0) + factor * c
        if total:
            result[monomial] = total
        else:
            result.pop(monomial, None)
    return result


def _product(x: Polynomial, monomial: Monomial) -> dict[Monomial, Any]:
    result: dict[Any, Any] = {times(m, monomial): c for m, c in x.items()}
    return result


class Bounds:
    """The bounds of the dimensions of a scope, cached.

    Attributes:
      constraints: polynomials that are not negative by the user's constraints.
      may_be_zero: the names of variables that may be 0; others are at least 1.
    """

    __slots__ = ("_facts", "_factors", "_lock", "_lower", "_pending", "constraints", "may_be_zero")

    def __init__(self):
        self._lock = RLock()
        self.constraints: list[dict[Monomial, int]] = []
        self.may_be_zero: set[str] = set()
        self.clear()

    def clear(self) -> None:
        """Clear the cached bounds, after constraints were added."""
        self._lower: dict[frozenset[Any], float] = {}
        self._factors: dict[Factor, Interval] = {}
        self._facts: dict[Factor, list[dict[Monomial, int]]] = {}
        self._pending: set[Factor] = set()

    def of(self, x: Size) -> Interval:
        """The least and the greatest value of a dimension."""
        if isinstance(x, int):
            return x, x
        terms = terms_of(x)
        with self._lock:  # ``_pending`` is the state of one search
            low = self._low(terms)
            high = -self._low({m: -c for m, c in terms.items()})
        return low, high

    def _low(self, terms: dict[Monomial, int]) -> float:
        key = frozenset(terms.items())
        bound = self._lower.get(key)
        if bound is None:
            bound = self._by_cases(terms)
            if not self._pending:  # inside of another search the bound may be weaker
                self._lower[key] = bound
        return bound

    def _by_cases(self, terms: Polynomial) -> float:
        """A lower bound: with a ``max`` or ``min``, the least of the bounds for either operand."""
        best = self._search(terms)
        for monomial, c in terms.items():
            if len(monomial) == 1 and monomial[0][1] == 1:
                factor = monomial[0][0]
                if factor.name in ("max", "min") and factor.operands:
                    # Its value is that of one operand, whichever that is.
                    others = {m: d for m, d in terms.items() if m != monomial}
                    cases = [
                        self._by_cases(_combined(others, terms_of(x), c)) for x in factor.operands
                    ]
                    return max(best, min(cases))
        return best

    def _search(self, terms: Polynomial) -> float:
        from fractions import Fraction  # noqa: PLC0415 - lazy: few programs have such sizes

        # Breadth first, by the number of facts subtracted. Each step cancels one monomial by a fact
        # in which it has the same sign, so that the multiple of the fact is positive. A dimension
        # is an integer, so a bound is rounded up, though coefficients may be fractions.
        best, steps = -inf, 0
        level: list[dict[Monomial, Any]] = [dict(terms)]
        seen = {frozenset(terms.items())}
        for depth in range(_DEPTH + 1):
            following: list[dict[Monomial, Any]] = []
            for polynomial in level:
                best = max(best, self._interval(polynomial)[0])
                if depth == _DEPTH:
                    continue
                for monomial, c in polynomial.items():
                    for fact in self._facts_with(monomial, c > 0):
                        steps += 1
                        if steps > _STEPS:
                            break
                        ratio = Fraction(c) / fact[monomial]
                        remainder = _combined(polynomial, fact, -ratio)
                        key = frozenset(remainder.items())
                        if key not in seen:
                            seen.add(key)
                            following.append(remainder)
            level = following
        return best if best == -inf else ceil(best)

    def _interval(self, terms: Polynomial) -> Interval:
        total: Interval = (0, 0)
        for monomial, c in terms.items():
            total = interval_sum(total, interval_product((c, c), self._monomial(monomial)))
        return total

    def _monomial(self, monomial: Monomial) -> Interval:
        result: Interval = (1, 1)
        for factor, power in monomial:
            interval = self.factor(factor)
            powers = (1, 1)
            for _ in range(power):
                powers = interval_product(powers, interval)
            if power % 2 == 0:  # even powers are not negative, which products of intervals miss
                powers = max(powers[0], 0), powers[1]
            result = interval_product(result, powers)
        return result

    def factor(self, factor: Factor) -> Interval:
        """The interval of a variable or an operation; empty if no value fits the constraints."""
        cached = self._factors.get(factor)
        if cached is not None:
            return cached
        least = 0 if factor.name in self.may_be_zero else 1
        interval: Interval = (-inf, inf) if factor.operands else (least, inf)
        # The search for its bounds may lead back to the factor. The interval without constraints is
        # valid, too, and ends the recursion.
        if factor in self._pending:
            return interval
        self._pending.add(factor)
        try:
            if factor.operands:
                x, y = factor.operands
                interval = interval_of_operation(factor.name, self._inside(x), self._inside(y))
            low, high = interval
            if self.constraints:
                low = max(low, self._search({((factor, 1),): 1}))
                high = min(high, -self._search({((factor, 1),): -1}))
        finally:
            self._pending.discard(factor)
        if not self._pending:
            self._factors[factor] = low, high
        return low, high

    def _inside(self, x: Size) -> Interval:
        """The interval of an operation's operand; ends, since operands are smaller."""
        if isinstance(x, int):
            return x, x
        terms = terms_of(x)
        low, high = self._by_cases(terms), -self._by_cases({m: -c for m, c in terms.items()})
        return low, high

    # Facts

    def _facts_with(self, monomial: Monomial, positive: bool) -> Iterator[dict[Monomial, Any]]:
        """Facts in which the monomial has a coefficient of the given sign."""
        for fact in self._facts_about(monomial):
            c = fact.get(monomial, 0)
            if c and (c > 0) == positive:
                yield fact

    def _facts_about(self, monomial: Monomial) -> Iterator[dict[Monomial, Any]]:
        yield from self.constraints
        for factor, _ in monomial:
            yield from self.facts_of(factor)
        if sum(power for _, power in monomial) > 1:
            yield from self._facts_of_product(monomial)

    def _facts_of_product(self, monomial: Monomial) -> Iterator[dict[Monomial, Any]]:
        """Facts about a product: ``x >= l`` and ``y >= k`` imply ``(x - l) * (y - k) >= 0``."""
        for factor, _ in monomial:
            x: Monomial = ((factor, 1),)
            y = times(monomial, x, -1)
            if not y:
                continue
            # Each pair of ends gives one inequality; for upper ends the signs of the differences
            # turn. Expanded: s*(x*y - b*x - a*y + a*b) >= 0, with s = 1 if both ends are of one
            # kind.
            (low, high), (other, other_high) = self.factor(factor), self._monomial(y)
            for a, b in ((low, other), (high, other), (low, other_high), (high, other_high)):
                if abs(a) == inf or abs(b) == inf:
                    continue
                sign = (1 if a == low else -1) * (1 if b == other else -1)
                fact = _combined({monomial: sign}, {x: -b * sign}, 1)
                fact = _combined(fact, {y: -a * sign}, 1)
                yield _combined(fact, {(): a * b * sign}, 1)
            # A fact that is multiplied by a monomial that is not negative is a fact again.
            if other >= 0:
                facts = [*self.facts_of(factor), *self.constraints]
                yield from (_product(fact, y) for fact in facts if x in fact)

    def facts_of(self, factor: Factor) -> list[dict[Monomial, int]]:
        """Inequalities that hold by definition of floordiv, mod, max and min."""
        if not factor.operands:
            return []
        facts = self._facts.get(factor)
        if facts is None:
            self._facts[factor] = []  # ends the recursion through its operands
            facts = self._facts[factor] = [
                terms_of(x)
                for x in _defining_inequalities(factor, self._inside)
                if not isinstance(x, int)
            ]
        return facts


def _defining_inequalities(factor: Factor, interval: Any) -> Iterator[Any]:
    """Dimensions that are not negative by definition of an operation."""
    x, y = factor.operands
    scope = next(v.scope for v in (x, y) if isinstance(v, SymbolicDimension))
    value = scope.interned({((factor, 1),): 1})
    if factor.name == "max":
        yield value - x
        yield value - y
        return
    if factor.name == "min":
        yield x - value
        yield y - value
        return
    if interval(y)[0] <= 0:
        return
    if factor.name == "floordiv":
        # q = floor(x / y) for y > 0 means y*q <= x <= y*q + y - 1.
        yield x - y * value
        yield y * value + y - 1 - x
        if interval(x)[0] >= 0:
            yield value
            yield x - value
        return
    # The remaining operation is mod: 0 <= r <= y - 1, and x = y*q + r, as two inequalities.
    quotient = scope.interned({((scope.factor("floordiv", x, y), 1),): 1})
    yield value
    yield y - 1 - value
    yield x - y * quotient - value
    yield value + y * quotient - x
    if interval(x)[0] >= 0:
        yield x - value
