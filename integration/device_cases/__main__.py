"""`python -m device_cases [PATTERN]` in `integration`: programs on both sides, and what differs."""

import re
import sys
from collections import Counter

from . import cases
from .accepted import ON_PURPOSE, PENDING
from .running import Verdict, verdicts


def main() -> int:
    """Print what differs and a table of the topics; return 1 where something has no reason."""
    pattern = re.compile(sys.argv[1] if len(sys.argv) > 1 else "")
    chosen = [case for case in cases() if pattern.search(case.name)]
    found = list(verdicts(chosen))
    for verdict in found:
        for aspect, text in verdict.left.items():
            print(f"{verdict.case.name}\n    {aspect}: {' '.join(text.split())}"[:600])
    print("\n| programs | of them | agree | differ on purpose | pending | differ |")
    print("|---|---|---|---|---|---|")
    for topic in dict.fromkeys(verdict.case.topic for verdict in found):
        counts = Counter(_kind(verdict) for verdict in found if verdict.case.topic == topic)
        cells = [counts[kind] for kind in ("agree", "on purpose", "pending", "differ")]
        print("|", " | ".join(map(str, [topic, counts.total(), *cells])), "|")
    used = {row for verdict in found for row in verdict.rows}
    stale = [row for row in (*ON_PURPOSE, *PENDING) if row not in used and not pattern.pattern]
    for row in stale:
        print(f"no program needs {row}")
    return 1 if stale or any(verdict.left for verdict in found) else 0


def _kind(verdict: Verdict) -> str:
    if verdict.left:
        return "differ"
    if not verdict.rows:
        return "agree"
    return "on purpose" if all(row in ON_PURPOSE for row in verdict.rows) else "pending"


if __name__ == "__main__":
    sys.exit(main())
