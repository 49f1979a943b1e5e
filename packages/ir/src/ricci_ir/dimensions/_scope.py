"""Scopes of symbolic dimensions: their variables, and the constraints on them."""

from collections.abc import Sequence
from math import inf
from typing import Any, final

from ricci_ir._errors import InconclusiveDimensionOperation
from ricci_ir._source import Source, caller_source

from ._bounds import Bounds, terms_of
from ._expressions import Factor, Monomial, Size, SymbolicDimension, sum_of_terms, times
from ._parsing import DimensionParser

__all__ = ["Constraint", "SymbolicScope"]

_opposite = {">=": "<", ">": "<=", "<=": ">", "<": ">="}


@final
class Constraint:
    """A constraint of a scope.

    Attributes:
      text: the text of the user.
      comparison: ``==``, ``>=`` or ``<=``.
      left, right: its two sides, as written, without rewriting by other constraints.
      difference: the dimension that is 0 (for ``==``) or at least 0.
    """

    __slots__ = ("comparison", "difference", "left", "right", "text")

    def __init__(self, text: str, comparison: str, left: Size, right: Size):
        self.text: str = text
        self.comparison: str = comparison
        self.left: Size = left
        self.right: Size = right
        self.difference: Size = right - left if comparison == "<=" else left - right


