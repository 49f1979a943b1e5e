"""The source, highlighted, as pages that the reference links to by line."""

from pathlib import Path

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from sphinx.application import Sphinx


def write(app: Sphinx, error: Exception | None) -> None:
    """Write a page of each source file that the reference links to."""
    if error is not None or app.builder.format != "html":
        return
    for file in sorted(app.ricci_pages.sources):  # type: ignore[attr-defined]
        package = next(part for part in file.parts if part.startswith("ricci"))
        inside = Path(*file.parts[file.parts.index(package) :])
        page = Path(app.outdir, "source", inside.with_suffix(".html"))
        if page.exists() and page.stat().st_mtime >= file.stat().st_mtime:
            continue
        page.parent.mkdir(parents=True, exist_ok=True)
        formatter = HtmlFormatter(
            full=True,
            title=str(inside),
            linenos="inline",
            anchorlinenos=True,
            lineanchors="line",
            style="tango",
        )
        page.write_text(highlight(file.read_text(encoding="utf-8"), PythonLexer(), formatter))
