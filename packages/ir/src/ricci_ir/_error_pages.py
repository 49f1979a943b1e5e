"""The links that messages end with: each leads to a page of the site that explains such errors.

``ricci_ir.explain`` prints the pages where there is no site.
"""

from importlib.util import find_spec

__all__ = [
    "error_link",
    "explained",
]

# Where the site has the pages, with a slash at the end. While it is empty, messages name a command.
SITE = ""


def error_link(code: str) -> str:
    """The line that leads to a page: its address, or while the site has none, a command."""
    if SITE:
        return f"See {SITE}{code}.html"
    module = "ricci.errors" if find_spec("ricci") is not None else "ricci_ir"
    return f"See: python -m {module} {code}"


def explained(message: str, code: str) -> str:
    """A message that ends with the link of a page.

    Args:
      message: what is wrong.
      code: the page's name in ``docs/errors``.

    Example:
      >>> print(explained("add cannot broadcast shapes (2,), (3,).", "shapes"))
      add cannot broadcast shapes (2,), (3,).
      See: python -m ricci... shapes
    """
    link = error_link(code)
    return message if message.endswith(link) else f"{message}\n{link}"
