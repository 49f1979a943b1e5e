"""Print the table of limits; arguments: names of models, ``--write`` to put it into the guide."""

import sys
from pathlib import Path

from .models import MODELS
from .table import Row, rows

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "memory.md"
HEAD = """\
| model | limit | peak | forward pass that runs twice | planning, in compile times \
| step, beside a checkpoint around each layer \
| step, beside the quickest by hand under the limit |
|---|---|---|---|---|---|---|
"""


def line(name: str, row: Row) -> str:
    """Return a row of the table."""
    if not row.met:
        by_hand = row.policy if row.policy != "none" else f"none: {row.peak:.0%} at least"
        cells = [f"not met: {row.failure}", "", f"{row.planning:.1f}", "", by_hand]
    else:
        again = f"{row.again:.0%}" + f", in {row.pieces} pieces" * (row.pieces > 1)
        best = "none" if row.best is None else f"{row.best:.2f} ({row.policy})"
        cells = [f"{row.peak:.0%}", again, f"{row.planning:.1f}", f"{row.full:.2f}", best]
    return "| " + " | ".join([name, f"{row.share:.0%}", *cells]) + " |\n"


def with_table(text: str, table: str) -> str:
    """Return the guide with its table replaced."""
    start = text.index(HEAD.partition("\n")[0])
    end = text.index("\n\n", start) + 1
    return text[:start] + table + text[end:]


def main(arguments: list[str]) -> None:
    """Measure the models, and print or write their rows."""
    table = HEAD
    print(HEAD, end="")
    for name in [name for name in arguments if name != "--write"] or MODELS:
        for row in rows(MODELS[name]()):
            table += line(name, row)
            print(line(name, row), end="", flush=True)
    if "--write" in arguments:
        GUIDE.write_text(with_table(GUIDE.read_text(encoding="utf-8"), table), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
