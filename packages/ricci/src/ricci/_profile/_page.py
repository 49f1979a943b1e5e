"""The page: a template with its style and its script, and the measurements as JSON inside."""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

_DATA = "/*DATA*/null"
_TITLE = "<!--TITLE-->"


def page(data: Mapping[str, Any]) -> str:
    """Return a self-contained page.

    Args:
      data: the result of ``report``, with a heading.
    """
    # Inside of <script> only "<" could end the JSON, and "<!--" begin something else.
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    title = str(data["script"]).replace("&", "&amp;").replace("<", "&lt;")
    template = files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    return template.replace(_TITLE, title).replace(_DATA, text)
