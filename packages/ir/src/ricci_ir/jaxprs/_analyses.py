"""Tools that analyse jaxprs, provided by packages above: their interfaces and hooks.

They evaluate a jaxpr equation by equation, or report implicit reshardings.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ricci_ir._hook import Hook
from ricci_ir._records import TupleRecord
from ricci_ir.traces import ArrayLike, RuleTable, rule_table
from ricci_ir.types import AbstractValue

from ._jaxpr import DebugInfo, Jaxpr, JaxprEqn

__all__ = ["ArrayMove", "KernelUse", "Steps", "array_moves", "first_error", "kernel_check"]
__all__ += ["kernel_use", "non_finite_report", "step_rules", "trace_rolled"]


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

    def made(self, array: ArrayLike, element: Callable[..., Any], *sources: ArrayLike) -> Any:
        """Return ``array``, recording that its elements are copies of elements of ``sources``.

        ``element`` maps the index of an element to the number of its source and its index there.
        It takes the indices of many elements as well: a tuple of an array for each dimension.
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


class ArrayMove(Protocol):
    """An implicit resharding of an array by the SPMD partitioner, and its place in the code."""

    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...
    @property
    def function(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def operation(self) -> str: ...
    @property
    def value(self) -> str: ...
    @property
    def replicates(self) -> bool: ...
    @property
    def axes_text(self) -> str: ...
    @property
    def bytes_text(self) -> str: ...


# ``(jaxpr, fun, arrays, traced)``: compiles a jaxpr for several devices, and returns the implicit
# reshardings in the executable. ``jaxpr`` is that of ``fun(*arrays)``, and ``traced`` its stage if
# ``fun`` is jitted. The default, without a runtime, compiles nothing.
array_moves: Hook[
    Callable[[Jaxpr, Callable[..., Any], Sequence[Any], Any], Sequence[ArrayMove]]
] = Hook(
    "implicit reshardings",
    provided_by="ricci_parallel",
    default=lambda jaxpr, fun, arrays, traced: (),
)


# ``(fun, in_avals, debug_info)``: ``trace_to_jaxpr`` with loops in place of equal layers, for
# ``rolled_layers``; ``ricci`` has this state from the room that provides the function.
trace_rolled: Hook[
    Callable[[Callable[..., Sequence[Any]], Sequence[AbstractValue], DebugInfo], Jaxpr]
] = Hook("loops of layers", provided_by="ricci_lax")


class KernelUse(TupleRecord):
    """The kernels that a jaxpr calls.

    Attributes:
      transfers: the bytes of blocks that their grids move between memories.
      steps: the steps of their grids.
      is_interpreted: whether one of them is interpreted.
    """

    transfers: int
    steps: int
    is_interpreted: bool


# Returns the use of kernels by a jaxpr, ``None`` if it calls none.
kernel_use: Hook[Callable[[Jaxpr], KernelUse | None]] = Hook(
    "analyses of kernels", provided_by="ricci_kernels", default=lambda jaxpr: None
)

# Returns the check of an equation that calls a kernel, ``None`` for another equation. The check
# takes the values of the operands, ``None`` for unknown ones, and returns messages.
kernel_check: Hook[Callable[[JaxprEqn], Callable[[Sequence[Any]], Sequence[str]] | None]] = Hook(
    "checks of kernels", provided_by="ricci_kernels", default=lambda eqn: None
)
