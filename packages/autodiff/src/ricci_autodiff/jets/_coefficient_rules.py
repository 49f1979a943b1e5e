"""Rules that map the operands' Taylor coefficients to the result's.

There is one function for each ``JetRuleKind``. A primitive without a ``jet`` rule gets one from its
jvp rule: a rule that ``linear`` or ``bilinear`` made shows the kind. Any other jvp rule is itself a
recurrence: the derivative of the result with respect to the series' variable is the rule, applied
to the series of the operands and to those of their derivatives. Its coefficient of order ``k - 1``,
divided by ``k``, is the result's coefficient of order ``k``. So the jvp rule of ``exp``, the
tangent times the result, is the textbook recurrence for ``exp``, and every primitive that has a
derivative has all derivatives.
"""

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

from ricci_autodiff import _jet_kinds as jet_kinds
from ricci_autodiff._rules import Algebra, algebra_of, jvp_rules
from ricci_autodiff._tangent import Tangent, Zero, instantiate, scaled_tangent, tangent_sum
from ricci_ir import ArrayLike, Primitive, eval_jaxpr, program_rules, staged_call

from ._series import CircularSeries, Coefficient, Expansion, JetTracer, SeriesTrace

__all__ = ["rule_of"]

_linear = jet_kinds.JetRule(jet_kinds.JetRuleKind.LINEAR)
_of_jaxpr_call = jet_kinds.JetRule(jet_kinds.JetRuleKind.PROGRAM)
_by_algebra: dict[Algebra, jet_kinds.JetRule] = {
    Algebra.LINEAR: _linear,
    Algebra.BILINEAR: jet_kinds.JetRule(jet_kinds.JetRuleKind.PRODUCT),
    Algebra.CONSTANT: jet_kinds.constant_series,
}


def rule_of(primitive: Primitive) -> jet_kinds.JetRule:
    """Return the ``jet`` rule of a primitive: the rule in its block, or one from its other rules.

    Raises:
      NotImplementedError: if it has neither a rule nor a derivative.
    """
    rule = jet_kinds.jet_table.get(primitive)
    if rule is not None:
        return rule
    if primitive in program_rules:
        return _of_jaxpr_call
    if primitive not in jvp_rules:
        raise NotImplementedError(
            f"primitive {primitive.name!r} has no jet rule, and no jvp rule from which to derive "
            "one: pass jvp=... or jet=... where it is defined"
        )
    algebra = algebra_of.get(jvp_rules[primitive])
    return jet_kinds.by_derivative if algebra is None else _by_algebra[algebra]


def expand(
    trace: SeriesTrace, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
) -> list[Any]:
    """Apply a primitive to series, in the trace's parent, which is the current trace.

    Returns:
      The results: tracers, some of whose coefficients may not be computed yet, or values if they
      are constant or discrete.
    """
    # Rules that the caller passed override those of the primitive.
    rule = trace.rules.get(primitive) or rule_of(primitive)
    return _expansions[rule.kind](trace, primitive, args, params, rule.function)


def _values(
    trace: SeriesTrace, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
) -> list[Any]:
    """Return the results at the point of expansion."""
    result = primitive.bind(*map(trace.primal, args), **params)
    return list(result) if primitive.multiple_results else [result]


def _row(primitive: Primitive, result: Any) -> list[Coefficient]:
    """Convert tangents, one or several, to coefficients."""
    row = result if primitive.multiple_results else [result]
    return [None if type(t) is Zero else t for t in row]


def add(terms: Sequence[Coefficient]) -> Coefficient:
    """Return the sum of coefficients."""
    nonzeros = [t for t in terms if t is not None]
    return reduce(tangent_sum.call, nonzeros) if nonzeros else None


def scale(x: Coefficient, factor: float) -> Coefficient:
    """Multiply a coefficient by a number."""
    return x if x is None or factor == 1 else scaled_tangent.call(x, factor)


def _constant(trace, primitive, args, params, function) -> list[Any]:
    return _values(trace, primitive, args, params)


