"""Values as they appear in error messages."""

from typing import Any


def shorten(value: Any) -> str:
    """The repr of a value, cut to fit on a line or two.

    >>> len(shorten("x" * 1000))
    200
    """
    text = repr(value)
    return text if len(text) <= 200 else text[:197] + "..."
