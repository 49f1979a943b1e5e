"""The report that ``check`` returns: its findings, as text and as data."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import overload

from ricci_ir import ArrayMove, Source, html_table, shown_file

from ._rules import RULES, SEVERITIES

__all__ = ["CheckError", "Finding", "Report"]


class CheckError(Exception):
    """The error of ``Report.raise_if_any``; ``report`` holds all findings."""

    def __init__(self, report: "Report", findings: Sequence["Finding"]):
        self.report = report
        shown = [str(finding) for finding in findings[:10]]
        if len(findings) > len(shown):
            shown.append(f"and {len(findings) - len(shown)} more")
        super().__init__("\n".join(shown))


@dataclass(frozen=True, slots=True)
class Finding:
    """A violation of a rule at a place in the user's code.

    Attributes:
      code, name: the rule.
      severity: ``"error"``, ``"warning"`` or ``"note"``.
      file, line, column, function: the place in the user's code; lines count from 1.
      message: the problem.
      advice: the remedy.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> finding = ricci.check(lambda x: x[10])(jnp.ones(5))[0]
      >>> finding.code, finding.severity
      ('RC501', 'error')
    """

    code: str
    name: str
    severity: str
    file: str
    line: int
    column: int
    function: str
    message: str
    advice: str

    def __str__(self) -> str:
        return f"{_shown(self.file)}:{self.line}: {self.code} {self.message}. {self.advice}"


def finding(
    code: str, source: Source | ArrayMove, message: str, severity: str | None = None
) -> Finding:
    """Return a finding of a rule at a source."""
    rule = RULES[code]
    return Finding(
        code,
        rule.name,
        severity or rule.severity,
        source.file,
        source.line,
        source.column,
        source.function,
        message,
        rule.advice,
    )


def _shown(file: str) -> str:
    """Return a path for display: relative to the current folder if it is below it."""
    path, folder = Path(file), Path.cwd()
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else shown_file(file)


class Report(Sequence[Finding]):
    """The findings of one check, in the order of their places; true if there are any.

    Attributes:
      findings: all findings.
      exception: the exception that tracing the function raised, or ``None``.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> report = ricci.check(lambda x: x + 1.0)(jnp.ones(3))
      >>> bool(report), len(report)
      (False, 0)
    """

    __slots__ = ("exception", "findings")

    def __init__(self, findings: Sequence[Finding], exception: BaseException | None = None):
        self.findings: tuple[Finding, ...] = tuple(
            sorted(findings, key=lambda f: (f.file, f.line, f.column, f.code))
        )
        self.exception: BaseException | None = exception

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Finding, ...]: ...

    def __getitem__(self, index: int | slice) -> Finding | tuple[Finding, ...]:
        return self.findings[index]

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __bool__(self) -> bool:
        return bool(self.findings)

    def __str__(self) -> str:
        """Format the findings, one in a line as linters print them, and their number."""
        if not self.findings:
            return "nothing found"
        counts = {
            severity: sum(f.severity == severity for f in self.findings)
            for severity in reversed(SEVERITIES)
        }
        total = ", ".join(f"{n} {name}{'s' * (n > 1)}" for name, n in counts.items() if n)
        return "\n".join([*map(str, self.findings), total])

    def __repr__(self) -> str:
        return f"Report({', '.join(f'{f.code}:{f.line}' for f in self.findings)})"

    @property
    def rows(self) -> list[dict[str, object]]:
        """The findings as data, by field."""
        return [asdict(f) for f in self.findings]

    def _repr_html_(self) -> str:
        return html_table(self.rows) if self.findings else str(self)

    def to_json(self, indent: int | None = None) -> str:
        """Return the findings as JSON: ``{"version": 1, "findings": [...]}``, by field.

        Example:
          >>> from ricci_check import Report
          >>> Report([]).to_json()
          '{"version": 1, "findings": []}'
        """
        return json.dumps({"version": 1, "findings": self.rows}, indent=indent)

    def raise_if_any(self, severity: str = "note") -> None:
        """Raise if there is a finding of this severity or a worse one.

        Args:
          severity: ``"note"``, ``"warning"`` or ``"error"``.

        Raises:
          CheckError: if there is one; the message lists the findings. The cause is the exception
            that tracing the function raised, if there was one.
          ValueError: if there is no such severity.

        Example:
          >>> from ricci_check import Report
          >>> Report([]).raise_if_any()
        """
        # From mild to severe, so that the index orders them.
        if severity not in SEVERITIES:
            raise ValueError(f"severity must be one of {', '.join(SEVERITIES)}, got {severity!r}.")
        least = SEVERITIES.index(severity)
        failing = [f for f in self.findings if SEVERITIES.index(f.severity) >= least]
        if failing:
            raise CheckError(self, failing) from self.exception
