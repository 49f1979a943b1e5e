"""The interface of tools that evaluate a jaxpr equation by equation and inspect the results."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ricci_ir.traces._primitive import RuleTable, rule_table
from ricci_ir.traces._typing import ArrayLike

from ._jaxpr import Jaxpr, JaxprEqn

__all__ = [
    "error_checks",
    "non_finite_reports",
    "step_rules",
    "Steps",
]


class Steps(Protocol):
    """An interpreter that evaluates a jaxpr eagerly, equation by equation."""

    def run(self, jaxpr: Jaxpr, operands: Sequence[Any], place: str | None = None) -> list[Any]:
        """Run a jaxpr held by an equation; ``place`` names the run, such as an iteration."""
        ...

    def step(self, eqn: JaxprEqn, operands: Sequence[Any], place: str | None = None) -> list[Any]:
        """Run one equation."""
        ...

    def computed(
        self,
        eqn: JaxprEqn,
        operands: Sequence[Any],
        results: Sequence[Any],
        place: str | None = None,
    ) -> None:
        """Record the results of an equation that the caller computed itself."""
        ...

    def made(
        self,
        array: ArrayLike,
        element: Callable[[tuple[int, ...]], tuple[int, tuple[int, ...]]],
        *sources: ArrayLike,
    ) -> Any:
        """Return ``array``, recording that its elements are copies of elements of ``sources``.

        ``element`` maps the index of an element to the number of its source and its index there.
        """
        ...


# For primitives that hold jaxprs: ``rule(steps, *operands, **params)`` runs these with ``steps``
# and returns the list of results, or ``None`` if the operation can only be run as a whole.
step_rules: RuleTable = rule_table("steps", required=False)


class NonFiniteReports:
    """The function that finds the origin of NaNs or infinities; ``lax`` registers it."""

    __slots__ = ("explain",)

    def __init__(self):
        self.explain: Callable[..., Any] = lambda jaxpr, args, inf: None

    def register(self, explain: Callable[..., Any]) -> None:
        """Set ``explain(jaxpr, args, inf)``.

        It returns a report to print, which names the ``operation``. It returns ``None`` if no NaN
        (with ``inf``, no infinity either) appears when the jaxpr is run equation by equation.
        """
        self.explain = explain


non_finite_reports: NonFiniteReports = NonFiniteReports()


class ErrorChecks:
    """The function that finds errors (``jax_error_checking_behavior_*``); ``lax`` registers it."""

    __slots__ = ("find",)

    def __init__(self):
        self.find: Callable[..., Exception | None] = lambda jaxpr, args, **kinds: None

    def register(self, find: Callable[..., Exception | None]) -> None:
        """Set ``find(jaxpr, args, nan=, divide=, oob=)``.

        It returns the first error of the kinds that are true, or ``None`` if there is none.
        """
        self.find = find


error_checks: ErrorChecks = ErrorChecks()
