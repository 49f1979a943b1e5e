"""``MemoryFit``: the rewrite of a function that keeps its peak under a limit, and its figures."""

import math

import ricci_ir as ir
import ricci_lax.recomputation as rc
from ricci_parallel.reports._collective import shown_bytes

from ._memory_choices import Rewrite

__all__ = ["MemoryFit", "MemoryLimitError"]


class MemoryLimitError(ValueError):
    """The error of a function whose least possible peak is above the limit."""


class MemoryFit(ir.Record):
    """The result of planning: the rewrite of a function, and its peak. ``str`` is a report.

    Attributes:
      limit: the limit in bytes.
      unlimited: the peak on each device of the function as it stands; the compiler's figure.
      peak_bytes: the peak of the rewritten function; the compiler's figure.
      recomputation: the rewrite that recomputes residuals, of each piece where a batch runs in
        pieces; or ``None`` if nothing is recomputed.
      pieces: the rewrite that runs a batch in pieces, or ``None`` if it runs at once.
      host_bytes: the residuals in the host's memory; the compiler's figure.
      again: the operations that are repeated, as a share of those of the forward pass; estimated.
      compiled: the number of executables that were compiled for the plan.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> fit = ricci.fit_memory(ricci.grad(lambda x: jnp.sum(jnp.sin(x))), "1MB").plan(jnp.ones(9))
      >>> fit.recomputation, fit.again
      (None, 0.0)
    """

    limit: int
    unlimited: int
    peak_bytes: int
    recomputation: rc.Recomputation | None
    pieces: rc.BatchPieces | None
    host_bytes: int
    again: float
    compiled: int

    @property
    def rewrite(self) -> "Rewrite | None":
        """The rewrite of differentiated functions, if any."""
        return self.pieces or self.recomputation

    @property
    def rows(self) -> list[dict[str, object]]:
        """The plan as data: a row of its figures."""
        change, pieces = self.recomputation, self.pieces
        return [
            {
                "limit": self.limit,
                "unlimited": self.unlimited,
                "peak_bytes": self.peak_bytes,
                "host_bytes": self.host_bytes,
                "segments": 1 if change is None else change.segments,
                "recomputed": 0 if change is None else change.recomputed,
                "pieces": 1 if pieces is None else pieces.count,
                "again": self.again,
                "compiled": self.compiled,
            }
        ]

    def _repr_html_(self) -> str:
        return ir.html_table(self.rows, str(self))

    def __str__(self) -> str:
        peak = f"{shown_bytes(self.peak_bytes)} at its peak, under {shown_bytes(self.limit)}"
        if self.rewrite is None:
            return peak
        peak += f"; {shown_bytes(self.unlimited)} as it stands\n  "
        parts: list[str] = []
        if self.pieces is not None:
            size, count = self.pieces.size, self.pieces.count
            parts.append(f"the {size} examples of the batch run in {count} pieces")
        change = self.recomputation
        if change is None:
            return peak + parts[0]
        if change.recomputed:
            parts.append(
                f"the first {change.recomputed} of {change.segments} segments are recomputed"
            )
            if change.least < math.inf:
                parts[-1] += f", but for results of {change.least:.3g} operations a byte or more"
        if change.scans:
            parts.append("the bodies of scans are recomputed")
        if change.on_host:
            parts.append(f"{shown_bytes(self.host_bytes)} of residuals are on the host")
        return f"{peak}{'; '.join(parts)}: {self.again:.0%} of the forward pass runs twice"
