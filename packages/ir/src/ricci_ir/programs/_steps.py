"""Running a program operation by operation, for tools that look at what it computes."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ricci_ir.traces._primitive import rule_table

from ._jaxpr import Jaxpr

__all__ = [
    "error_checks",
    "non_finite_reports",
    "step_rules",
    "Steps",
]


class Steps(Protocol):
    """What runs a program operation by operation, on arrays, outside of any trace."""

    def run(self, jaxpr: Jaxpr, operands: Sequence[Any], place: str | None = None) -> list[Any]:
        """The results of a program that an operation holds; ``place`` says which of its runs."""
        ...

    def step(self, eqn: Any, operands: Sequence[Any], place: str | None = None) -> list[Any]:
        """The results of one equation."""
        ...

    def computed(
        self, eqn: Any, operands: Sequence[Any], results: Sequence[Any], place: str | None = None
    ) -> None:
        """Take note of the results of an equation that the caller computed itself."""
        ...

    def made(self, array: Any, *sources: Any) -> Any:
        """The array; it holds values of ``sources`` and none that were computed."""
        ...


# For primitives that hold programs: ``rule(steps, *operands, **params)`` gives the results (as a
# list) by running them through ``steps``, or ``None`` where the operation can only be run whole.
step_rules = rule_table("steps", required=False)


class NonFiniteReports:
    """Explains where NaN or infinities in the results of a program come from; ``lax`` gives it."""

    __slots__ = ("explain",)

    def __init__(self):
        self.explain: Callable[..., Any] = lambda jaxpr, args, inf: None

    def register(self, explain: Callable[..., Any]) -> None:
        """Set ``explain(jaxpr, args, inf)``.

        It gives a report to print, with the name of the ``operation``, or ``None`` if the program
        gives no NaN when it is run operation by operation (with ``inf``, no infinities either).
        """
        self.explain = explain


non_finite_reports = NonFiniteReports()


class ErrorChecks:
    """Looks for errors in a program, for ``jax_error_checking_behavior_*``; ``lax`` gives it."""

    __slots__ = ("find",)

    def __init__(self):
        self.find: Callable[..., Exception | None] = lambda jaxpr, args, **kinds: None

    def register(self, find: Callable[..., Exception | None]) -> None:
        """Set ``find(jaxpr, args, nan=, divide=, oob=)``.

        It gives the first error of the kinds that are true, or ``None`` if the program has none.
        """
        self.find = find


error_checks = ErrorChecks()
