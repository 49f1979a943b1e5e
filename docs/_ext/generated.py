"""The directive ``{generated}``: parts of pages that are made from the repository's own tables.

    ```{generated} numbers
    ```

What such a part says is what the tests check, so that it cannot grow old.
"""

from pathlib import Path
from typing import Any, ClassVar

import differences
import drawings
import measured
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parent.parent.parent
TEXTS = {
    "surface": differences.surface,
    "missing": differences.missing,
    "unsupported": differences.unsupported,
    "signatures": differences.signatures,
    "numpy": differences.numpy_api,
    "lax": differences.lax,
    "printed": differences.printed,
    "devices": differences.devices,
    "programs": differences.programs,
    "edges": differences.edges,
    "errors": differences.errors,
    "numbers": measured.numbers,
}
DRAWINGS = {
    "packages": drawings.packages,
    "call": drawings.call,
    "transformations": drawings.transformations,
}


class Generated(SphinxDirective):
    """A text in Markdown, or a drawing, by its name."""

    required_arguments = 1
    option_spec: ClassVar = {}

    def run(self) -> list[nodes.Node]:
        """Make the part of the page."""
        name = self.arguments[0]
        self.env.note_dependency(str(Path(__file__)))
        for file in (differences.FILES | measured.FILES) if name in TEXTS else drawings.FILES:
            self.env.note_dependency(str(ROOT / file))
        if name in DRAWINGS:
            return [nodes.raw("", f'<div class="drawing">{DRAWINGS[name]()}</div>', format="html")]
        if name not in TEXTS:
            raise self.error(f"nothing is generated under the name {name!r}")
        return self.parse_text_to_nodes(TEXTS[name]())


def trim(app: Sphinx, tree: nodes.document) -> None:
    """Leave out the empty line by which an example's output ends in a page's source."""
    for block in tree.findall(nodes.literal_block):
        text = block.astext()
        if text.endswith("\n") and block.rawsource == text:
            block.rawsource = text.rstrip()
            block.children = [nodes.Text(block.rawsource)]
            block.children[0].parent = block


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.connect("doctree-read", trim)
    app.add_directive("generated", Generated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
