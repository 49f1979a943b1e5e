"""Patterns of the tables of accepted differences: `*` is any text, all else is itself."""

import re


def matches(text: str, pattern: str) -> bool:
    """Whether a whole text is of a pattern.

    >>> matches("f32[8]{V:x} and no more", "f32[8]{V:*}*")
    True
    >>> matches("f32[8]", "f32[?]")
    False
    """
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None
