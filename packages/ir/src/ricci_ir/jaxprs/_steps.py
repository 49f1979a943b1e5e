"""The interface of tools that run a program operation by operation and inspect the results."""

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
    """An interpreter that runs a program operation by operation, outside of any trace."""

    def run(self, jaxpr: Jaxpr, operands: Sequence[Any], place: str | None = None) -> list[Any]:
        """Run a program held by an operation; ``place`` names the run, such as an iteration."""
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
        """Take note of the results of an equation that the caller computed itself."""
        ...

    def made(
        self,
        array: ArrayLike,
        element: Callable[[tuple[int, ...]], tuple[int, tuple[int, ...]]],
        *sources: ArrayLike,
    ) -> Any:
        """Return ``array``, noting that its elements come from ``sources`` without computation.

        ``element`` gives for the index of an element which source it comes from, and its index
        there.
        """
        ...


# For primitives that hold programs: ``rule(steps, *operands, **params)`` runs these with ``steps``
# and gives the list of results, or ``None`` if the operation can only be run as a whole.
step_rules: RuleTable = rule_table("steps", required=False)


class NonFiniteReports:
    """Explains where NaNs or infinities in results come from; ``lax`` registers the function."""

    __slots__ = ("explain",)

    def __init__(self):
        self.explain: Callable[..., Any] = lambda jaxpr, args, inf: None

    def register(self, explain: Callable[..., Any]) -> None:
        """Set ``explain(jaxpr, args, inf)``.

        It returns a report to print, which names the ``operation``. It returns ``None`` if no NaN
        (with ``inf``, no infinity either) appears when the program is run operation by operation.
        """
        self.explain = explain


non_finite_reports: NonFiniteReports = NonFiniteReports()


class ErrorChecks:
    """Finds errors in programs (``jax_error_checking_behavior_*``); ``lax`` registers it."""

    __slots__ = ("find",)

    def __init__(self):
        self.find: Callable[..., Exception | None] = lambda jaxpr, args, **kinds: None

    def register(self, find: Callable[..., Exception | None]) -> None:
        """Set ``find(jaxpr, args, nan=, divide=, oob=)``.

        It returns the first error of the kinds that are true, or ``None`` if there is none.
        """
        self.find = find


error_checks: ErrorChecks = ErrorChecks()
