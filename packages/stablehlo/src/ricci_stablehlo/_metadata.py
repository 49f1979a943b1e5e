"""XLA's ``frontend_attributes``: attributes that users set on operations, for the compiler.

They are inserted into the text of operations after the lowering rules, which do not handle them. An
operation ends in its type, after the last `` : ``; its attributes precede that.
"""

import re
from collections.abc import Sequence

from ._attributes import attribute_name
from ._types import string

__all__ = ["Metadata", "annotate_value", "merged_metadata"]

# Pairs of names and texts, sorted by name.
type Metadata = tuple[tuple[str, str], ...]

_NAME = "mhlo.frontend_attributes"
_text = r'"(?:[^"\\]|\\.)*"'
_present = rf'{re.escape(_NAME)} = \{{((?:[^"}}]|{_text})*)\}}'
_field = rf"({_text}|[\w$.]+) = {_text}"
# Lines that are not operations of the user's, or have their attributes in another place.
_excluded = re.compile(
    r'(?:%[\w#:]+ = )?"?(?:stablehlo\.(?:constant|optimization_barrier|return)|sdy\.|return)\b'
)
_broadcast = re.compile(r"%\w+ = stablehlo\.broadcast_in_dim ")
_location = re.compile(r" loc\(#loc[0-9]+\)$")


def metadata_text(metadata: Metadata) -> str:
    """Return the attribute with these texts."""
    return f"{_NAME} = {{{', '.join(map(_item, metadata))}}}"


def _item(pair: tuple[str, str]) -> str:
    name, text = pair
    return f"{attribute_name(name)} = {string(text)}"


def annotate(lines: list[str], start: int, indent: str, metadata: Metadata) -> None:
    """Add attributes to the operations at an indentation in the lines from ``start`` on.

    Constants get none, nor do broadcasts that only prepare an operand.
    """
    ends = [i for i in range(start, len(lines)) if _ends_operation(lines[i], indent)]
    for i in ends:
        if i == ends[-1] or not _broadcast.match(lines[i], len(indent)):
            lines[i] = annotated(lines[i], metadata)


def annotate_value(lines: list[str], name: str, indent: str, metadata: Metadata) -> None:
    """Add attributes to the operation that defines a value, if it is among the lines."""
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
    return not line.endswith("{") and " : " in line and not _excluded.match(line, len(indent))


def annotated(line: str, metadata: Metadata) -> str:
    """Add attributes to the last line of an operation; those already present are unchanged."""
    match = _location.search(line)
    location = "" if match is None else match[0]
    head, colon, signature = line.removesuffix(location).rpartition(" : ")
    present = re.search(_present, head)
    if present is not None:
        names = {name.strip('"') for name in re.findall(_field, present[1])}
        more = [_item(pair) for pair in metadata if pair[0] not in names]
        items = ", ".join([*([present[1]] if present[1] else []), *more])
        head = f"{head[: present.start()]}{_NAME} = {{{items}}}{head[present.end() :]}"
    else:
        at = _attributes_start(head)
        text = metadata_text(metadata)
        head = f"{head} {{{text}}}" if at is None else f"{head[:at]}{text}, {head[at:]}"
    return f"{head}{colon}{signature}{location}"


def _attributes_start(head: str) -> int | None:
    """Return the start of the attribute dictionary at the end of a text, or ``None``."""
    if not head.endswith("}") or head.endswith("{}"):
        return None
    depth = 0
    for i in reversed(range(len(head))):
        depth += (head[i] == "}") - (head[i] == "{")
        if not depth:
            # ``window = {...}`` is part of the operation's notation.
            return None if head[:i].endswith(("= ", "<", "(")) else i + 1
    return None


def merged_metadata(metadata: Metadata, more: Sequence[tuple[str, str]]) -> Metadata:
    """Merge attributes; the later ones override those of the same name."""
    return tuple(sorted({**dict(metadata), **dict(more)}.items()))
