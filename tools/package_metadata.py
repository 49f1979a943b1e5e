"""The metadata that every package has: its classifiers and the keywords that all share.

    python3 tools/package_metadata.py

Each pyproject.toml holds them, where every tool can read them; this program writes them there, and
a test fails where they differ. A package's own keywords come first, and are changed by hand.
"""

import json
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# These are tested: Pythons and systems that releases were tried on.
CLASSIFIERS = (
    "Development Status :: 3 - Alpha",
    "Intended Audience :: Developers",
    "Intended Audience :: Science/Research",
    "Operating System :: POSIX :: Linux",
    "Programming Language :: Python :: 3",
    "Programming Language :: Python :: 3 :: Only",
    "Programming Language :: Python :: 3.12",
    "Programming Language :: Python :: 3.13",
    "Topic :: Scientific/Engineering",
    "Topic :: Scientific/Engineering :: Mathematics",
    "Typing :: Typed",
)
SHARED_KEYWORDS = ("numerical computing", "ricci")
FIELD = re.compile(r"^(?:keywords|classifiers) = \[.*?\]\n", re.MULTILINE | re.DOTALL)


def lines(name: str, values: list[str]) -> str:
    """Return a list of strings in TOML: on one line where it fits, else a line for each.

    >>> print(lines("keywords", ["trees", "ricci"]), end="")
    keywords = ["trees", "ricci"]
    """
    short = f"{name} = [{', '.join(map(json.dumps, values))}]\n"
    if len(short) <= 100:
        return short
    return f"{name} = [\n{''.join(f'  {json.dumps(value)},{chr(10)}' for value in values)}]\n"


def with_metadata(text: str) -> str:
    """Return a pyproject.toml with the shared classifiers and keywords, behind its own keywords.

    Raises:
      ValueError: if it has no line that says which Pythons it needs.
    """
    listing = [
        keyword
        for keyword in tomllib.loads(text)["project"].get("keywords", [])
        if keyword not in SHARED_KEYWORDS
    ]
    written = lines("keywords", [*listing, *SHARED_KEYWORDS]) + lines("classifiers", [*CLASSIFIERS])
    remaining = FIELD.sub("", text)
    before, needs, after = remaining.partition("requires-python = ")
    if not needs:
        raise ValueError("no line says requires-python = ...")
    python, newline, after = after.partition("\n")
    return before + needs + python + newline + written + after


def main() -> int:
    """Write the metadata into every package; return the exit status."""
    for file in sorted(ROOT.glob("packages/*/pyproject.toml")):
        text = file.read_text(encoding="utf-8")
        file.write_text(with_metadata(text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
