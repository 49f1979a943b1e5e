"""Links within the built site that lead nowhere: files that are not there, and missing anchors."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LINK = re.compile(r"""<a\b[^>]*?\bhref="([^"]*)\"""")
_ANCHOR = re.compile(r"""\b(?:id|name)="([^"]*)\"""")


@cache
def _anchors(file: Path) -> frozenset[str]:
    return frozenset(_ANCHOR.findall(file.read_text(encoding="utf-8")))


def _links(file: Path) -> Iterator[str]:
    return iter(dict.fromkeys(_LINK.findall(file.read_text(encoding="utf-8"))))


def broken_links(site: Path) -> list[str]:
    """Return a line for each link of a built page that leads nowhere within the site.

    Args:
        site: the folder of the built site.
    """
    broken = []
    site = site.resolve()
    for page in sorted(site.rglob("*.html")):
        if page.relative_to(site).parts[0] in ("_static", "source"):
            continue
        for link in _links(page):
            parts = urlsplit(link.replace("&amp;", "&"))
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if not target.is_file():
                broken.append(f"{page.relative_to(site)}: there is no {link}")
            elif parts.fragment and target.suffix == ".html":
                if unquote(parts.fragment) not in _anchors(target):
                    broken.append(f"{page.relative_to(site)}: no such place, {link}")
    return broken
