"""How long the notebooks ran when they were last executed, printed when the site is built."""

from typing import Any

from myst_nb.sphinx_ import NbMetadataCollector
from sphinx.application import Sphinx

LONGEST = 60.0


def show(app: Sphinx, error: Exception | None) -> None:
    """Print the seconds of each page with code cells."""
    if error is not None:
        return
    for page in sorted(app.env.found_docs):
        data = NbMetadataCollector.get_doc_data(app.env).get(page, {}).get("exec_data")
        if data and data.get("runtime") is not None:
            seconds = data["runtime"]
            note = "" if seconds < LONGEST else f"  more than {LONGEST:.0f} s"
            print(f"{page}: {seconds:.1f} s{note}")


def setup(app: Sphinx) -> dict[str, Any]:
    """Print the times at the end."""
    app.connect("build-finished", show)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
