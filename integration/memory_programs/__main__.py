"""Print the table of limits; arguments: names of models."""

import sys

from .models import MODELS
from .table import rows

HEAD = """\
| model | limit | peak | forward pass that runs twice | planning / compiling \
| step / checkpoint around each layer | step / best by hand under the limit | which |
|---|---|---|---|---|---|---|---|"""


def main(names: list[str]) -> None:
    print(HEAD)
    for name in names or MODELS:
        for row in rows(MODELS[name]()):
            best = "" if row.best is None else f"{row.best:.2f}"
            cells = [
                name,
                f"{row.share:.0%}",
                f"{row.peak:.0%}" if row.met else f"not met: {row.failure}",
                f"{row.again:.0%}",
                f"{row.planning:.1f}",
                f"{row.full:.2f}",
                best,
                row.policy,
            ]
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
