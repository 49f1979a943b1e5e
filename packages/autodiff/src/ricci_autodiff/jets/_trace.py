"""The trace that applies operations to truncated power series, and jets of jaxprs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ricci_ir as ir
from ricci_autodiff._jet_kinds import JetRule, given_terms, series_of, term_flags
from ricci_autodiff._rules import jvp_rules
from ricci_autodiff._tangent import Zero, instantiate, tangent_aval

from ._coefficient_rules import expand, scale
from ._series import CircularSeries, Coefficient, SeriesTrace, no_rules

__all__ = ["JetTrace", "jet_flat", "jet_jaxpr"]


class JetTrace(SeriesTrace):
    """A trace that computes operations on power series, in the parent trace."""

    __slots__ = ()

    def process(
        self, primitive: ir.Primitive, args: tuple[ir.ArrayLike, ...], params: dict[str, Any]
    ) -> Any:
        """Apply a primitive to series, unless no operand is a series."""
        if not any(map(self.has, args)):
            return self.parent.process(primitive, args, params)
        previous = ir.context.trace
        ir.context.trace = self.parent
        try:
            # Operations of the function are expanded fully at once, so that ``memo`` holds the
            # operations of one rule only, and the chain of unevaluated coefficients stays short.
            run = expand if self.lazy else _complete
            results = run(self, primitive, args, params)
        finally:
            ir.context.trace = previous
        return results if primitive.multiple_results else results[0]

    def push(
        self,
        jaxpr: ir.Jaxpr,
        flags: Sequence[Sequence[bool]],
        returned: Sequence[Sequence[bool]] | None = None,
    ) -> tuple[ir.Jaxpr, list[tuple[bool, ...]]]:
        """Return the jaxpr that computes the series of a jaxpr's results: see ``jet_jaxpr``."""
        return jet_jaxpr(jaxpr, self.order, flags, returned)


def _complete(
    trace: JetTrace, primitive: ir.Primitive, args: Sequence[Any], params: dict[str, Any]
) -> list[Any]:
    """Return the results of an operation with all their coefficients."""
    try:
        return [trace.completed(x) for x in expand(trace, primitive, args, params)]
    except CircularSeries:
        return _by_lower_orders(trace, primitive, args, params)
    finally:
        trace.memo = {}


def _by_lower_orders(
    trace: JetTrace, primitive: ir.Primitive, args: Sequence[Any], params: dict[str, Any]
) -> list[Any]:
    """Return the results of an operation whose jvp rule needs the whole series of the result.

    An example is a rule that passes the result to a loop. The rule is applied to series that are
    one order shorter, which gives the derivative and, once more, the result.
    """
    order = trace.order - 1
    inner = JetTrace(trace.parent, order, trace.rules)
    primals, tangents = [], []
    for x in args:
        primal, terms = trace.primal(x), trace.terms(x)
        primals.append(inner.series(primal, terms[:order]))
        tangents.append(_rate(inner, primal, terms))
    if all(type(t) is Zero for t in tangents):
        result = primitive.bind(*map(trace.primal, args), **params)
        return list(result) if primitive.multiple_results else [result]
    ir.context.trace = inner
    try:
        results, rates = jvp_rules[primitive](primals, tangents, **params)
    finally:
        ir.context.trace = trace.parent
        inner.alive = False
    if not primitive.multiple_results:
        results, rates = [results], [rates]
    completed = []
    for result, rate in zip(results, rates, strict=True):
        # The inner result has orders up to n - 1. The coefficient of order n follows from the
        # derivative's last one: z_n = (z')_(n-1) / n.
        last = None if type(rate) is Zero else inner.coefficient(rate, order)
        terms = [*inner.terms(result), scale(last, 1 / trace.order)]
        completed.append(trace.series(inner.primal(result), terms))
    return completed


def _rate(inner: JetTrace, primal: ir.ArrayLike, terms: Sequence[Coefficient]) -> Any:
    """Return the derivative of an operand, as a series of another trace."""
    if all(term is None for term in terms):
        return Zero.from_primal(primal)
    first, *higher = (scale(term, k + 1) for k, term in enumerate(terms))
    return inner.series(instantiate(Zero.from_primal(primal)) if first is None else first, higher)


def jet_flat(
    fun: Callable[..., Sequence[ir.ArrayLike]],
    order: int,
    primals: Sequence[ir.ArrayLike],
    series: Sequence[Sequence[Coefficient]],
    rules: Mapping[ir.Primitive, JetRule] = no_rules,
) -> tuple[list[ir.ArrayLike], list[list[Coefficient]]]:
    """Push power series through a flat function of arrays.

    Args:
      fun: the function.
      order: the highest order.
      primals: its arguments at the point of expansion.
      series: their coefficients from order 1 on, ``None`` for zeros.
      rules: rules that override those of the primitives.

    Returns:
      The results at that point, and their coefficients.
    """
    trace = JetTrace(ir.context.trace, order, rules)
    args = [trace.series(x, terms) for x, terms in zip(primals, series, strict=True)]
    previous = ir.context.trace
    ir.context.trace = trace
    try:
        outs = fun(*args)
        results, out_series = list(map(trace.primal, outs)), list(map(trace.terms, outs))
    finally:
        ir.context.trace = previous
        trace.alive = False
    if ir.check_tracer_leaks.value:
        del args, outs
        ir.check_leaks(trace)
    return results, out_series


def jet_jaxpr(
    jaxpr: ir.Jaxpr,
    order: int,
    flags: Sequence[Sequence[bool]],
    returned: Sequence[Sequence[bool]] | None = None,
) -> tuple[ir.Jaxpr, list[tuple[bool, ...]]]:
    """Return the jaxpr that computes the series of a jaxpr's results; cached on that jaxpr.

    Args:
      jaxpr: the jaxpr.
      order: the highest order.
      flags: for each argument, which of its coefficients from order 1 on are nonzero.
      returned: for each result, which of its coefficients are returned even if they are zero.

    Returns:
      A jaxpr that takes the arguments and their nonzero coefficients, and returns the results and
      their coefficients; and for each result, which of them are returned.
    """
    flags = tuple(map(tuple, flags))
    returned = returned if returned is None else tuple(map(tuple, returned))
    key = ("jet", order, flags, returned)
    return jaxpr.derived(key, lambda: _jet_jaxpr(jaxpr, order, flags, returned))


def _jet_jaxpr(jaxpr, order, flags, returned):
    count = len(jaxpr.invars)
    out_flags: list[tuple[bool, ...]] = []

    def fun(*args: Any) -> list[Any]:
        run = lambda *xs: ir.eval_jaxpr(jaxpr, jaxpr.consts, *xs)
        results, series = jet_flat(run, order, args[:count], series_of(flags, args[count:]))
        if returned is not None:
            series = [
                [_present(c, x, flag) for c, flag in zip(terms, row, strict=True)]
                for terms, x, row in zip(series, results, returned, strict=True)
            ]
        out_flags.extend(term_flags(series))
        return [*results, *given_terms(series)]

    avals = jaxpr.in_avals
    terms = [
        tangent_aval(aval) for aval, row in zip(avals, flags, strict=True) for flag in row if flag
    ]
    return ir.trace_to_jaxpr(fun, [*avals, *terms], jaxpr.debug_info), out_flags


def _present(term: Coefficient, result: ir.ArrayLike, returned: bool) -> Coefficient:
    return instantiate(Zero.from_primal(result)) if term is None and returned else term