@final
class SymbolicScope:
    """The variables of symbolic dimensions, and the constraints on their values.

    Dimensions of different scopes cannot be mixed. Each variable is at least 1, unless a constraint
    such as ``"b >= 0"`` says that it may be 0.

    Args:
      constraints_str: constraints: comparisons by ``>=``, ``<=`` or ``==`` of two dimensions.

    Raises:
      ValueError: if a constraint cannot be parsed, or cannot hold.

    Example:
      >>> from ricci import export
      >>> scope = export.SymbolicScope(["a >= 2*b"])
      >>> a, b = export.symbolic_shape("a, b", scope=scope)
      >>> bool(a > b)
      True
    """

    __slots__ = (
        "__weakref__",
        "_bounds",
        "_constraints",
        "_factors",
        "_interned",
        "_rules",
        "_source",
    )

    def __init__(self, constraints_str: Sequence[str] = ()):
        if isinstance(constraints_str, str) or not all(
            isinstance(text, str) for text in constraints_str
        ):
            raise ValueError(
                "SymbolicScope: the constraints must be a sequence of strings, such as "
                f"['a >= 2*b']; found {constraints_str!r}."
            )
        self._source = Source(*caller_source(2))
        self._factors: dict[Any, Factor] = {}
        self._interned: dict[Any, Size] = {}
        self._rules: dict[Monomial, tuple[int, Size]] = {}
        self._constraints: list[Constraint] = []
        self._bounds = Bounds()
        for text in constraints_str:
            self._add(text)
        for constraint in self._constraints:
            # Only contradictions that the bounds show are detected: the search for bounds is
            # incomplete.
            low, high = self._bounds.of(constraint.difference)
            if high < 0 or (constraint.comparison == "==" and low > 0):
                raise _unsatisfiable(constraint.text)
            if isinstance(constraint.difference, SymbolicDimension):
                for name in constraint.difference.variables():
                    least, most = self._bounds.factor(self.factor(name))
                    if least > most:
                        raise _unsatisfiable(constraint.text)

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints, in the order in which they were given."""
        return tuple(self._constraints)

    def __repr__(self) -> str:
        head = f"{id(self)} created at {self._source}"
        lines = [f"  {c.text}" for c in self._constraints]
        return "\n".join([f"{head} with constraints:", *lines]) if lines else head

    # Making dimensions

    def factor(self, name: str, *operands: Size) -> Factor:
        """The variable with this name, or the operation on these dimensions."""
        key = (name, *operands)
        factor = self._factors.get(key)
        if factor is None:
            factor = self._factors.setdefault(key, Factor(name, operands))
        return factor

    def variable(self, name: str) -> Size:
        """The dimension that is a variable alone."""
        return self.interned({((self.factor(name), 1),): 1})

    def interned(self, terms: dict[Monomial, int]) -> Size:
        """The dimension with these terms, or an int if it is constant."""
        if self._rules:
            terms = self._rewritten(terms)
        key = frozenset((m, c) for m, c in terms.items() if c)
        dimension = self._interned.get(key)
        if dimension is None:
            dimension = self._interned.setdefault(key, sum_of_terms(self, terms))
        return dimension

    def _rewritten(self, terms: dict[Monomial, int]) -> dict[Monomial, int]:
        """Replace the left sides of equalities in the terms by their right sides."""
        for _ in range(20):  # rules may be circular
            for monomial, c in terms.items():
                match = self._rule_for(monomial, c) if c else None
                if match is not None:
                    cofactor, factor, value = match
                    terms = {m: d for m, d in terms.items() if m != monomial}
                    for m, d in terms_of(value).items():
                        product: Any = times(cofactor, m)
                        terms[product] = terms.get(product, 0) + factor * d
                    break
            else:
                break
        return terms

    def _rule_for(self, monomial: Monomial, c: int) -> tuple[Monomial, int, Size] | None:
        for left, (coefficient, value) in self._rules.items():
            if c % coefficient == 0:
                cofactor = times(monomial, left, -1)
                if cofactor is not None:
                    return cofactor, c // coefficient, value
        return None

    # Constraints

    def _add(self, text: str) -> None:
        parser = DimensionParser(text, self, "constraint")
        left, comparison, right = parser.constraint()
        constraint = Constraint(text, comparison, left, right)
        if isinstance(constraint.difference, int):
            holds = constraint.difference == 0 if comparison == "==" else constraint.difference >= 0
            if not holds:
                raise _unsatisfiable(text)
            return
        terms = terms_of(constraint.difference)
        if comparison == "==":
            self._add_divisibility(left, right)
            self._constraints.append(constraint)
            sides = terms_of(left)
            if len(sides) == 1 and () not in sides:
                ((monomial, coefficient),) = sides.items()
                self._add_rule(monomial, coefficient, right)
            else:
                self._add_zero(terms)
        else:
            self._constraints.append(constraint)
            self._bounds.constraints.append(terms)
            self._allow_zero(terms)
        self._bounds.clear()

    def _add_rule(self, monomial: Monomial, coefficient: int, value: Size) -> None:
        if coefficient < 0:
            coefficient, value = -coefficient, -value
        self._rules[monomial] = coefficient, value
        # The normal form of these dimensions changes with the rule, so the earlier forms must not
        # be returned for them.
        rewritten = [k for k in self._interned if any(self._rule_for(m, c) for m, c in k)]
        for key in rewritten:
            del self._interned[key]
        if coefficient != 1:  # the rule does not apply to all multiples
            self._add_zero({**terms_of(-value), monomial: coefficient})
        for factor, _ in monomial:  # the factor's inequalities now apply to its replacement
            self._bounds.constraints += self._bounds.facts_of(factor)

    def _add_zero(self, terms: dict[Monomial, int]) -> None:
        # An equality is two inequalities.
        self._bounds.constraints += [terms, {m: -c for m, c in terms.items()}]

    def _add_divisibility(self, left: Size, right: Size) -> None:
        """Add ``2*floordiv(a, 2) == a``, given ``mod(a, 2) == 0``."""
        terms = terms_of(left)
        if right == 0 and len(terms) == 1:
            ((monomial, c),) = terms.items()
            if c == 1 and len(monomial) == 1 and monomial[0][1] == 1:
                factor = monomial[0][0]
                if factor.name == "mod" and isinstance(factor.operands[1], int):
                    x, n = factor.operands
                    quotient: Monomial = ((self.factor("floordiv", x, n), 1),)
                    text = f"{n}*{quotient[0][0]} == {x}"
                    if any(c.text == text for c in self._constraints):
                        return
                    whole = self.interned({quotient: n})
                    self._constraints.append(Constraint(text, "==", whole, x))
                    self._add_rule(quotient, n, x)

    def _allow_zero(self, terms: dict[Monomial, int]) -> None:
        # A constraint c*v + k >= 0 with c > 0 and k >= 0, such as v >= 0, restricts nothing if v is
        # at least 1. It is taken as permission for v to be 0.
        variables = [m for m in terms if m]
        if len(variables) == 1 and terms.get((), 0) >= 0 and terms[variables[0]] > 0:
            ((monomial),) = variables
            if len(monomial) == 1 and monomial[0][1] == 1 and not monomial[0][0].operands:
                self._bounds.may_be_zero.add(monomial[0][0].name)

    def least(self, name: str) -> int:
        """The least value of a variable, regardless of other constraints: 1, or 0 if allowed."""
        return 0 if name in self._bounds.may_be_zero else 1

    # Decisions

    def bounds(self, dimension: Size) -> tuple[float, float]:
        """The least and the greatest value of a dimension, infinite where there is none."""
        return self._bounds.of(dimension)

    def holds(self, comparison: str, left: Any, right: Any) -> bool:
        """Whether a comparison holds for all values of the variables.

        Raises:
          InconclusiveDimensionOperation: if it holds for some values and not for others, or if the
            search for bounds does not decide it.
        """
        if isinstance(right, float) and right != right // 1 or right in (inf, -inf):
            low, high = self.bounds(left)
            low, high = low - right, high - right
        else:
            right = int(right) if isinstance(right, float) else right
            low, high = self.bounds(left - right)
        if comparison in ("<", "<="):
            # The difference is negated, so that each comparison becomes one with 0 from above.
            low, high = -high, -low
        if comparison in (">=", "<="):
            result = True if low >= 0 else False if high < 0 else None
        else:
            result = True if low > 0 else False if high <= 0 else None
        if result is None:
            raise self._inconclusive(comparison, left, right)
        return result

    def _inconclusive(self, comparison: str, left: Any, right: Any) -> Exception:
        names = sorted((left - right).variables())
        constraints = [c.text for c in self._constraints]
        advice = (left, comparison, right)
        if comparison in ("<", ">"):
            advice = (left, f"{comparison}=", right - 1 if comparison == "<" else right + 1)
        positive = " ".join(map(str, advice))
        swapped = {">=": "<=", ">": "<=", "<=": ">=", "<": ">="}[comparison]
        negative_right = {">=": right - 1, ">": right, "<=": right + 1, "<": right}[comparison]
        return InconclusiveDimensionOperation(
            f"Symbolic dimension comparison '{left}' {comparison} '{right}' is inconclusive: the "
            f"answer depends on the values of {', '.join(names)}.\n"
            f"Known of them: each is at least "
            f"{0 if all(self.least(n) == 0 for n in names) else 1}"
            f"{''.join(f'; {text}' for text in constraints)}.\n"
            f"If one answer holds for all shapes that you need, add a constraint to the scope: "
            f'symbolic_shape(..., constraints=["{positive}"]), or "{left} {swapped} '
            f'{negative_right}".'
        )

    def check_same(self, other: SymbolicDimension, operation: str) -> None:
        """Raise ``ValueError`` if a dimension belongs to another scope."""
        if other.scope is not self:
            raise ValueError(
                f"Invalid mixing of symbolic scopes: an operand of {operation} is of scope {self}\n"
                f"and {other} is of scope {other.scope}.\n"
                "Make all dimensions of a function in one scope: symbolic_shape(..., scope=scope)."
            )

    # Operations

    def divided(self, left: Size, right: Size) -> tuple[Size, Size]:
        """The quotient, rounded down, and the remainder.

        Raises:
          ZeroDivisionError: if the divisor is 0.
        """
        if right == 0:
            raise ZeroDivisionError(f"symbolic dimension {left} is divided by 0")
        if isinstance(left, int) and isinstance(right, int):
            return divmod(left, right)
        division = self._polynomial_division(left, right)
        # ``a - mod(a, n)`` is divisible by n, which shows only when mod is written by floordiv.
        if division is None and isinstance(left, SymbolicDimension):
            division = self._polynomial_division(self._without_remainders(left), right)
        if division is None:
            floor = self._operation("floordiv", left, right)
            return floor, self._operation("mod", left, right)
        return division

    def _without_remainders(self, x: SymbolicDimension) -> Size:
        """Replace ``mod(y, n)`` in a dimension by ``y - n*floordiv(y, n)``."""
        result: Size = x
        for monomial, c in x.terms:
            factors = [f for f, power in monomial if f.name == "mod" and f.operands and power == 1]
            for factor in factors[:1]:
                y, n = factor.operands
                others: Any = times(monomial, ((factor, 1),), -1)
                whole = y - n * self._operation("floordiv", y, n)
                result = result + self.interned({others: c}) * (
                    whole - self.interned({((factor, 1),): 1})
                )
        return result

    def _polynomial_division(self, left: Size, right: Size) -> tuple[Size, Size] | None:
        """The quotient and the remainder by polynomial division, or None if it finds none.

        As on paper: the quotient of the leading terms is subtracted until none divides. The result
        is the integer division only if the remainder lies between 0 and the divisor.
        """
        quotient: Size = 0
        remainder: Size = left
        for _ in range(20):
            step = self._leading_quotient(remainder, right)
            if step is None:
                break
            quotient, remainder = quotient + step, remainder - step * right
        return (quotient, remainder) if self._is_remainder(remainder, right) else None

    def _is_remainder(self, remainder: Size, right: Size) -> bool:
        if isinstance(remainder, int) and remainder == 0:
            return True
        low, high = self.bounds(remainder)
        # The remainder of an integer division has the sign of the divisor, and is smaller in
        # magnitude: 0 <= r <= d - 1 for d > 0, and d + 1 <= r <= 0 for d < 0.
        if low >= 0:
            return self.bounds(right - 1 - remainder)[0] >= 0
        return high <= 0 and self.bounds(remainder - right - 1)[0] >= 0

    def _leading_quotient(self, left: Size, right: Size) -> Size | None:
        """The quotient of the leading terms, or None if they do not divide."""
        if isinstance(left, int) and isinstance(right, int):
            return left // right or None
        if left == 0 or isinstance(left, int):
            return None
        first = ((), right) if isinstance(right, int) else right.terms[0]
        for monomial, c in left.terms:
            part = times(monomial, first[0], -1)
            if part is not None and abs(c) >= abs(first[1]):
                if not part and not monomial:  # constants: round down
                    return c // first[1] or None
                if c % first[1] == 0:
                    return self.interned({part: c // first[1]})
            # A polynomial's leading term decides. An int divides any term of the dividend.
            if not isinstance(right, int):
                return None
        return None

    def _operation(self, name: str, left: Size, right: Size) -> Size:
        return self.interned({((self.factor(name, left, right), 1),): 1})

    def extreme(self, kind: str, left: Size, right: Size) -> Size:
        """The ``max`` or the ``min`` of two dimensions."""
        low, high = self.bounds(left - right)
        if low >= 0 or high <= 0:
            return left if (low >= 0) == (kind == "max") else right
        return self._operation(kind, left, right)


def _unsatisfiable(text: str) -> ValueError:
    return ValueError(
        f"SymbolicScope: the constraint {text!r} holds for no sizes. Variables are at least 1, and "
        'may be 0 with a constraint like "b >= 0".'
    )