def _termwise(trace, primitive, args, params, term) -> list[Any]:
    primals = list(map(trace.primal, args))
    values = _values(trace, primitive, args, params)
    result = values if primitive.multiple_results else values[0]

    def row(k: int) -> list[Coefficient]:
        coefficients = [trace.coefficient(x, k) for x in args]
        if all(c is None for c in coefficients):
            return [None] * len(values)
        terms = [
            Zero.from_primal(x) if c is None else c
            for c, x in zip(coefficients, primals, strict=True)
        ]
        return _row(primitive, term(result, primals, terms, **params))

    return trace.results(values, row)


def _linear_termwise(trace, primitive, args, params, function) -> list[Any]:
    def term(result: object, primals: object, terms: Sequence[Tangent], **params: object) -> Any:
        return primitive.bind(*map(instantiate, terms), **params)

    return _termwise(trace, primitive, args, params, term)


# Cauchy product: coefficient k of x * y is the sum of x_(k-i) * y_i over i from 0 to k.
def _products(
    trace: SeriesTrace, product: Callable[..., ArrayLike], x: Any, y: Any, k: int, start: int = 0
) -> Coefficient:
    """Return coefficient ``k`` of a product, without the terms of ``y`` below order ``start``."""
    terms: list[Coefficient] = []
    for i in range(start, k + 1):
        right = trace.coefficient(y, i)
        left = None if right is None else trace.coefficient(x, k - i)
        terms.append(None if left is None or right is None else product(left, right))
    return add(terms)


def _product(trace, primitive, args, params, function) -> list[Any]:
    x, y = args
    bind = lambda left, right: primitive.bind(left, right, **params)
    values = _values(trace, primitive, args, params)
    return trace.results(values, lambda k: [_products(trace, bind, x, y, k)])


