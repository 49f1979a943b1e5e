"""How primitives act on Taylor series: the kind of rule ``jet``, by which blocks say it.

A primitive that says nothing gets its way from its other rules (``jets._ways``), so a block gives
``jet=`` where another way is quicker, or where the primitive holds programs.
"""

from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Any

from ricci_ir import ArrayLike, Jaxpr, Primitive, RuleTable, TupleRecord, derived, rule_table

from ._tangent import Tangent, Zero

jet_table: RuleTable = rule_table("jet", required=False)


class JetWay(Enum):
    """The ways in which the coefficients of results follow from those of operands."""

    # Each from the operands' coefficients of the same order alone, by a function.
    TERMWISE = auto()
    # The result is linear in all operands together: the primitive itself is that function.
    LINEAR = auto()
    # The result is linear in each of two operands: a sum of products.
    PRODUCT = auto()
    # The result is the operand's square, by a product that is given, but for a constant.
    SQUARE = auto()
    # The result times the second operand is the first, by a product that is given.
    QUOTIENT = auto()
    # The first operand times the result is the second, by a product that is given.
    SOLUTION = auto()
    # All coefficients but the first are zero.
    CONSTANT = auto()
    # The primitive is what a function of other primitives computes.
    COMPOSED = auto()
    # The jvp rule gives the derivative, as a function of the operands and of the result.
    BY_DERIVATIVE = auto()
    # The primitive stands for a program, whose series is a program, too.
    PROGRAM = auto()
    # A function computes all coefficients at once, as where the primitive holds several programs.
    AT_ONCE = auto()


class JetRule(TupleRecord):
    """A rule of kind ``jet``: one of the ways, and the function that it needs, if any."""

    way: JetWay
    function: Callable[..., Any] | None = None


def linear_given(term: Callable[..., Tangent], *, tangent_first: bool = False) -> dict[str, Any]:
    """The ``jvp`` and ``jet`` rules of an operation that is linear in what has tangents.

    So is ``gather``, given the indices. Its derivative and all Taylor coefficients are one function
    of those of the operands.

    Args:
      term: ``term(result, primals, tangents, **params)`` returns the tangent of the result. Not all
        of the tangents are ``Zero``.
      tangent_first: whether programs have the operation on tangents before that on primals; the
        result is not known to ``term`` then.
    """

    def make_jvp(primitive: Primitive) -> Callable[..., Any]:
        def jvp(
            primals: Sequence[ArrayLike], tangents: Sequence[Tangent], **params: Any
        ) -> tuple[Any, Tangent]:
            if all(type(t) is Zero for t in tangents):
                result = primitive.bind(*primals, **params)
                return result, Zero.from_primal(result)
            if tangent_first:
                tangent = term(None, primals, tangents, **params)
                return primitive.bind(*primals, **params), tangent
            result = primitive.bind(*primals, **params)
            return result, term(result, primals, tangents, **params)

        return jvp

    return {"jvp": derived(make_jvp), "jet": JetRule(JetWay.TERMWISE, term)}


def quotient(product: Callable[..., Any]) -> JetRule:
    """A rule for a quotient: ``product(result, divisor)`` is the dividend.

    The primitive must be linear in the dividend.

    Args:
      product: ``product(result, divisor, **params)`` multiplies a term of each.

    Returns:
      The rule, for ``define(..., jet=...)``.

    Example:
      >>> from ricci_autodiff import quotient
      >>> quotient(lambda result, divisor: result * divisor).way.name
      'QUOTIENT'
    """
    return JetRule(JetWay.QUOTIENT, product)


def solution(product: Callable[..., Any]) -> JetRule:
    """A rule for the solution of a linear system: ``product(matrix, result)`` is the other side.

    The operands are the matrix and the other side, in which the primitive must be linear.

    Args:
      product: ``product(term, result, **params)`` multiplies a term of the matrix, beyond the
        first, with a term of the result. It takes as zero what the primitive does not look at.

    Returns:
      The rule, for ``define(..., jet=...)``.

    Example:
      >>> from ricci_autodiff import solution
      >>> solution(lambda term, result: term @ result).way.name
      'SOLUTION'
    """
    return JetRule(JetWay.SOLUTION, product)


def square_rule(product: Callable[..., Any]) -> JetRule:
    """A rule for a square plus a constant; ``product(x, y)`` must not depend on the order."""
    return JetRule(JetWay.SQUARE, product)


def composed(function: Callable[..., Any]) -> JetRule:
    """A rule for what is made of other primitives: ``function(*operands, **params)``."""
    return JetRule(JetWay.COMPOSED, function)


def at_once(rule: Callable[..., Any]) -> JetRule:
    """A rule that computes all coefficients at once.

    Args:
      rule: ``rule(push, primals, series, **params)`` returns the results and their series.
        ``push(jaxpr, flags, wanted)`` gives a program on coefficients: see ``jets.jet_jaxpr``.
    """
    return JetRule(JetWay.AT_ONCE, rule)


constant_series: JetRule = JetRule(JetWay.CONSTANT)
by_derivative: JetRule = JetRule(JetWay.BY_DERIVATIVE)


# A series as ``at_once`` rules have it is a list of coefficients from order 1 on, where ``None``
# stands for zero. The programs that they bind take and return the other coefficients, those of the
# first operand or result first.

type Flags = tuple[bool, ...]


def term_flags(series: Sequence[Sequence[Any]]) -> tuple[Flags, ...]:
    """For each series, which coefficients are given."""
    return tuple(tuple(term is not None for term in terms) for terms in series)


def given_terms(series: Sequence[Sequence[Any]]) -> list[Any]:
    """The coefficients that are given, in order."""
    return [term for terms in series for term in terms if term is not None]


def call_on_series(
    bind: Callable[..., Sequence[Any]],
    push: Callable[..., tuple[Jaxpr, list[Flags]]],
    primals: Sequence[Any],
    series: Sequence[Sequence[Any]],
    jaxpr: Jaxpr,
) -> tuple[list[Any], list[list[Any]]]:
    """The ``at_once`` rule of a call of one program.

    Args:
      bind: ``bind(*operands, jaxpr=...)`` calls a program.
      push, primals, series: what the rule is given.
      jaxpr: the program.
    """
    pushed, flags = push(jaxpr, term_flags(series))
    outs = bind(*primals, *given_terms(series), jaxpr=pushed)
    return list(outs[: len(flags)]), series_of(flags, outs[len(flags) :])


def series_of(flags: Sequence[Sequence[bool]], values: Sequence[Any]) -> list[list[Any]]:
    """The series whose given coefficients are ``values``, in order."""
    rest = iter(values)
    return [[next(rest) if flag else None for flag in row] for row in flags]
