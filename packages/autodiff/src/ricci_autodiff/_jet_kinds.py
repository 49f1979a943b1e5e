"""The kind of rule ``jet``: the action of primitives on Taylor series.

A primitive without a ``jet`` rule gets one from its other rules (``jets._coefficient_rules``), so a
block gives ``jet=`` only if another kind is faster, or if the primitive has jaxprs as parameters.
"""

from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Any

import ricci_ir as ir

from ._tangent import Tangent

__all__ = ["JetRule", "JetRuleKind", "at_once", "by_derivative", "call_on_series", "composed"]
__all__ += ["constant_series", "given_terms", "jet_table", "linear_given", "quotient", "series_of"]
__all__ += ["solution", "square_rule", "term_flags"]

jet_table: ir.RuleTable = ir.rule_table("jet", required=False)


class JetRuleKind(Enum):
    """The kinds of recurrences from the operands' Taylor coefficients to the result's."""

    # A function maps the operands' coefficients of each order to the result's of that order.
    TERMWISE = auto()
    # The result is linear in all operands together: the primitive itself is that function.
    LINEAR = auto()
    # The result is linear in each of two operands: a sum of products.
    PRODUCT = auto()
    # The result is the product of the operand with itself, plus a constant; the rule has the
    # product.
    SQUARE = auto()
    # The result times the second operand is the first; the rule has the product.
    QUOTIENT = auto()
    # The first operand times the result is the second; the rule has the product.
    SOLUTION = auto()
    # All coefficients but the first are zero.
    CONSTANT = auto()
    # The rule has a function of other primitives that computes the same.
    COMPOSED = auto()
    # The jvp rule computes the derivative, as a function of the operands and of the result.
    BY_DERIVATIVE = auto()
    # The primitive calls a jaxpr; the coefficients are computed by another jaxpr.
    PROGRAM = auto()
    # A function computes all coefficients at once, as for primitives with several jaxprs.
    AT_ONCE = auto()


class JetRule(ir.TupleRecord):
    """A rule of kind ``jet``: the kind of its recurrence, and the function for that, if any."""

    kind: JetRuleKind
    function: Callable[..., Any] | None = None


def linear_given(term: Callable[..., Tangent], *, tangent_first: bool = False) -> dict[str, Any]:
    """Make the ``jvp`` and ``jet`` rules of an operation linear in its differentiable operands.

    An example is ``gather`` for fixed indices. One function maps the tangents, and the Taylor
    coefficients of each order, to those of the result.

    Args:
      term: ``term(result, primals, tangents, **params)`` returns the tangent of the result. Not all
        of the tangents are ``Zero``.
      tangent_first: whether jaxprs have the operation on tangents before that on primals; ``term``
        is then called with ``None`` as the result.
    """

    def make_jvp(primitive: ir.Primitive) -> Callable[..., Any]:
        def jvp(
            primals: Sequence[ir.ArrayLike], tangents: Sequence[Tangent], **params: Any
        ) -> tuple[Any, Tangent]:
            if tangent_first:
                tangent = term(None, primals, tangents, **params)
                return primitive.bind(*primals, **params), tangent
            result = primitive.bind(*primals, **params)
            return result, term(result, primals, tangents, **params)

        return jvp

    return {"jvp": ir.derived(make_jvp), "jet": JetRule(JetRuleKind.TERMWISE, term)}


def quotient(product: Callable[..., Any]) -> JetRule:
    """Make the rule of a quotient: ``product(result, divisor)`` is the dividend.

    The primitive must be linear in the dividend.

    Args:
      product: ``product(result, divisor, **params)`` multiplies a term of each.

    Returns:
      The rule, for ``define(..., jet=...)``.

    Example:
      >>> from ricci_autodiff import quotient
      >>> quotient(lambda result, divisor: result * divisor).kind.name
      'QUOTIENT'
    """
    return JetRule(JetRuleKind.QUOTIENT, product)


def solution(product: Callable[..., Any]) -> JetRule:
    """Make the rule of a linear solve: ``product(matrix, result)`` is the right-hand side.

    The operands are the matrix and the right-hand side, in which the primitive must be linear.

    Args:
      product: ``product(term, result, **params)`` multiplies a term of the matrix, beyond the
        first, with a term of the result. It ignores elements that the primitive ignores.

    Returns:
      The rule, for ``define(..., jet=...)``.

    Example:
      >>> from ricci_autodiff import solution
      >>> solution(lambda term, result: term @ result).kind.name
      'SOLUTION'
    """
    return JetRule(JetRuleKind.SOLUTION, product)


def square_rule(product: Callable[..., Any]) -> JetRule:
    """Make the rule of a square plus a constant; ``product(x, y)`` must be symmetric."""
    return JetRule(JetRuleKind.SQUARE, product)


def composed(function: Callable[..., Any]) -> JetRule:
    """Make the rule of a composition of primitives: ``function(*operands, **params)``."""
    return JetRule(JetRuleKind.COMPOSED, function)


def at_once(rule: Callable[..., Any]) -> JetRule:
    """Make a rule that computes all coefficients at once.

    Args:
      rule: ``rule(push, primals, series, **params)`` returns the results and their series.
        ``push(jaxpr, flags, returned)`` gives a jaxpr on coefficients: see ``jets.jet_jaxpr``.
    """
    return JetRule(JetRuleKind.AT_ONCE, rule)


constant_series: JetRule = JetRule(JetRuleKind.CONSTANT)
by_derivative: JetRule = JetRule(JetRuleKind.BY_DERIVATIVE)


# In ``at_once`` rules, a series is a list of coefficients from order 1 on; ``None`` is a zero. The
# jaxprs that they bind take and return the nonzero coefficients, those of the first operand or
# result first.

type Flags = tuple[bool, ...]


def term_flags(series: Sequence[Sequence[Any]]) -> tuple[Flags, ...]:
    """Return, for each series, which coefficients are nonzero."""
    return tuple(tuple(term is not None for term in terms) for terms in series)


def given_terms(series: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the nonzero coefficients, in order."""
    return [term for terms in series for term in terms if term is not None]


def call_on_series(
    bind: Callable[..., Sequence[Any]],
    push: Callable[..., tuple[ir.Jaxpr, list[Flags]]],
    primals: Sequence[Any],
    series: Sequence[Sequence[Any]],
    jaxpr: ir.Jaxpr,
) -> tuple[list[Any], list[list[Any]]]:
    """Apply a call of one jaxpr to series, for an ``at_once`` rule.

    Args:
      bind: ``bind(*operands, jaxpr=...)`` calls a jaxpr.
      push, primals, series: the arguments of the rule.
      jaxpr: the jaxpr.
    """
    pushed, flags = push(jaxpr, term_flags(series))
    outs = bind(*primals, *given_terms(series), jaxpr=pushed)
    return list(outs[: len(flags)]), series_of(flags, outs[len(flags) :])


def series_of(flags: Sequence[Sequence[bool]], values: Sequence[Any]) -> list[list[Any]]:
    """Return the series whose nonzero coefficients are ``values``, in order."""
    remaining = iter(values)
    return [[next(remaining) if flag else None for flag in row] for row in flags]
