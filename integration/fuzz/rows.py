"""The language of the tables: an operation's operands and results by kind and shape, and its text.

A kind is a letter: `f` floats, `i` integers, `b` Booleans, `c` complex numbers, `k` random keys.
`N` stands for floats or integers, `B` for all but keys and `A` for any kind, each for the same kind
throughout the row. A shape's parts are sizes (`2`), named sizes (`n`, `p`, `q` are at least 1,
others may be 0), a name in capitals for any number of axes (`S`, `T`; `P`, `Q` without axes of size
0), or, of a result, an expression of those. `~S` is a shape that broadcasts to `S`.
"""

import math
import re
from dataclasses import dataclass, field
from itertools import product

KINDS = {"f": "f", "i": "i", "b": "b", "c": "c", "k": "k", "N": "fi", "A": "fibck", "B": "fibc"}
MAXIMAL_RANK = 3
MAXIMAL_SIZE = 24
_TOKEN = re.compile(r"\(([^()]*)\)|(->)|([a-zA-Z])\[([^\]]*)\]")
_COMMA = re.compile(r",(?![^(]*\))")  # not one within parentheses
_CHOICE = re.compile(r"<([^<>]*\|[^<>]*)>")

Binding = dict[str, object]  # what the names of a row stand for


@dataclass(frozen=True, slots=True)
class Type:
    """The kind and the shape of a value; its dtype is known to those who evaluate the program."""

    kind: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A kind and a shape with names in them."""

    kind: str
    parts: tuple[str, ...]

    def match(self, value: Type, binding: Binding) -> Binding | None:
        """Return the binding with the names that make this pattern the type, if there is one."""
        if value.kind not in KINDS[self.kind]:
            return None
        bound = dict(binding)
        if self.kind.isupper() and bound.setdefault(self.kind, value.kind) != value.kind:
            return None
        if self.parts and self.parts[0].startswith("~"):
            return bound if _broadcasts(value.shape, bound[self.parts[0][1:]]) else None
        names = [part for part in self.parts if part[:1].isupper()]
        extra = len(value.shape) - (len(self.parts) - len(names))
        if extra < 0 or (extra and not names):
            return None
        shape = list(value.shape)
        if names:
            start = self.parts.index(names[0])
            shape[start : start + extra] = [tuple(shape[start : start + extra])]
        for part, size in zip(self.parts, shape, strict=True):
            if not _bind(part, size, bound):
                return None
        return bound

    def type(self, binding: Binding) -> Type | None:
        """Return the type that matches this pattern, or None where it is too large."""
        shape: list[int] = []
        for part in self.parts:
            value = eval(part, {"size": math.prod}, dict(binding))  # an expression of the table
            shape += value if isinstance(value, tuple) else [value]
        kind = str(binding.get(self.kind, self.kind))
        fits = len(shape) <= MAXIMAL_RANK and math.prod(shape) <= MAXIMAL_SIZE
        return Type(kind, tuple(shape)) if fits and min(shape, default=0) >= 0 else None


@dataclass(frozen=True, slots=True)
class Signature:
    """The operands' and results' types of an operation, or of a function among its operands."""

    operands: tuple[Pattern, ...]
    functions: tuple["Signature", ...]
    results: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """An operation of the tables.

    Attributes:
        family: the topic, from which operations are drawn in equal parts.
        signature: the operands and results.
        text: the call: `{0}` is an operand, `{f0}` a function, `{S}` and `{n}` are what the
            signature's names stand for, `{d}` and `{e}` a float and an integer dtype, `{c}` a
            number.
        tags: `forward` has no reverse-mode derivative, `reverse` no forward-mode one; the functions
            of `closed` use nothing from outside, and those of `devices` run over devices, and
            contain neither `devices` nor `global`.
    """

    family: str
    signature: Signature
    text: str
    tags: frozenset[str] = field(default_factory=frozenset)


def table(family: str, lines: str) -> list[Row]:
    """Return the rows of a family: a line is `signature : text`, perhaps with ` ! tags` behind it.

    `<a|b>` in the text makes a row for each of the alternatives.
    """
    found = []
    for line in lines.strip().splitlines():
        types, _, call = line.partition(" : ")
        text, _, tags = call.strip().partition("  ! ")
        for choice in _alternatives(text.strip()):
            found.append(Row(family, _signature(types), choice, frozenset(tags.split())))
    return found


def _alternatives(text: str) -> list[str]:
    parts = _CHOICE.split(text)
    options = [part.split("|") if i % 2 else [part] for i, part in enumerate(parts)]
    return ["".join(choice) for choice in product(*options)]


def _signature(text: str) -> Signature:
    operands: list[Pattern] = []
    functions: list[Signature] = []
    results: list[Pattern] = []
    into = operands
    for function, arrow, kind, shape in _TOKEN.findall(text):
        if function:
            functions.append(_signature(function))
        elif arrow:
            into = results
        else:
            into.append(Pattern(kind, tuple(filter(None, _COMMA.split(shape)))))
    return Signature(tuple(operands), tuple(functions), tuple(results))


def _bind(part: str, size: object, bound: Binding) -> bool:
    if part.isdigit():
        return int(part) == size
    if part in "PQ" and isinstance(size, tuple) and 0 in size:
        return False
    if part in "npq" and size == 0:
        return False
    return bound.setdefault(part, size) == size


def _broadcasts(shape: tuple[int, ...], to: object) -> bool:
    assert isinstance(to, tuple)
    if len(shape) > len(to):
        return False
    return all(
        size in (1, wanted) for size, wanted in zip(reversed(shape), reversed(to), strict=False)
    )
