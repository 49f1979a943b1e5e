"""Renaming the symbols of a module's text."""

import re
from collections.abc import Callable

# Strings, in which "@" has no meaning, such as constants in hexadecimal; they may be long.
STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
# Those; targets of custom calls, which are no symbols; symbols.
_TOKENS = re.compile(
    rf"(?P<other>custom_call @(?:[\w$.-]+|{STRING})|(?<!@){STRING})"
    rf"|@(?P<plain>[\w$.-]+)|@(?P<quoted>{STRING})"
)


def renamed(text: str, rename: Callable[[str], str]) -> str:
    """A text in which each symbol has the name that a function gives to it."""

    def replace(match: re.Match[str]) -> str:
        if match["other"] is not None:
            return match[0]
        plain = match["plain"]
        return "@" + rename(match["quoted"][1:-1] if plain is None else plain)

    return _TOKENS.sub(replace, text)
