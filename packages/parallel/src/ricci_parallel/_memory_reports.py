"""Report to ``ricci_xla`` the arrays that fill a device's memory, for out-of-memory errors."""

from collections.abc import Sequence
from typing import Any

from ricci_xla import Traced, memory_report

_ROWS = 6


@memory_report.provide
def explain(program: Any, leaves: Sequence[Any], options: Any) -> str:
    """Return the first lines of an executable's memory plan."""
    from .planning import plan_of  # noqa: PLC0415 - lazy: few programs need it

    lines = plan_of(Traced(program, leaves, options)).head(_ROWS)
    return "\n".join([*lines, _ADVICE])


_ADVICE = (
    "ricci.memory_plan(f, *args) shows all of it, and what checkpoint would save. Or take smaller "
    "batches, or donate arguments that are not needed again."
)
