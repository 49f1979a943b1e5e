"""The reference: pages of every public name, written from the objects before Sphinx reads them.

Autodoc would read each object by the module that it is documented in. Ours are gathered from many
packages, wrapped at the boundary and loaded when they are asked for, and a thousand of them come
from factories: so their pages are written here, which is quick, and Sphinx reads text.
"""

from pathlib import Path
from typing import Any

import namespaces
import source_pages
from docutils import nodes
from pages import Pages
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import logging
from types_of_others import address

logger = logging.getLogger(__name__)
FOLDER = "reference/api"


def write_pages(app: Sphinx) -> None:
    """Write the pages whose text has changed, and remove those of names that are gone."""
    folder = Path(app.srcdir, FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    found = namespaces.collect() if app.config.ricci_reference else {}
    pages = Pages(found, app.config, Path(app.srcdir).parent)
    written = {f"{name}.rst": text for name, text in pages.all()}
    written["namespaces.txt"] = pages.index()
    for file in folder.iterdir():
        if file.name not in written:
            file.unlink()
    for name, text in written.items():
        file = folder / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
    for name in pages.missing:
        logger.warning("%s has no docstring", name, type="reference", subtype="docstring")
    app.ricci_pages = pages  # type: ignore[attr-defined]


def resolve(app: Sphinx, tree: nodes.document) -> None:
    """Point the names in signatures, as short as the source has them, to the pages they mean.

    Sphinx would take the ``T`` of a signature for the property of arrays.
    """
    pages: Pages = app.ricci_pages  # type: ignore[attr-defined]
    for node in list(tree.findall(addnodes.pending_xref)):
        target = node["reftarget"]
        if node.get("refdomain") != "py" or target.startswith("ricci."):
            continue
        home = pages.types.get(target.rpartition(".")[2])
        url = address(target)
        if home:
            node["reftarget"], node["refspecific"] = home, False
            node["reftype"] = "obj"
        elif url:
            node.replace_self(nodes.reference("", "", *node.children, internal=False, refuri=url))
        else:  # a type variable, or a type that is not public
            node.replace_self(node.children)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the steps; ``-D ricci_reference=0`` leaves the reference out."""
    app.add_config_value("ricci_reference", True, "env", bool)
    app.connect("builder-inited", write_pages)
    app.connect("doctree-read", resolve)
    app.connect("build-finished", source_pages.write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