def _square(trace, primitive, args, params, product) -> list[Any]:
    (x,) = args

    def row(k: int) -> list[Coefficient]:
        # The terms (i, k - i) and (k - i, i) are equal, so half of them are computed and doubled.
        pairs = _products(trace, product, x, x, k, start=k // 2 + 1)
        middle = None if k % 2 else trace.coefficient(x, k // 2)
        return [add([scale(pairs, 2), None if middle is None else product(middle, middle)])]

    return trace.results(_values(trace, primitive, args, params), row)


def _quotient(trace, primitive, args, params, product) -> list[Any]:
    multiply = lambda result, divisor: product(result, divisor, **params)
    bind = lambda dividend, divisor: primitive.bind(dividend, divisor, **params)
    return _inverted(trace, bind, multiply, *args)


def _solution(trace, primitive, args, params, product) -> list[Any]:
    multiply = lambda result, matrix: product(matrix, result, **params)
    bind = lambda side, matrix: primitive.bind(matrix, side, **params)
    matrix, side = args
    return _inverted(trace, bind, multiply, side, matrix)


def _inverted(
    trace: SeriesTrace,
    divide: Callable[..., ArrayLike],
    product: Callable[..., ArrayLike],
    x: ArrayLike,
    y: ArrayLike,
) -> list[Any]:
    """Return ``z`` with ``product(z, y) = x``; ``divide(x, y)`` computes its first term."""
    divisor = trace.primal(y)

    def row(k: int) -> list[Coefficient]:
        # Order k of product(z, y) = x, solved for z_k: divide x_k minus the terms of lower orders
        # of z.
        lower = _products(trace, product, result, y, k, start=1)
        dividend = trace.coefficient(x, k)
        if lower is not None:
            dividend = add([dividend, scale(lower, -1)])
        return [None if dividend is None else divide(dividend, divisor)]

    (result,) = trace.results([divide(trace.primal(x), divisor)], row)
    return [result]


def _composed(trace, primitive, args, params, function) -> list[Any]:
    result = trace.run(function, *args, **params)
    return list(result) if primitive.multiple_results else [result]


def _by_derivative(trace, primitive, args, params, function) -> list[Any]:
    # A jvp rule may bind the operation itself, as that of ``exp`` does for the factor of the
    # tangent. It then gets the series under construction: a recurrence instead of an infinite
    # recursion.
    key = _key(primitive, args, params)
    if key is not None and key in trace.memo:
        return trace.memo[key][0]
    values = _values(trace, primitive, args, params)
    rates: list[Any] = []

    def row(k: int) -> list[Coefficient]:
        if not rates:
            rates.extend(rates_of(trace, function or jvp_rules[primitive], args, params))
        # z' has the coefficients (k + 1) z_(k+1), so z_k is coefficient k - 1 of z' over k.
        return [scale(rate_term(trace, r, k - 1), 1 / k) for r in rates]

    results = trace.results(values, row)
    if key is not None:
        trace.memo[key] = results, args  # the key has the operands' ids, so these must stay alive
    return results


def _key(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Return the key of an operation on these operands; ``None`` if it cannot be hashed."""
    key = (primitive, tuple(map(id, args)), tuple(params.items()))
    try:
        hash(key)
    except TypeError:
        return None
    return key


def rates_of(
    trace: SeriesTrace, jvp: Callable[..., Any], args: Sequence[Any], params: dict[str, Any]
) -> list[Any]:
    """Differentiate an operation's results by the series' variable; one order shorter."""
    # A rule reads only coefficients of lower order of another rule's result. One that reads more,
    # such as a rule with a loop, which needs all coefficients of its operands, would never end.
    if trace.depth == trace.order:
        raise CircularSeries
    trace.depth += 1
    try:
        tangents = [_rate(trace, x) for x in args]
        results, rates = trace.run(jvp, list(args), tangents, **params)
    finally:
        trace.depth -= 1
    return list(rates) if isinstance(results, tuple | list) else [rates]


def _rate(trace: SeriesTrace, x: Any) -> Any:
    """Return the derivative of an operand by the series' variable."""
    if not trace.has(x):
        return Zero.from_primal(x)
    key = ("rate", id(x))
    if key in trace.memo:
        return trace.memo[key][0]
    # The derivative of sum(x_k t**k) is sum((k + 1) x_(k+1) t**k).
    first = x.coefficient(1)
    if first is None:
        first = instantiate(Zero.from_primal(x))
    row = lambda k: [scale(x.coefficient(k + 1), k + 1)]
    rate = JetTracer(trace, first, Expansion([[first]], row), 0)
    trace.memo[key] = rate, x
    return rate


def rate_term(trace: SeriesTrace, rate: Any, k: int) -> Coefficient:
    """Return the coefficient of order ``k`` of a derivative, which may be ``Zero``."""
    return None if type(rate) is Zero else trace.coefficient(rate, k)


def _at_once(trace, primitive, args, params, rule) -> list[Any]:
    primals = list(map(trace.primal, args))
    values, series = rule(trace.push, primals, list(map(trace.terms, args)), **params)
    return [trace.series(x, terms) for x, terms in zip(values, series, strict=True)]


def _program(trace, primitive, args, params, function) -> list[Any]:
    """Apply a primitive that calls a jaxpr, by one call of the jaxpr of the coefficients."""
    jaxpr, name = program_rules[primitive](**params)
    # A rule runs lazily, so that a coefficient may depend on lower ones of the same result. A call
    # of a jaxpr would need all of them at once; its equations are evaluated one by one instead.
    if trace.lazy:
        return trace.run(eval_jaxpr, jaxpr, jaxpr.consts, *args)
    call = partial(jet_kinds.call_on_series, partial(staged_call.call.bind, name=name))
    return _at_once(trace, primitive, args, {"jaxpr": jaxpr}, call)


_expansions: dict[jet_kinds.JetRuleKind, Callable[..., list[Any]]] = {
    jet_kinds.JetRuleKind.TERMWISE: _termwise,
    jet_kinds.JetRuleKind.LINEAR: _linear_termwise,
    jet_kinds.JetRuleKind.PRODUCT: _product,
    jet_kinds.JetRuleKind.SQUARE: _square,
    jet_kinds.JetRuleKind.QUOTIENT: _quotient,
    jet_kinds.JetRuleKind.SOLUTION: _solution,
    jet_kinds.JetRuleKind.CONSTANT: _constant,
    jet_kinds.JetRuleKind.COMPOSED: _composed,
    jet_kinds.JetRuleKind.BY_DERIVATIVE: _by_derivative,
    jet_kinds.JetRuleKind.AT_ONCE: _at_once,
    jet_kinds.JetRuleKind.PROGRAM: _program,
}
