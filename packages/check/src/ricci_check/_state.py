"""The state of the analysis: the equation being read, and the findings so far."""

from collections.abc import Hashable

from ricci_ir import AbstractValue, Source

from ._report import Finding, finding
from ._values import Symbols, Value


class AnalysisState:
    """The equation that is being read, and the findings up to it.

    Attributes:
      symbols: the symbols of the elements of all values read so far.
      depth: the number of loops around the equation.
      source: the line of the user's code that the equation comes from.
      call_name: the function of Ricci that the equation is a part of; ``None`` for an equation
        traced from the user's code.
      findings: the findings so far.
      quiet: whether findings are dropped, as when a loop's body is read for the first of two times.
    """

    def __init__(self, source: Source):
        self.symbols = Symbols()
        self.depth = 0
        self.source = source
        self.call_name: str | None = None
        self.findings: list[Finding] = []
        self.quiet = False
        self._seen: set[Hashable] = set()

    def report(self, code: str, message: str, *, once: Hashable = None) -> None:
        """Add a finding at the current source, unless it was reported before.

        Args:
          once: the key of the finding among those of its source; by default its message.
        """
        key = (code, self.source.code, self.source.offset, message if once is None else once)
        if not self.quiet and key not in self._seen:
            self._seen.add(key)
            self.findings.append(finding(code, self.source, message))

    def unknown(self, aval: AbstractValue, depth: int | None = None) -> Value:
        """Return a value of which only the type is known."""
        return Value(aval, self.depth if depth is None else depth)
