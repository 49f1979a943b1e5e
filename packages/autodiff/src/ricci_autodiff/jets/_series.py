"""Truncated power series of arrays, whose coefficients are computed lazily.

An operand is a power series in one variable, cut off after some order. A coefficient of a result
follows from coefficients of the operands, and of the result itself in lower orders.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import ricci_ir as ir
from ricci_autodiff._jet_kinds import JetRule
from ricci_autodiff._tangent import has_tangent
from ricci_ir import ArrayLike, Jaxpr, Primitive, Tracer

__all__ = ["Coefficient", "JetTracer"]

# A coefficient of a series; ``None`` is a zero.
type Coefficient = ArrayLike | None


no_rules: Mapping[Primitive, JetRule] = {}


class CircularSeries(Exception):
    """A coefficient was requested while it was being computed."""


class Expansion:
    """The coefficients of an operation's results, computed order by order.

    Attributes:
      rows: for each order, the coefficient of each result.
      next_row: ``next_row(k)`` computes row ``k``, from coefficients of lower order. ``None`` if
        all further coefficients are zero.
    """

    __slots__ = ("busy", "next_row", "rows")

    def __init__(
        self,
        rows: list[Sequence[Coefficient]],
        next_row: Callable[[int], Sequence[Coefficient]] | None = None,
    ):
        self.rows: list[Sequence[Coefficient]] = rows
        self.next_row: Callable[[int], Sequence[Coefficient]] | None = next_row
        self.busy: bool = False

    def coefficient(self, index: int, k: int) -> Coefficient:
        """Return the coefficient of order ``k`` of one of the results."""
        rows = self.rows
        while len(rows) <= k:
            if self.next_row is None:
                return None
            # The computation of a row has requested the same row: it needs a coefficient that is
            # not of lower order, so it is not a recurrence.
            if self.busy:
                raise CircularSeries
            self.busy = True
            try:
                rows.append(self.next_row(len(rows)))
            finally:
                self.busy = False
        return rows[k][index]


class JetTracer(Tracer):
    """A power series: one of the results in an expansion."""

    __slots__ = ("expansion", "index", "primal")
    is_differentiated = True

    def __init__(self, trace: "SeriesTrace", primal: ArrayLike, expansion: Expansion, index: int):
        self._trace = trace
        self.aval: Any = ir.get_aval(primal)
        self.primal: ArrayLike = primal
        self.expansion: Expansion = expansion
        self.index: int = index

    def coefficient(self, k: int) -> Coefficient:
        """Return the coefficient of order ``k``: the ``k``-th derivative over ``k`` factorial."""
        return self.expansion.coefficient(self.index, k) if k else self.primal

    @property
    def terms(self) -> list[Coefficient]:
        """The coefficients from order 1 on."""
        order = cast(SeriesTrace, self._trace).order
        return [self.coefficient(k) for k in range(1, order + 1)]

    def concrete(self) -> Any:
        """The primal value if it is known now, else ``None``."""
        return self.primal.concrete() if isinstance(self.primal, Tracer) else self.primal

    def _origin_message(self) -> str:
        return self.primal._origin_message() if isinstance(self.primal, Tracer) else ""

    def __repr__(self) -> str:
        return f"JetTracer(primal={self.primal})"


class SeriesTrace(ir.Trace):
    """A trace of power series.

    Attributes:
      order: the highest order.
      depth: the number of derivative rules that are running, each for a coefficient of the next.
      memo: the operations bound so far by the rules of the current operation, with their results. A
        rule that binds the operation itself reuses its results.
      lazy: whether the trace is running a rule. The coefficients of operations that a rule binds
        are computed on demand; those of operations that the function binds, all at once.
      rules: rules that override those of the primitives.
    """

    __slots__ = ("depth", "lazy", "memo", "order", "rules")

    parent: ir.Trace  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, parent: ir.Trace, order: int, rules: Mapping[Primitive, JetRule] = no_rules):
        super().__init__(parent)
        self.rules: Mapping[Primitive, JetRule] = rules
        self.order: int = order
        self.depth: int = 0
        self.memo: dict[Any, Any] = {}
        self.lazy: bool = False

    def run(self, rule: Callable[..., Any], *args: Any, **params: Any) -> Any:
        """Call a rule under this trace, which is not the current one."""
        previous, lazy = ir.context.trace, self.lazy
        ir.context.trace, self.lazy = self, True
        try:
            return rule(*args, **params)
        finally:
            ir.context.trace, self.lazy = previous, lazy

    def push(
        self,
        jaxpr: Jaxpr,
        flags: Sequence[Sequence[bool]],
        returned: Sequence[Sequence[bool]] | None = None,
    ) -> tuple[Jaxpr, list[tuple[bool, ...]]]:
        """Return the jaxpr that computes the series of a jaxpr's results: see ``jet_jaxpr``."""
        raise NotImplementedError

    def has(self, value: object) -> bool:
        """Whether a value is a series of this trace."""
        return isinstance(value, JetTracer) and value._trace is self

    def primal(self, x: Any) -> ArrayLike:
        """Return the coefficient of order 0: the value at the point of expansion."""
        return x.primal if self.has(x) else x

    def coefficient(self, x: Any, k: int) -> Coefficient:
        """Return the coefficient of order ``k`` of an operand, which may be a constant."""
        if self.has(x):
            return x.coefficient(k)
        return None if k else x

    def terms(self, x: Any) -> list[Coefficient]:
        """Return the coefficients of an operand from order 1 on."""
        return x.terms if self.has(x) else [None] * self.order

    def series(self, primal: ArrayLike, terms: Sequence[Coefficient]) -> Any:
        """Return a tracer for a value and its coefficients from order 1 on, or a constant value."""
        if all(term is None for term in terms):
            return primal
        return JetTracer(self, primal, Expansion([(term,) for term in (primal, *terms)]), 0)

    def results(
        self, values: Sequence[ArrayLike], next_row: Callable[[int], Sequence[Coefficient]]
    ) -> list[Any]:
        """Return tracers for an operation's results; the values of discrete ones.

        Args:
          values: the results at the point of expansion.
          next_row: computes their coefficients of an order.
        """
        expansion = Expansion([list(values)], next_row)
        return [
            JetTracer(self, value, expansion, i) if has_tangent(ir.get_aval(value)) else value
            for i, value in enumerate(values)
        ]

    def completed(self, x: Any) -> Any:
        """Compute all coefficients of a value, so that it no longer references their rules."""
        return self.series(x.primal, x.terms) if self.has(x) else x
