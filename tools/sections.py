"""Documents of several sections, each of which another tool writes.

A section begins with a comment, ``<!-- name -->``, and ends where the next begins.
"""

import re
from pathlib import Path

_MARK = re.compile(r"^<!-- (\S+) -->\n", re.MULTILINE)


def with_section(document: str, name: str, text: str) -> str:
    """Return the document with a section replaced, or added at its end.

    >>> with_section("<!-- a -->\\nold\\n\\n<!-- b -->\\nkept\\n", "a", "new\\n")
    '<!-- a -->\\nnew\\n\\n<!-- b -->\\nkept\\n'
    >>> with_section("<!-- a -->\\nkept\\n", "b", "new\\n")
    '<!-- a -->\\nkept\\n\\n<!-- b -->\\nnew\\n'
    """
    head, *parts = _MARK.split(document)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    sections[name] = text
    written = [f"<!-- {key} -->\n{body.strip()}\n" for key, body in sections.items()]
    return "\n".join([*([f"{head.strip()}\n"] if head.strip() else []), *written])


def write_section(file: Path, name: str, text: str) -> None:
    """Replace a section of a file, which need not be there yet."""
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    file.write_text(with_section(before, name, text), encoding="utf-8")
