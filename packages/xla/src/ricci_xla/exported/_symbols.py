"""Renaming the symbols of a module's text."""

import re
from collections.abc import Callable

# Strings, in which "@" has no meaning, such as constants in hexadecimal; they may be long.
STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
# Tokens: string literals, custom_call targets (not renamed), symbols (renamed).
_TOKENS = re.compile(
    rf"(?P<other>custom_call @(?:[\w$.-]+|{STRING})|(?<!@){STRING})"
    rf"|@(?P<plain>[\w$.-]+)|@(?P<quoted>{STRING})"
)


def renamed(text: str, rename: Callable[[str], str]) -> str:
    """Apply a function to the name of each symbol of a text."""

    def replace(match: re.Match[str]) -> str:
        if match["other"] is not None:
            return match[0]
        plain = match["plain"]
        return "@" + rename(match["quoted"][1:-1] if plain is None else plain)

    return _TOKENS.sub(replace, text)
