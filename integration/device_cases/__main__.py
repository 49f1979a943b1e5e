"""`python -m device_cases [PATTERN]` in `integration`: programs on both sides, and differences."""

import re
import sys
from collections import Counter

from . import cases
from .accepted import ACCEPTED
from .running import Verdict, verdicts


def main() -> int:
    """Print the differences, as lines of `data/device_differences.txt`, and a table of the topics.

    The status is 1 where a difference has no row, or, without a pattern, a row no difference.
    """
    pattern = re.compile(sys.argv[1] if len(sys.argv) > 1 else "")
    checked = list(verdicts([case for case in cases() if pattern.search(case.name)]))
    for verdict in filter(lambda verdict: verdict.unexplained, checked):
        print(verdict.case.name)
        for aspect, (probe, ours, theirs) in verdict.unexplained.items():
            print(" ".join(f"    {aspect} in {probe} | {ours} | {theirs}".split("\n"))[:600])
    print("\n| programs | of them | agree | accepted | differ |")
    print("|---|---|---|---|---|")
    for topic in dict.fromkeys(verdict.case.topic for verdict in checked):
        counts = Counter(_kind(verdict) for verdict in checked if verdict.case.topic == topic)
        cells = [counts[kind] for kind in ("agree", "accepted", "differ")]
        print("|", " | ".join(map(str, [topic, counts.total(), *cells])), "|")
    used = {row for verdict in checked for row in verdict.rows}
    stale = [row for row in ACCEPTED if row not in used and not pattern.pattern]
    for row in stale:
        print(f"no program needs {row}")
    return 1 if stale or any(verdict.unexplained for verdict in checked) else 0


def _kind(verdict: Verdict) -> str:
    if verdict.unexplained:
        return "differ"
    return "accepted" if verdict.rows else "agree"


if __name__ == "__main__":
    sys.exit(main())
