"""Write `docs/guides/symbolic-shapes.md`'s table, and the record that the tests compare with.

python tools/symbolic_table.py
"""

import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "integration")]

from symbolic_cases import cases, jax_errors, lowering_error  # noqa: E402
from symbolic_cases.both import record_errors  # noqa: E402

PAGE = ROOT / "docs" / "guides" / "symbolic-shapes.md"
START, END = "<!-- table: written by tools/symbolic_table.py -->", "<!-- end -->"


def table() -> str:
    """The table of exported functions, and the record of errors as a side effect."""
    calls = cases()
    there, ours = jax_errors(calls), [lowering_error(case) for case in calls]
    answers = list(zip(calls, there, ours, strict=True))
    record_errors({str(case): (a, b) for case, a, b in answers if a or b})
    lines = ["| calls of | tried | JAX 0.12.0.1 | Ricci |", "|---|---|---|---|"]
    topics = list(dict.fromkeys(case.topic for case in calls))
    for topic in topics:
        rows = [(a, b) for case, a, b in answers if case.topic == topic]
        lines.append(
            f"| {topic} | {len(rows)} | {sum(not a for a, _ in rows)} | "
            f"{sum(not b for _, b in rows)} |"
        )
    lines.append(
        f"| all | {len(answers)} | {sum(not a for a in there)} | {sum(not b for b in ours)} |"
    )
    only = Counter(case.function for case, a, b in answers if a and not b)
    neither = Counter(case.function for case, a, b in answers if a and b)
    for title, calls_of in (("Only Ricci", only), ("Neither", neither)):
        names = ", ".join(f"`{name}`" for name in sorted(calls_of))
        lines += ["", f"{title} exports some call of {names}."]
    lines[-1] = lines[-1].replace("exports some call", "exports some calls")
    return "\n".join(lines)


def main() -> None:
    """Rewrite the page and the record."""
    text = PAGE.read_text()
    before, _, tail = text.partition(START)
    _, _, after = tail.partition(END)
    PAGE.write_text(f"{before}{START}\n\n{table()}\n\n{END}{after}")


if __name__ == "__main__":
    main()
