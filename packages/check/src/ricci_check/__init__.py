"""A linter of traced functions: ``check(f)(*args)`` reports problems before ``f`` runs."""

from ._check import check as check
from ._report import CheckError as CheckError
from ._report import Finding as Finding
from ._report import Report as Report
from ._rules import RULES as RULES
from ._rules import Rule as Rule

__all__ = ["RULES", "CheckError", "Finding", "Report", "Rule", "check"]
