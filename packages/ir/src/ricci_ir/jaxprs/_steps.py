"""The interface of tools that evaluate a jaxpr equation by equation and inspect the results."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ricci_ir._hook import Hook
from ricci_ir.traces._primitive import RuleTable, rule_table
from ricci_ir.traces._typing import ArrayLike

from ._jaxpr import Jaxpr, JaxprEqn

__all__ = ["first_error", "non_finite_report", "step_rules", "Steps"]


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


# ``(jaxpr, args, inf)``: returns a report to print on the origin of a NaN, which names the
# ``operation``; ``None`` if no NaN (with ``inf``, no infinity either) appears when the jaxpr is run
# equation by equation.
non_finite_report: Hook[Callable[..., Any]] = Hook(
    "reports on NaNs", provided_by="ricci_lax", default=lambda jaxpr, args, inf: None
)

# ``(jaxpr, args, nan=, divide=, oob=)``: returns the first error of the kinds that are true, or
# ``None`` if there is none (``jax_error_checking_behavior_*``).
first_error: Hook[Callable[..., Exception | None]] = Hook(
    "checks for errors", provided_by="ricci_lax", default=lambda jaxpr, args, **kinds: None
)
