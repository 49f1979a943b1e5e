"""Links at the end of messages to the pages that explain errors.

While there is no site, the link is a command: ``ricci_ir.explain`` prints the page.
"""

from importlib.util import find_spec

__all__ = ["error_link", "explained"]

# The address of the pages, with a slash at the end. While it is empty, messages name a command.
SITE = ""


def error_link(code: str) -> str:
    """The line that links a page: its address, or a command while the site is missing."""
    if SITE:
        return f"See {SITE}{code}.html"
    module = "ricci.errors" if find_spec("ricci") is not None else "ricci_ir"
    return f"See: python -m {module} {code}"


def explained(message: str, code: str) -> str:
    """A message with the link of a page as its last line.

    Args:
      message: the message.
      code: the page's name in ``docs/errors``.

    Example:
      >>> print(explained("add cannot broadcast shapes (2,), (3,).", "shapes"))
      add cannot broadcast shapes (2,), (3,).
      See: python -m ricci... shapes
    """
    link = error_link(code)
    return message if message.endswith(link) else f"{message}\n{link}"
