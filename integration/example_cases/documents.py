"""Reads the examples out of the specification's documents, which lie beside a checkout.

None of their text is kept here. The documents are web pages and notebooks that were saved as plain
text, each with losses of its own:

- in `public-api.txt` an example is one line: line ends and indentation have become single spaces,
  and what it prints follows on the same line;
- in `notebook-first.md` a cell's code, what it printed and the prose behind it are paragraphs, and
  nothing says where one ends and the next begins;
- in the notes, code stands in a fence, in a table, or between paragraphs of prose.
"""

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("RICCI_SPEC") or ROOT.parent / "shared" / "spec")

_SECTION = re.compile(r"^(?:jax\.([\w.]+)|(defjvps))\(.*\)(?: → .*)?\[source\]", re.MULTILINE)
_BLOCK = ("@", "class ", "def ", "for ", "if ", "with ")
_BRANCH = ("elif ", "else:", "except", "finally:")
_MAGIC = re.compile(r"^( *)%\w+(?: -\w+| \$\w+)* ", re.MULTILINE)
_PRINTED = re.compile(r"[-\d\[(<]|(?:\w*DeviceA|a)rray\(|\w+Error:")
_PROSE = re.compile(r"[A-Z`#][a-z# ]")


class Example(NamedTuple):
    """Statements, and the output shown for them in a document."""

    source: str
    want: str


def text(name: str) -> str:
    """Return a document."""
    return (FOLDER / name).read_text(encoding="utf-8")


def is_code(source: str) -> bool:
    """Tell whether Python can read a text."""
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


# Examples that have become lines


def api_sections(document: str) -> dict[str, list[Example]]:
    """Return the examples of each function, in the order in which they stand."""
    marks = list(_SECTION.finditer(document))
    ends = [*(mark.start() for mark in marks[1:]), len(document)]
    sections: dict[str, list[Example]] = {}
    for mark, end in zip(marks, ends, strict=True):
        name = mark[1] or f"custom_jvp.{mark[2]}"
        found = [e for line in document[mark.end() : end].splitlines() for e in _examples(line)]
        sections.setdefault(name, []).extend(found)
    return sections


def _examples(line: str) -> Iterator[Example]:
    """Read the examples in a line: with prompts, or the definition of a function without."""
    if re.match(r"@jax\.\w+ def ", line):
        yield Example(_without_prompts(line), "")
    for prompt in re.split(r">>>(?: |$)", line)[1:]:
        first, *others = (part.strip() for part in re.split(r"(?:^| )\.\.\.(?= |$)", prompt))
        source, want = _split_output(first)
        if want:
            yield Example(source, " ... ".join([want, *others]))
        elif source:
            yield _continued(source, others)


def _split_output(line: str) -> tuple[str, str]:
    """Part an expression from its output. Other statements print nothing on their line."""
    if line.startswith(_BLOCK) or (is_code(line) and not _is_expression(line)):
        return line, ""
    end = _spaces_outside_brackets(line)[0]
    return line[:end], line[end:].strip()


def _is_expression(line: str) -> bool:
    return all(isinstance(statement, ast.Expr) for statement in ast.parse(line).body)


def _spaces_outside_brackets(line: str) -> list[int]:
    """Return where spaces outside of brackets stand, and the end."""
    depth, found = 0, []
    for place, character in enumerate(line):
        depth += (character in "([{") - (character in ")]}")
        if character == " " and depth == 0:
            found.append(place)
    return [*found, len(line)]


def _continued(first: str, others: list[str]) -> Example:
    """Put a statement's lines together, indented again; other lines are output.

    The documents' blocks end only with the statement or at an `else`, so that a colon, which opens
    one, and such a branch say how deep a line is.
    """
    lines, depth = [first], 0
    for line in filter(None, others):
        if _is_open("\n".join(lines)):
            lines.append(f"{'  ' * (depth + 2)}{line}")
            continue
        below = depth + lines[-1].endswith(":") - line.startswith(_BRANCH)
        longer = [*lines, f"{'  ' * below}{line}"]
        if not _begins_code(longer) and is_code("\n".join(lines)):
            return Example("\n".join(lines), line)
        lines, depth = longer, below
    return Example("\n".join(lines), "")


