"""The notation of the tables: a line gives operands' kinds and the result that they must have.

``a b -> re im`` is a function of ``a + bj``, ``x -> y`` one of a real number, ``x y -> z`` one of
two real numbers. An operand is a number, ``nan``, or a kind, which stands for several numbers
(``KINDS``). A result is a number, ``nan``, a fraction of pi, ``x`` or ``y`` for an operand, or
``cis(b)`` times a number; ``~`` before it leaves the sign open, and ``any`` the value.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

KINDS: dict[str, tuple[float, ...]] = {
    "finite": (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 100.0),
    "nonzero": (1.0, -1.0, 0.5, -2.5, 100.0),
    "positive": (0.5, 1.0, 2.5, 100.0),
    "negative": (-0.5, -1.0, -2.5, -100.0),
    "zero": (0.0, -0.0),
    "infinite": (math.inf, -math.inf),
    "above": (0.5, 1.0, 2.5, math.inf),
    "below": (-0.5, -1.0, -2.5, -math.inf),
    "large": (1.5, -1.5, 100.0),
    "small": (0.5, -0.5, 0.0, -0.0),
    "odd": (1.0, 3.0),
    "-odd": (-1.0, -3.0),
    "even": (2.0, 0.5, 4.0),
    "-even": (-2.0, -0.5, -4.0),
    "fraction": (0.5, -1.5),
    "number": (0.0, -0.0, 1.0, -2.5, math.inf, -math.inf),
    "any": (0.0, -0.0, 1.0, -2.5, math.inf, -math.inf, math.nan),
}
_PI = {"pi": 1.0, "pi/2": 0.5, "pi/4": 0.25, "3pi/4": 0.75}


@dataclass(frozen=True)
class Row:
    """Operands, and the parts of the result; in ``loose`` ones the sign is not specified."""

    text: str
    operands: tuple[float, ...]
    parts: tuple[float, ...]
    loose: tuple[bool, ...]

    def accepts(self, parts: tuple[float, ...], rtol: float) -> bool:
        """Whether the parts of a result are those of the standard."""
        return all(map(_alike, parts, self.parts, self.loose, [rtol] * len(parts)))


def _alike(found: float, wanted: float, loose: bool, rtol: float) -> bool:
    if math.isnan(wanted):
        return math.isnan(found)
    if not loose and math.copysign(1, found) != math.copysign(1, wanted):
        return False
    return abs(found) == abs(wanted) or abs(abs(found) - abs(wanted)) <= rtol * abs(wanted) < np.inf


def _values(text: str) -> tuple[float, ...]:
    return KINDS.get(text) or (float(text),)


def _result(text: str, operands: tuple[float, ...]) -> tuple[float, bool]:
    loose, text = text.startswith("~"), text.removeprefix("~")
    sign, name = (-1.0, text[1:]) if text.startswith("-") else (1.0, text)
    if name in ("x", "y"):
        value = operands["xy".index(name)]
    else:
        value = _PI[name] * math.pi if name in _PI else float(name)
    return sign * value, loose


def rows(table: str, *, conjugates: bool = False, odd: bool = False) -> Iterator[Row]:
    """Each row of a table for every number of the kinds that it names.

    Args:
      table: a row on each line; with several that fit an operand, each one counts.
      conjugates: whether the function of a conjugate is the conjugate of the function, which gives
        each row a second one.
      odd: whether the function of the negative is the negative.
    """
    for line in filter(None, map(str.strip, table.splitlines())):
        left, right = (part.split() for part in line.split("->"))
        for operands in _combined(left):
            yield from _mirrored(_row(line, operands, right), conjugates, odd)


def _combined(kinds: list[str]) -> Iterator[tuple[float, ...]]:
    if not kinds:
        yield ()
        return
    for value in _values(kinds[0]):
        for rest in _combined(kinds[1:]):
            yield (value, *rest)


def _row(line: str, operands: tuple[float, ...], right: list[str]) -> Row:
    if right[0].endswith("cis"):
        scale, angle = float(right[0].removesuffix("cis")), operands[1]
        real = scale * math.cos(angle)
        real = real + float(right[1]) if len(right) > 1 else real
        return Row(line, operands, (real, scale * math.sin(angle)), (False, False))
    parts, loose = zip(*(_result(text, operands) for text in right), strict=True)
    return Row(line, operands, parts, loose)


def _mirrored(row: Row, conjugates: bool, odd: bool) -> Iterator[Row]:
    yield row
    found = [row]
    if conjugates:
        mirrored = [Row(r.text, (r.operands[0], -r.operands[1]), (r.parts[0], -r.parts[1]), r.loose)
                    for r in found]  # fmt: skip
        yield from mirrored
        found += mirrored
    if odd:
        for r in found:
            yield Row(r.text, tuple(-x for x in r.operands), tuple(-x for x in r.parts), r.loose)
