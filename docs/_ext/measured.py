"""Numbers of ``docs/benchmarks.md`` for the home page."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FILE = "docs/benchmarks.md"
FILES = {FILE}
# Of each kind of work one, the worst ratios too.
SHOWN = (
    "import",
    "trace 3,000 equations",
    "trace the gradient of 3,000 equations",
    "lower 3,000 equations to StableHLO",
    "jnp.sin(x)",
    "x[i], index varying",
    "eager grad of three operations",
    "eager value and gradient of a 3-layer MLP",
    "jitted call, 1 leaf",
    "run a compiled MLP step",
)


def _rows(text: str) -> dict[str, list[str]]:
    """The first table's cells by workload."""
    table = text.partition("| workload")[2].partition("\n\n")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return {row[0]: row[1:] for row in cells[2:]}


def numbers() -> str:
    """Return the table of chosen workloads, the count of all, and how they were measured."""
    text = (ROOT / FILE).read_text(encoding="utf-8")
    rows = _rows(text)
    ratios = [float(r[2]) for r in rows.values() if r[2].replace(".", "").isdigit()]
    lines = ["| work | JAX 0.11.2 | Ricci | ratio |", "|---|---|---|---|"]
    lines += [f"| {name} | {' | '.join(rows[name][:3])} |" for name in SHOWN]
    slower = sum(r > 1.05 for r in ratios)
    how = next(line for line in text.splitlines() if line[:4].isdigit())
    lines += [
        "",
        f"Of {len(ratios)} workloads measured beside JAX, {sum(r < 0.95 for r in ratios)} take "
        f"less than 95% of its time or size, and {slower} more than 105%; "
        f"[the others are equal within 5%](/benchmarks.md). Measured: {how}",
    ]
    return "\n".join(lines)