def _begins_code(lines: list[str]) -> bool:
    """Tell whether lines are code, or become code when a bracket or a block goes on."""
    source = "\n".join(lines)
    return _is_open(source) or is_code(f"{source} pass" if source.endswith(":") else source)


def _is_open(source: str) -> bool:
    """Tell whether a bracket is still to be closed."""
    opened, closed = (sum(map(source.count, brackets)) for brackets in ("([{", ")]}"))
    return opened > closed


def _without_prompts(line: str) -> str:
    """Find the lines of functions that were written without prompts.

    Of the ways to cut the line at its spaces into statements, that of the fewest is meant. A
    function ends with its `return`.
    """
    places = [0, *_spaces_outside_brackets(line)]
    best: dict[int, list[str]] = {0: []}
    for end in range(1, len(places)):
        for start in range(end):
            statement = line[places[start] : places[end]].strip()
            if start in best and _is_statement(statement):
                if end not in best or len(best[start]) + 1 < len(best[end]):
                    best[end] = [*best[start], statement]
    lines, inside = [], False
    for statement in best[len(places) - 1]:
        lines.append(f"  {statement}" if inside else statement)
        inside = statement.startswith("def ") or (inside and not statement.startswith("return "))
    return "\n".join(lines)


def _is_statement(line: str) -> bool:
    """Tell whether a line is a whole statement, the head of a function, or a decorator."""
    if line.startswith("@"):
        return is_code(f"{line}\ndef f(): pass")
    if line.startswith("def "):
        return line.endswith(":") and is_code(f"{line} pass")
    return " @" not in line and is_code(f"def f():\n  {line}")


# Cells of a notebook


def cells(document: str) -> list[Example]:
    """Return the code of each cell, without the notebook's own commands, and its output."""
    bodies = re.split(r"^In \[\d+\]:\n", document, flags=re.MULTILINE)[1:]
    return [_cell(_MAGIC.sub(r"\1", body).strip("\n")) for body in bodies]


def _cell(body: str) -> Example:
    """Part a cell: paragraphs as long as they are code, then those that look printed."""
    paragraphs = re.split(r"\n\s*\n", body)
    count = 0
    while count < len(paragraphs) and _continues(paragraphs, count):
        count += 1
    source, following = "\n\n".join(paragraphs[:count]), paragraphs[count:]
    printed = following[:1] if not _is_prose(following) else []
    for paragraph in following[len(printed) :]:
        if not _is_open("\n".join(printed)) and not _PRINTED.match(paragraph):
            break
        printed.append(paragraph)
    return Example(source, "\n".join(printed))


def _continues(paragraphs: list[str], count: int) -> bool:
    """Tell whether the next paragraph belongs to the code of those before."""
    return not _PRINTED.match(paragraphs[count]) and is_code("\n\n".join(paragraphs[: count + 1]))


def _is_prose(paragraphs: list[str]) -> bool:
    """Tell whether the next paragraph was written, not printed."""
    return bool(paragraphs and _PROSE.match(paragraphs[0]) and not _PRINTED.match(paragraphs[0]))


# Notes


def fenced(document: str) -> list[str]:
    """Return the code between fences."""
    return re.findall(r"^`{3,}py\n(.*?)\n`{3,}$", document, re.MULTILINE | re.DOTALL)


def table_rows(document: str) -> list[tuple[str, str]]:
    """Return the rows of two columns of code: a way to write something, and another."""
    plain = document.replace("\N{NO-BREAK SPACE}", " ")
    return re.findall(r"^\|`(.+?)`\|`(.+?)`\|$", plain, re.MULTILINE)


def paragraphs_of_code(document: str) -> list[str]:
    """Return the paragraphs that are code and define or call something."""
    paragraphs = re.split(r"\n(?:[ \t]*\n)+(?=\S)", document)
    return [p for p in paragraphs if is_code(p) and any(map(_acts, ast.walk(ast.parse(p))))]


def _acts(node: ast.AST) -> bool:
    return isinstance(node, (ast.Call, ast.FunctionDef))


_LINK = re.compile(r"\[`jax\.([\w.]+)(?:\(\))?`\]")


def names_in_links(document: str) -> set[str]:
    """Return the names of JAX that a document links to, without ``jax.``."""
    return set(_LINK.findall(document))
