"""How the coefficients of an operation's results follow from those of its operands.

Each of the ways that a ``jet`` rule can name is a function here. A primitive without such a rule
takes the way that its jvp rule shows: one that ``linear`` or ``bilinear`` has made is known to be
so. Any other jvp rule is itself the way: the derivative of the result with respect to the series'
variable is the rule, applied to the series of the operands and to those of their derivatives. Its
coefficient of order ``k - 1``, divided by ``k``, is the result's coefficient of order ``k``. So the
jvp rule of ``exp``, the tangent times the result, is the recurrence that books give for ``exp``,
and every primitive that has a derivative has all derivatives.
"""

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

from ricci_autodiff._jet_kinds import (
    JetRule,
    JetWay,
    by_derivative,
    call_on_series,
    constant_series,
    jet_table,
)
from ricci_autodiff._rules import Algebra, algebra_of, jvp_rules
from ricci_autodiff._tangent import Tangent, Zero, instantiate, vector_space
from ricci_ir import (
    ArrayLike,
    Primitive,
    eval_jaxpr,
    program_rules,
    staged_call,
)

from ._series import CircularSeries, Coefficient, Expansion, JetTracer, SeriesTrace

_linear = JetRule(JetWay.LINEAR)
_of_program = JetRule(JetWay.PROGRAM)
_by_algebra: dict[Algebra, JetRule] = {
    Algebra.LINEAR: _linear,
    Algebra.BILINEAR: JetRule(JetWay.PRODUCT),
    Algebra.CONSTANT: constant_series,
}


def rule_of(primitive: Primitive) -> JetRule:
    """The way of a primitive: what its block says, or what follows from its other rules.

    Raises:
      NotImplementedError: if it has neither a rule nor a derivative.
    """
    rule = jet_table.get(primitive)
    if rule is not None:
        return rule
    if primitive in program_rules:
        return _of_program
    if primitive not in jvp_rules:
        raise NotImplementedError(
            f"primitive {primitive.name!r} has no jet rule, and no jvp rule from which to derive "
            "one: pass jvp=... or jet=... where it is defined"
        )
    algebra = algebra_of.get(jvp_rules[primitive])
    return by_derivative if algebra is None else _by_algebra[algebra]


def expand(
    trace: SeriesTrace, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
) -> list[Any]:
    """Apply a primitive to series, in the trace's parent, which is the current trace.

    Returns:
      The results as tracers, some of whose coefficients may not be known yet; as values where they
      are constant or discrete.
    """
    rule = trace.rules.get(primitive) or rule_of(primitive)
    return _ways[rule.way](trace, primitive, args, params, rule.function)


def _values(
    trace: SeriesTrace, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
) -> list[Any]:
    """The results at the point of expansion."""
    result = primitive.bind(*map(trace.primal, args), **params)
    return list(result) if primitive.multiple_results else [result]


def _row(primitive: Primitive, result: Any) -> list[Coefficient]:
    """Coefficients from tangents, one or several."""
    row = result if primitive.multiple_results else [result]
    return [None if type(t) is Zero else t for t in row]


def add(terms: Sequence[Coefficient]) -> Coefficient:
    """The sum of coefficients."""
    given = [t for t in terms if t is not None]
    return reduce(vector_space.add, given) if given else None


def scale(x: Coefficient, factor: float) -> Coefficient:
    """A coefficient times a number."""
    return x if x is None or factor == 1 else vector_space.scale(x, factor)


def _constant(trace, primitive, args, params, function) -> list[Any]:
    return _values(trace, primitive, args, params)


def _termwise(trace, primitive, args, params, term) -> list[Any]:
    primals = list(map(trace.primal, args))
    values = _values(trace, primitive, args, params)
    result = values if primitive.multiple_results else values[0]

    def rest(k: int) -> list[Coefficient]:
        found = [trace.coefficient(x, k) for x in args]
        if all(c is None for c in found):
            return [None] * len(values)
        terms = [
            Zero.from_primal(x) if c is None else c for c, x in zip(found, primals, strict=True)
        ]
        return _row(primitive, term(result, primals, terms, **params))

    return trace.results(values, rest)


def _linear_way(trace, primitive, args, params, function) -> list[Any]:
    def term(result: Any, primals: Any, terms: Sequence[Tangent], **params: Any) -> Any:
        return primitive.bind(*map(instantiate, terms), **params)

    return _termwise(trace, primitive, args, params, term)


