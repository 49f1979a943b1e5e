"""The command that explains errors, from the pages of ``docs/errors``, which the package carries.

python -m ricci.errors                 what pages there are
python -m ricci.errors tracer-bool     one of them
"""

import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "error_pages"
OTHERS = {"index", "measured"}  # pages about errors as a whole


def error_pages() -> dict[str, str]:
    """The title of each page, by code.

    >>> error_pages()["tracer-bool"]
    'The truth of a traced array'
    """
    found: dict[str, str] = {}
    for file in sorted(FOLDER.glob("*.md")):
        if file.stem not in OTHERS:
            first = file.read_text(encoding="utf-8").partition("\n")[0]
            found[file.stem] = first.removeprefix("# ")
    return found


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
        print(f"There is no page {code!r}. There are: {', '.join(pages)}.", file=sys.stderr)
        return 1
    print((FOLDER / f"{code}.md").read_text(encoding="utf-8").strip())
    return 0
