"""Print how far Ricci's lax agrees with JAX: for each topic, how many cases in which respect.

    python tools/agreement.py [topic ...]

Each case is evaluated with 64-bit types off and on. Expected differences count as differences here,
and are listed with their reasons.
"""

import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "integration"))

from lax_cases import TOPICS, exists  # noqa: E402
from lax_cases.agreement import ASPECTS, Outcome, evaluate  # noqa: E402
from lax_cases.case import with_wide_types  # noqa: E402

from ricci_testing import ricci_namespace, shared_oracle  # noqa: E402

_BATCH = 20
_ROW = "{:14} {:>6} {:>7} " + " ".join(["{:>13}"] * len(ASPECTS))


def outcomes(topic: str) -> tuple[list[Outcome], int]:
    """Evaluate the cases of a topic; also return how many are of functions not there yet."""
    rows = [*TOPICS[topic], *with_wide_types(TOPICS[topic])]
    cases = [case for case in rows if exists(case.function)]
    results = []
    for start in range(0, len(cases), _BATCH):
        part = cases[start : start + _BATCH]
        results += evaluate(part, ricci_namespace(), shared_oracle(), whole=True)
    return results, len(rows) - len(cases)


def row(topic: str, results: list[Outcome], absent: int) -> str:
    """Return a line of the table: of the cases compared in a respect, how many agree."""
    cells = []
    for aspect in ASPECTS:
        compared = [outcome for outcome in results if aspect in outcome.compared]
        differing = sum(
            any(d.aspect == aspect for d in outcome.differences) for outcome in compared
        )
        cells.append(f"{len(compared) - differing} of {len(compared)}")
    return _ROW.format(topic, len(results), absent, *cells)


def main(arguments: list[str]) -> int:
    """Print the table, the expected differences and the others; return 1 where there are any."""
    topics = arguments or list(TOPICS)
    unknown = [topic for topic in topics if topic not in TOPICS]
    if unknown:
        print(f"no topic is named {', '.join(unknown)}; there are {', '.join(TOPICS)}")
        return 2
    print(_ROW.format("topic", "cases", "absent", *ASPECTS), flush=True)
    everything: list[Outcome] = []
    missing = 0
    for topic in topics:
        results, absent = outcomes(topic)
        print(row(topic, results, absent), flush=True)
        everything += results
        missing += absent
    print(row("together", everything, missing))
    differences = [(o.case.function, d) for o in everything for d in o.differences]
    expected = Counter((name, d.aspect, d.reason) for name, d in differences if d.reason)
    for (name, aspect, reason), count in sorted(expected.items()):
        print(f"expected: {name}, {aspect}, {count} times: {reason}")
    other = Counter((name, d.aspect, d.probe) for name, d in differences if not d.reason)
    for (name, aspect, probe), count in sorted(other.items()):
        print(f"DIFFERENT: {name}, {aspect} of {probe or 'all'}, {count} times")
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