def _products(
    trace: SeriesTrace, product: Callable[..., ArrayLike], x: Any, y: Any, k: int, start: int = 0
) -> Coefficient:
    """Coefficient ``k`` of a product, without the terms of ``y`` of order below ``start``."""
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

    def rest(k: int) -> list[Coefficient]:
        pairs = _products(trace, product, x, x, k, start=k // 2 + 1)
        middle = None if k % 2 else trace.coefficient(x, k // 2)
        return [add([scale(pairs, 2), None if middle is None else product(middle, middle)])]

    return trace.results(_values(trace, primitive, args, params), rest)


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
    """The result ``z`` with ``product(z, y) = x``, where ``divide(x, y)`` gives the first term."""
    divisor = trace.primal(y)

    def rest(k: int) -> list[Coefficient]:
        # Of the product, the term with the coefficient wanted stays, and the others change sides.
        known = _products(trace, product, result, y, k, start=1)
        dividend = trace.coefficient(x, k)
        if known is not None:
            dividend = add([dividend, scale(known, -1)])
        return [None if dividend is None else divide(dividend, divisor)]

    (result,) = trace.results([divide(trace.primal(x), divisor)], rest)
    return [result]


def _composed(trace, primitive, args, params, function) -> list[Any]:
    result = trace.run(function, *args, **params)
    return list(result) if primitive.multiple_results else [result]


def _by_derivative(trace, primitive, args, params, function) -> list[Any]:
    key = _key(primitive, args, params)
    if key is not None and key in trace.made:
        return trace.made[key][0]
    values = _values(trace, primitive, args, params)
    rates: list[Any] = []

    def rest(k: int) -> list[Coefficient]:
        if not rates:
            rates.extend(rates_of(trace, function or jvp_rules[primitive], args, params))
        return [scale(rate_term(trace, r, k - 1), 1 / k) for r in rates]

    results = trace.results(values, rest)
    if key is not None:
        trace.made[key] = results, args  # the key holds the identity of operands, so these are kept
    return results


def _key(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """What tells an operation on given operands; ``None`` if its parameters cannot be hashed."""
    key = (primitive, tuple(map(id, args)), tuple(params.items()))
    try:
        hash(key)
    except TypeError:
        return None
    return key


def rates_of(
    trace: SeriesTrace, jvp: Callable[..., Any], args: Sequence[Any], params: dict[str, Any]
) -> list[Any]:
    """The derivatives of an operation's results by the series' variable, one order shorter."""
    # A rule needs another rule's result only for what is of lower order. One that asks for more
    # would go on for ever: a loop in it, say, needs all coefficients of its operands.
    if trace.depth == trace.order:
        raise CircularSeries
    trace.depth += 1
    try:
        tangents = [_rate(trace, x) for x in args]
        results, found = trace.run(jvp, list(args), tangents, **params)
    finally:
        trace.depth -= 1
    return list(found) if isinstance(results, tuple | list) else [found]


def _rate(trace: SeriesTrace, x: Any) -> Any:
    """The derivative of an operand by the series' variable."""
    if not trace.has(x):
        return Zero.from_primal(x)
    key = ("rate", id(x))
    if key in trace.made:
        return trace.made[key][0]
    first = x.coefficient(1)
    if first is None:
        first = instantiate(Zero.from_primal(x))
    rest = lambda k: [scale(x.coefficient(k + 1), k + 1)]
    rate = JetTracer(trace, first, Expansion([[first]], rest), 0)
    trace.made[key] = rate, x
    return rate


def rate_term(trace: SeriesTrace, rate: Any, k: int) -> Coefficient:
    """The coefficient of order ``k`` of a derivative, which may be ``Zero``."""
    return None if type(rate) is Zero else trace.coefficient(rate, k)


def _at_once(trace, primitive, args, params, rule) -> list[Any]:
    primals = list(map(trace.primal, args))
    values, series = rule(trace.push, primals, list(map(trace.terms, args)), **params)
    return [trace.series(x, terms) for x, terms in zip(values, series, strict=True)]


def _program(trace, primitive, args, params, function) -> list[Any]:
    """A primitive that stands for a program: that of the coefficients, as one step."""
    jaxpr, name = program_rules[primitive](**params)
    if trace.lazy:
        return trace.run(eval_jaxpr, jaxpr, jaxpr.consts, *args)
    call = partial(call_on_series, partial(staged_call.call.bind, name=name))
    return _at_once(trace, primitive, args, {"jaxpr": jaxpr}, call)


_ways: dict[JetWay, Callable[..., list[Any]]] = {
    JetWay.TERMWISE: _termwise,
    JetWay.LINEAR: _linear_way,
    JetWay.PRODUCT: _product,
    JetWay.SQUARE: _square,
    JetWay.QUOTIENT: _quotient,
    JetWay.SOLUTION: _solution,
    JetWay.CONSTANT: _constant,
    JetWay.COMPOSED: _composed,
    JetWay.BY_DERIVATIVE: _by_derivative,
    JetWay.AT_ONCE: _at_once,
    JetWay.PROGRAM: _program,
}
