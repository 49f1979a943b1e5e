"""Attributes that users give operations for the compiler: XLA's ``frontend_attributes``.

They are added to the text of operations that is written already, so that no rule needs to know of
them. An operation ends in its type, after the last `` : ``; its attributes stand before that.
"""

import re
from collections.abc import Sequence

from ._attributes import attribute_name
from ._types import string

# Pairs of names and texts, sorted by name.
type Metadata = tuple[tuple[str, str], ...]

_NAME = "mhlo.frontend_attributes"
_text = r'"(?:[^"\\]|\\.)*"'
_present = rf'{re.escape(_NAME)} = \{{((?:[^"}}]|{_text})*)\}}'
_field = rf"({_text}|[\w$.]+) = {_text}"
# What is not an operation that a user would mean, or has its attributes in another place.
_left_out = re.compile(
    r'(?:%[\w#:]+ = )?"?(?:stablehlo\.(?:constant|optimization_barrier|return)|sdy\.|return)\b'
)
_broadcast = re.compile(r"%\w+ = stablehlo\.broadcast_in_dim ")
_location = re.compile(r" loc\(#loc[0-9]+\)$")


def metadata_text(metadata: Metadata) -> str:
    """The attribute that gives an operation these texts."""
    return f"{_NAME} = {{{', '.join(map(_item, metadata))}}}"


def _item(pair: tuple[str, str]) -> str:
    name, text = pair
    return f"{attribute_name(name)} = {string(text)}"


def annotate(lines: list[str], start: int, indent: str, metadata: Metadata) -> None:
    """Give the operations that the lines from ``start`` on have at an indentation these attributes.

    Constants have none, nor the broadcasts that only prepare an operand.
    """
    ends = [i for i in range(start, len(lines)) if _ends_operation(lines[i], indent)]
    for i in ends:
        if i == ends[-1] or not _broadcast.match(lines[i], len(indent)):
            lines[i] = annotated(lines[i], metadata)


def annotate_value(lines: list[str], name: str, indent: str, metadata: Metadata) -> None:
    """Give the operation that makes a value these attributes, if it is among the lines."""
    value, _, _ = name.partition("#")
    heads = (f"{indent}{value} = ", f"{indent}{value}:")
    for i in reversed(range(len(lines))):
        if lines[i].startswith(heads):
            end = next((j for j in range(i, len(lines)) if _ends_operation(lines[j], indent)), None)
            if end is not None and (end == i or lines[end].startswith(f"{indent}}})")):
                lines[end] = annotated(lines[end], metadata)
            return


def _ends_operation(line: str, indent: str) -> bool:
    """Whether a line is the last one of an operation at an indentation, with its type."""
    if not line.startswith(indent) or line.startswith((" ", "^", "}, "), len(indent)):
        return False
    if line.startswith("}", len(indent)) and not line.startswith("})", len(indent)):
        return False
    return not line.endswith("{") and " : " in line and not _left_out.match(line, len(indent))


def annotated(line: str, metadata: Metadata) -> str:
    """The last line of an operation, with attributes; those that it has stay as they are."""
    found = _location.search(line)
    location = "" if found is None else found[0]
    head, colon, signature = line.removesuffix(location).rpartition(" : ")
    present = re.search(_present, head)
    if present is not None:
        known = {name.strip('"') for name in re.findall(_field, present[1])}
        more = [_item(pair) for pair in metadata if pair[0] not in known]
        items = ", ".join([*([present[1]] if present[1] else []), *more])
        head = f"{head[: present.start()]}{_NAME} = {{{items}}}{head[present.end() :]}"
    else:
        at = _attributes_start(head)
        text = metadata_text(metadata)
        head = f"{head} {{{text}}}" if at is None else f"{head[:at]}{text}, {head[at:]}"
    return f"{head}{colon}{signature}{location}"


def _attributes_start(head: str) -> int | None:
    """Where the dictionary of attributes begins that a text ends with; ``None`` if it has none."""
    if not head.endswith("}") or head.endswith("{}"):
        return None
    depth = 0
    for i in reversed(range(len(head))):
        depth += (head[i] == "}") - (head[i] == "{")
        if not depth:
            # ``window = {...}`` is a part of the operation's own notation.
            return None if head[:i].endswith(("= ", "<", "(")) else i + 1
    return None


def merged_metadata(metadata: Metadata, more: Sequence[tuple[str, str]]) -> Metadata:
    """Attributes with further ones, which take the place of those of the same name."""
    return tuple(sorted({**dict(metadata), **dict(more)}.items()))
