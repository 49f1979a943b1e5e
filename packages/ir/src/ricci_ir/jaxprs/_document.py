"""Layout of text: documents that are printed on one line if they fit, else on several.

A document is a string, a ``Break``, a list of documents in sequence, or one of the nodes below. A
``Group`` is laid flat if its content fits in the rest of the line; else its breaks become new
lines. Source: P. Wadler, "A prettier printer", but without lookahead past the end of a group.
"""

from collections.abc import Callable, Iterable
from typing import Any

type Document = str | Break | Nest | Group | Styled | Comment | list[Document]


class Break:
    """A new line in a broken group; the text ``flat`` in a flat group."""

    __slots__ = ("flat",)

    def __init__(self, flat: str = " "):
        self.flat = flat


class Nest:
    """A document whose new lines are indented by ``indent`` more columns."""

    __slots__ = ("content", "indent")

    def __init__(self, indent: int, content: Document):
        self.indent = indent
        self.content = content


class Group:
    """A document that is laid out on one line where it fits."""

    __slots__ = ("content", "width")

    def __init__(self, content: Document):
        self.content = content
        self.width = flat_width(content)


class Styled:
    """Text with a colour: terminal codes to write before and after it."""

    __slots__ = ("off", "on", "text")

    def __init__(self, text: str, on: str, off: str):
        self.text = text
        self.on = on
        self.off = off


class Comment:
    """Text printed to the right of all code, beside the line in which this node occurs."""

    __slots__ = ("text",)

    def __init__(self, text: str):
        self.text = text


def fill(items: Iterable[Document], separator: str = "") -> list[Document]:
    """Items separated by spaces; a space becomes a new line if it would be past the margin."""
    result: list[Document] = []
    for item in items:
        if result:
            if separator:
                result.append(separator)
            result.append(space)
        result.append(item)
    return result


def joined(items: Iterable[Document], flat: str = " ") -> list[Document]:
    """Items on one line, or each on a separate line."""
    result: list[Document] = []
    for item in items:
        if result:
            result.append(Break(flat))
        result.append(item)
    return result


def flat_width(document: Document) -> int:
    """The number of columns of a document on one line."""
    kind = type(document)
    if kind is str:
        return len(document)  # pyright: ignore[reportArgumentType]
    if kind is list:
        return sum(map(flat_width, document))  # pyright: ignore[reportArgumentType]
    node: Any = document
    if kind is Group:
        return node.width
    if kind is Break:
        return len(node.flat)
    if kind is Styled:
        return len(node.text)
    if kind is Nest:
        return flat_width(node.content)
    return 0


space = Group(Break())
hard_line = Break("\n")


class _Page:
    """The lines printed so far: their texts, their widths, and the comments beside them."""

    def __init__(self, width: int, use_color: bool):
        self.width = width
        self.use_color = use_color
        self.lines: list[list[str]] = [[]]
        self.widths = [0]
        self.comments: list[list[str]] = [[]]
        self.off = ""

    def write(self, text: str, on: str = "", off: str = "") -> None:
        if not text:
            return
        line = self.lines[-1]
        if self.use_color and self.off != off:
            line.append(self.off)
            line.append(on)
            self.off = off
        line.append(text)
        self.widths[-1] += len(text)

    def new_line(self, indent: int) -> None:
        # The indent takes the colour of what came before it.
        self.lines.append([" " * indent])
        self.widths.append(indent)
        self.comments.append([])

    def text(self) -> str:
        lines = ["".join(parts) for parts in self.lines]
        if self.off:
            lines[-1] += self.off
        if not any(self.comments):
            return "\n".join(lines)
        margin = max(self.widths)
        result = []
        for line, width, comments in zip(lines, self.widths, self.comments, strict=True):
            first, *more = comments or [None]
            if first is None:
                result.append(line)
                continue
            result.append(f"{line}{' ' * (margin - width)} # {first}")
            result.extend(f"{' ' * margin} # {text}" for text in more)
        return "\n".join(result)


# A document still to be laid out: its indent, whether it is laid flat, and itself.
type _Task = tuple[int, bool, Any]


def _lay_text(page: _Page, indent: int, flat: bool, node: str) -> Iterable[_Task]:
    page.write(node)
    return ()


def _lay_list(page: _Page, indent: int, flat: bool, node: list) -> Iterable[_Task]:
    return [(indent, flat, part) for part in reversed(node)]


def _lay_break(page: _Page, indent: int, flat: bool, node: Break) -> Iterable[_Task]:
    if flat and node is not hard_line:
        page.write(node.flat)
    else:
        page.new_line(indent)
    return ()


def _lay_group(page: _Page, indent: int, flat: bool, node: Group) -> Iterable[_Task]:
    return ((indent, flat or page.widths[-1] + node.width <= page.width, node.content),)


def _lay_nest(page: _Page, indent: int, flat: bool, node: Nest) -> Iterable[_Task]:
    return ((indent + node.indent, flat, node.content),)


def _lay_styled(page: _Page, indent: int, flat: bool, node: Styled) -> Iterable[_Task]:
    page.write(node.text, node.on, node.off)
    return ()


def _lay_comment(page: _Page, indent: int, flat: bool, node: Comment) -> Iterable[_Task]:
    page.comments[-1].append(node.text)
    return ()


# The layout function of each kind of document. It returns the documents to lay out next, in
# reverse order.
_LAY: dict[type, Callable[..., Iterable[_Task]]] = {
    str: _lay_text,
    list: _lay_list,
    Break: _lay_break,
    Group: _lay_group,
    Nest: _lay_nest,
    Styled: _lay_styled,
    Comment: _lay_comment,
}


def layout(document: Document, width: int = 80, use_color: bool = False) -> str:
    """The text of a document on a page of the given width."""
    page = _Page(width, use_color)
    todo: list[_Task] = [(0, False, document)]
    while todo:
        indent, flat, node = todo.pop()
        todo.extend(_LAY[type(node)](page, indent, flat, node))
    return page.text()
