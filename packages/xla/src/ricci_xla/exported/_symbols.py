"""Renaming the symbols of a module's text."""

import re
from collections.abc import Callable

# Strings, in which "@" has no meaning; targets of custom calls, which are no symbols; symbols.
_TOKENS = re.compile(
    r'(?P<other>custom_call @(?:[\w$.-]+|"(?:[^"\\]|\\.)*")|(?<!@)"(?:[^"\\]|\\.)*")'
    r'|@(?P<plain>[\w$.-]+)|@"(?P<quoted>(?:[^"\\]|\\.)*)"'
)


def renamed(text: str, rename: Callable[[str], str]) -> str:
    """A text in which each symbol has the name that a function gives to it."""

    def replace(match: re.Match[str]) -> str:
        if match["other"] is not None:
            return match[0]
        return "@" + rename(match["plain"] if match["plain"] is not None else match["quoted"])

    return _TOKENS.sub(replace, text)
