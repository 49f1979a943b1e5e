"""Reports on the pieces of a jaxpr that ``roll`` compiles once."""

from collections.abc import Sequence

import ricci_ir as ir

from ._pieces import SEARCHED, find_runs
from ._runs import size_in_bytes

__all__ = ["RollReport", "RolledRun"]


class RolledRun(ir.Record):
    """Consecutive pieces of a jaxpr that are compiled once, or a reason why they are not.

    Attributes:
      count: the number of pieces.
      equations: the equations of a piece.
      source: the first operation's place in the user's code.
      stacked_bytes: the size of the operands that are stacked, such as the layers' parameters.
      carried_bytes: the size of what passes from a piece to the next.
      reason: why the pieces are not rolled; empty if they are.
    """

    count: int
    equations: int
    source: ir.Source
    stacked_bytes: int = 0
    carried_bytes: int = 0
    reason: str = ""

    def __str__(self) -> str:
        pieces = f"{self.count} piece{'s' * (self.count != 1)}"
        what = f"{pieces} of {self.equations} operations, from {self.source}"
        if self.reason:
            return f"not rolled: {what}: {self.reason}"
        sizes = f"{self.stacked_bytes:,} bytes stacked, {self.carried_bytes:,} carried"
        return f"rolled: {what}; {sizes}"


class RollReport(ir.Record):
    """The runs that ``roll`` finds in a function, printed as a line for each.

    Attributes:
      runs: the runs that are rolled: of functions that are differentiated, then of the whole.
      refused: repetitions that are not.
      before, after: the number of traced equations, and with each run counted as one piece. Layers
        are loops before they are differentiated: both count the derivative of one layer.
    """

    runs: tuple[RolledRun, ...]
    refused: tuple[RolledRun, ...]
    before: int
    after: int

    @property
    def rows(self) -> list[dict[str, object]]:
        """The runs and the refused repetitions as data."""
        return [
            {
                "rolled": not run.reason,
                "count": run.count,
                "equations": run.equations,
                "source": str(run.source),
                "stacked_bytes": run.stacked_bytes,
                "carried_bytes": run.carried_bytes,
                "reason": run.reason,
            }
            for run in (*self.runs, *self.refused)
        ]

    def _repr_html_(self) -> str:
        return ir.html_table(self.rows, str(self))

    def __str__(self) -> str:
        rows = [*self.runs, *self.refused] or ["no repeated pieces"]
        return "\n".join([f"{self.before} operations, {self.after} compiled", *map(str, rows)])

    def __repr__(self) -> str:
        return str(self)


def report(jaxpr: ir.Jaxpr, differentiated: Sequence[ir.Jaxpr] = ()) -> RollReport:
    """Describe the runs of a jaxpr and of the jaxprs in it that ``roll`` searches.

    Args:
      jaxpr: the jaxpr.
      differentiated: jaxprs whose derivatives, with loops in place of layers, are part of it.
    """
    runs: list[RolledRun] = []
    refused: list[RolledRun] = []
    traced = sum(_add(function, runs, refused) for function in differentiated)
    total = ir.count_equations(jaxpr.eqns)
    after = total - _add(jaxpr, runs, refused)
    return RollReport(tuple(runs), tuple(refused), total + traced, after)


def _add(jaxpr: ir.Jaxpr, runs: list[RolledRun], refused: list[RolledRun]) -> int:
    """Add the rows of a jaxpr, and return how many equations its loops save."""
    repeated, refusals = find_runs(jaxpr)
    saved = 0
    inside: set[int] = set()
    for run in repeated:
        source = jaxpr.eqns[run.start].source
        stacked = sum(size_in_bytes(value) for _, values in run.stacked for value in values)
        carried = sum(size_in_bytes(carry.operand) for carry in run.carries)
        piece = ir.count_equations(jaxpr.eqns[run.start : run.start + run.period])
        runs.append(RolledRun(run.count, piece, source, stacked, carried))
        saved += piece * (run.count - 1)
        inside.update(range(run.start + run.period, run.stop))
    for refusal in refusals:
        source = jaxpr.eqns[refusal.start].source
        refused.append(RolledRun(refusal.count, refusal.period, source, reason=refusal.reason))
    for i, eqn in enumerate(jaxpr.eqns):
        if i not in inside and eqn.primitive.name in SEARCHED:
            saved += sum(_add(inner, runs, refused) for inner in ir.jaxprs_in_params(eqn.params))
    return saved
