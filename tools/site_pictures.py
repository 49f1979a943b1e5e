"""Pictures of the built site, as wide and narrow screens show it, light and dark.

They need Playwright's Python package and a Chromium on the path; without one that is said.
"""

import functools
import http.server
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, TimeoutError, sync_playwright  # pyright: ignore[reportMissingImports]  # of the group docs

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WIDTHS = {"wide": 1280, "narrow": 400}
HEIGHT = 900
PAGES = {
    "home": "index.html",
    "tutorial": "tutorials/01-arrays-and-jit.html",
    "guide": "guides/options.html",
    "reference": "reference/api/ricci.numpy.einsum.html",
    "namespace": "reference/api/ricci.numpy.html",
    "search": "search.html?q=vmap",
}
SEARCHED = "ul.search li a"


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves files without a word."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on this machine while the block runs; give its address."""
    handler = functools.partial(Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def take(browser: Browser, address: str, pages: dict[str, str], out: Path) -> list[str]:
    """Take the pictures.

    Returns:
        What looks wrong: pages wider than their screen, and a search that finds nothing.
    """
    wrong = []
    for size, width in WIDTHS.items():
        for scheme in ("light", "dark"):
            page = browser.new_page(
                viewport={"width": width, "height": HEIGHT}, color_scheme=scheme
            )
            for name, path in pages.items():
                page.goto(f"{address}/{path}")
                if name == "search":
                    try:
                        page.wait_for_selector(SEARCHED, timeout=20_000)
                    except TimeoutError:
                        wrong.append(f"{path}: nothing found")
                actual = page.evaluate("document.documentElement.scrollWidth")
                if actual > width:
                    wrong.append(f"{path}: {actual} pixels wide on a screen of {width}")
                page.screenshot(path=out / f"{name}-{size}-{scheme}.png")
            page.close()
    return wrong


def take_pictures(site: Path, out: Path) -> list[str]:
    """Take pictures of a few pages into a folder, and return what looks wrong in them."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        print(f"no pictures: none of {', '.join(BROWSERS)} is on the path")
        return []
    out.mkdir(parents=True, exist_ok=True)
    pages = {n: p for n, p in PAGES.items() if (site / p.partition("?")[0]).exists()}
    with sync_playwright() as play, served(site) as address:
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        wrong = take(browser, address, pages, out)
        browser.close()
    print(f"pictures of {', '.join(pages)}: {out}", *wrong, sep="\n")
    return wrong
