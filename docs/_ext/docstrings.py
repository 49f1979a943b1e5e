"""Docstrings as reStructuredText: the sections of ours, and links from names to their pages."""

import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any

from borrowed import DOCSTRINGS
from sphinx.config import Config
from sphinx.ext.napoleon import GoogleDocstring

# A source may be told in the line of its heading; it is a section like the others then.
_SOURCE = re.compile(r"^(Source|See also): (?=\S)(.*(?:\n(?!\n).*)*)", re.M)
# Bars and underscores at the end of a word mean something in reStructuredText, and not in ours.
_MARKS = re.compile(r"\||(?<=\w)_(?!\w)")
_LITERALS = re.compile(r"(``.*?``|`[^`]+ <[^`]+>`__)", re.S)
# What is written of a name so that the reader looks there: "see ``dot``", "as for ``uniform``".
_POINTER = re.compile(r"\b([Ss]ee|as for|as in|like) ``([A-Za-z_][\w.]*)``")
_NAMES = re.compile(r"``([A-Za-z_][\w.]*)``")


class Docstring(GoogleDocstring):
    """A docstring whose Returns are prose: what stands before a colon in them is no type."""

    def _consume_returns_section(
        self, preprocess_types: bool = False
    ) -> list[tuple[str, str, list[str]]]:
        lines = self._dedent(self._consume_to_next_section())
        return [("", "", lines)] if any(lines) else []


def documentation(value: Any, dotted: str) -> str:
    """Return the docstring of an object itself, not that of its class, nor other people's."""
    if dotted in DOCSTRINGS:
        return DOCSTRINGS[dotted]
    origin = getattr(inspect.unwrap(value), "__module__", None) or type(value).__module__
    text = inspect.getdoc(value) or ""
    # Where the drop-in is imported, the classes of tracers are named by its modules.
    is_ours = origin.startswith("ricci") or origin.partition(".")[0] == "jax"
    if not is_ours or (not inspect.isclass(value) and text == (inspect.getdoc(type(value)) or "")):
        return ""
    return text


def summary(text: str) -> str:
    """Return the first sentence of a docstring, for a table.

    >>> summary("The sine. Integers become floats.\\n\\nArgs: ...")
    'The sine.'
    """
    first = " ".join(text.strip().partition("\n\n")[0].split())
    sentence = re.split(r"(?<=[^.\s]\.)\s+(?=[A-Z`])", first)[0]
    return _escaped(sentence)


def restructured(
    text: str, kind: str, name: str, config: Config, link: Callable[[str], str | None]
) -> list[str]:
    """Return a docstring as lines of reStructuredText.

    Args:
        text: the docstring, without its indentation.
        kind: ``class``, ``function`` or ``method``.
        name: the dotted name, for messages.
        config: Sphinx's.
        link: from a name in a docstring to the dotted name that it stands for, or None.
    """
    text = _escaped(text)
    text = _SOURCE.sub(lambda m: f"{m[1]}:\n{_indented(m[2])}", text)
    text = _pointers(text, link)
    return str(Docstring(text, config, what=kind, name=name)).splitlines()


def _escaped(text: str) -> str:
    """Escape marks in prose, which examples and literals keep."""
    done = []
    for paragraph in text.split("\n\n"):
        if not re.search(r"^\s*>>> ", paragraph, re.M):
            parts = _LITERALS.split(paragraph)
            parts[::2] = [_MARKS.sub(lambda m: "\\" + m[0], part) for part in parts[::2]]
            paragraph = "".join(parts)
        done.append(paragraph)
    return "\n\n".join(done)


def _indented(text: str) -> str:
    return "\n".join(f"    {line.strip()}" for line in text.splitlines())


def _pointers(text: str, link: Callable[[str], str | None]) -> str:
    """Names to which the reader is sent become links."""

    def role(name: str) -> str:
        target = link(name)
        return f":py:obj:`{name} <{target}>`" if target else f"``{name}``"

    text = _POINTER.sub(lambda m: f"{m[1]} {role(m[2])}", text)
    head, also, tail = text.partition("See also:")
    if also:
        section, gap, rest = tail.partition("\n\n")
        tail = _NAMES.sub(lambda m: role(m[1]), section) + gap + rest
    return head + also + tail


def literal(lines: Iterable[str]) -> list[str]:
    """Return lines indented by three, as what stands in a directive."""
    return [f"   {line}" if line else "" for line in lines]
