"""Check the light install: no jaxlib, and less than 5 MB beside NumPy and ml_dtypes.

What counts is what the distributions bring. The bytecode that an installer may make of it, which
takes half as much again or more, is printed beside it.

Run by the interpreter of an environment, with the distributions that were asked for; what they
need is followed through the installed metadata.
"""

import importlib.util
import re
import sys
from importlib.metadata import distribution
from pathlib import Path

LIMIT = 5_000_000
NOT_COUNTED = {"numpy", "ml-dtypes"}


def canonical(name: str) -> str:
    """Return a distribution's name as indexes compare it.

    >>> canonical("ml_dtypes")
    'ml-dtypes'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def installed(roots: list[str]) -> set[str]:
    """Return the distributions that were asked for and everything they need."""
    names: set[str] = set()
    todo = [canonical(root) for root in roots]
    while todo:
        name = todo.pop()
        if name in names:
            continue
        names.add(name)
        for line in distribution(name).requires or []:
            if "extra ==" not in line:
                match = re.match(r"[\w.-]+", line)
                assert match, f"requirement without a name: {line}"
                todo.append(canonical(match.group()))
    return names


def sizes(name: str) -> tuple[int, int]:
    """Return the bytes of the files that a distribution brought, and of bytecode made of them."""
    paths = [Path(str(file.locate())) for file in distribution(name).files or []]
    brought = [path for path in paths if path.is_file() and path.suffix != ".pyc"]
    compiled = [path for path in paths if path.is_file() and path.suffix == ".pyc"]
    return sum(p.stat().st_size for p in brought), sum(p.stat().st_size for p in compiled)


def main(roots: list[str]) -> None:
    """Print the sizes and exit with a message where a promise is broken."""
    if importlib.util.find_spec("jaxlib") is not None:
        sys.exit("the light install brought jaxlib")
    counted = {name: sizes(name) for name in sorted(installed(roots) - NOT_COUNTED)}
    for name, (brought, cached) in counted.items():
        print(f"{name:20} {brought:>9,} bytes, and {cached:>9,} of bytecode")
    total, cached = (sum(column) for column in zip(*counted.values(), strict=True))
    print(f"{'together':20} {total:>9,} bytes, at most {LIMIT:,}; and {cached:,} of bytecode")
    if total >= LIMIT:
        sys.exit("the light install is too large")


if __name__ == "__main__":
    main(sys.argv[1:])
