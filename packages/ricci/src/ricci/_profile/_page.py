"""The page: a template with its style and its script, and what was measured as JSON inside."""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

_DATA = "/*DATA*/null"
_TITLE = "<!--TITLE-->"


def page(found: Mapping[str, Any]) -> str:
    """A whole page, which asks for no other file.

    Args:
      found: what ``report`` returned, with a heading.
    """
    # Inside of <script> only "<" could end the data, and "<!--" begin what is no data.
    data = json.dumps(found, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    title = str(found["script"]).replace("&", "&amp;").replace("<", "&lt;")
    template = files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    return template.replace(_TITLE, title).replace(_DATA, data)
