"""Where the reading of a program stands: what is known of its values there, and what was found."""

from typing import Any

from ricci_ir import Source

from ._report import Finding, finding
from ._values import Symbols, Value


class Place:
    """The equation that is being read, and what has been collected up to it.

    Attributes:
      symbols: what is known of all values read.
      depth: how many loops are around the equation.
      source: the user's line that the equation comes from.
      call_name: the function that the equation is a part of, where its program was traced inside
        of Ricci.
      findings: what was found.
      quiet: whether findings are dropped, as in the second reading of a loop's body.
    """

    def __init__(self, source: Source):
        self.symbols = Symbols()
        self.depth = 0
        self.source = source
        self.call_name: str | None = None
        self.findings: list[Finding] = []
        self.quiet = False
        self._seen: set[Any] = set()

    def report(self, code: str, message: str, *, once: Any = None) -> None:
        """Add a finding here; ``once`` tells findings apart that have the same message."""
        key = (code, self.source.code, self.source.offset, message if once is None else once)
        if not self.quiet and key not in self._seen:
            self._seen.add(key)
            self.findings.append(finding(code, self.source, message))

    def unknown(self, aval: Any, depth: int | None = None) -> Value:
        """A value of which only the type is known."""
        return Value(aval, self.depth if depth is None else depth)
