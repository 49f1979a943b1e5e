"""Print the pages of ``docs/errors`` that explain errors; the package carries them.

python -m ricci.errors                 list the pages
python -m ricci.errors tracer-bool     print one of them
"""

import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "error_pages"
OTHERS = {"index", "measured"}  # pages that explain no single error


def error_pages() -> dict[str, str]:
    """The title of each page, by code.

    >>> error_pages()["tracer-bool"]
    'The truth of a traced array'
    """
    titles: dict[str, str] = {}
    for file in sorted(FOLDER.glob("*.md")):
        if file.stem not in OTHERS:
            first = file.read_text(encoding="utf-8").partition("\n")[0]
            titles[file.stem] = first.removeprefix("# ")
    return titles


def main(arguments: list[str]) -> int:
    """Print a page, or without an argument the list of pages.

    Returns:
      The exit status: 1 if there is no such page.
    """
    pages = error_pages()
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__ or "")
        for code, title in pages.items():
            print(f"  {code:<24}{title}")
        return 0
    code = arguments[0]
    if code not in pages:
        print(f"unknown page {code!r}; the pages are {', '.join(pages)}", file=sys.stderr)
        return 1
    print((FOLDER / f"{code}.md").read_text(encoding="utf-8").strip())
    return 0
