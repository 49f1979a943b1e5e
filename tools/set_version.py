"""Set the version of every package: `python3 tools/set_version.py 0.2.0`.

Writes the file VERSION, and repeats it where it has to stand as well: in each package's version and
pins of siblings, and in the documents.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION = r"\d+(?:\.\d+)*(?:(?:a|b|rc)\d+)?"
REPEATED = re.compile(
    rf'(?m)(?<=^version = "){VERSION}(?=")|(?<=^version: ){VERSION}$|(?<=\+ricci\.){VERSION}'
)
PINNED = re.compile(r'("ricci(?:-\w+)?(?:\[[\w,-]+\])?==)[^"]*(?=")')


def with_version(text: str, version: str) -> str:
    """Return a pyproject.toml, the citation or a document with another version of Ricci.

    >>> print(with_version('version = "0.1.0"\\ndependencies = ["ricci-ir==0.1.0"]', "0.2.0"))
    version = "0.2.0"
    dependencies = ["ricci-ir==0.2.0"]
    >>> with_version('version = "0.12.0.1+ricci.0.1.0"', "0.2.0")
    'version = "0.12.0.1+ricci.0.2.0"'
    """
    return PINNED.sub(rf"\g<1>{version}", REPEATED.sub(version, text))


def files(root: Path = ROOT) -> list[Path]:
    """Return the files that repeat the version."""
    pages = ("docs/index.md", "docs/releases.md", "docs/coming-from-jax/drop-in.md")
    others = [*pages, "packages/jax/README.md", "CITATION.cff", "README.md"]
    return [*sorted(root.glob("packages/*/pyproject.toml")), *(root / name for name in others)]


def main(version: str) -> None:
    """Write the version everywhere."""
    (ROOT / "VERSION").write_text(f"{version}\n", encoding="utf-8")
    for file in files():
        file.write_text(with_version(file.read_text(encoding="utf-8"), version), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2 or re.fullmatch(VERSION, sys.argv[1]) is None:
        sys.exit("usage: set_version.py VERSION, such as 0.2.0 or 0.2.0rc1")
    main(sys.argv[1])
