"""Sizes of HLO types in a device's memory."""

import re
from dataclasses import dataclass
from math import prod

from ricci_parallel.reports._hlo_text import element_bits

_LEAF = re.compile(r"([a-z]\w*)\[([\d,<=]*)\](?:\{([^{}]*)\})?")
_TILE = re.compile(r"T\(([\d,]+)\)")
_SPACE = re.compile(r"S\((\d+)\)")
_COMMENT = re.compile(r"/\*.*?\*/")

# The type of a value: an array's, or a tuple's.
type Shape = "Leaf | tuple[Shape, ...]"


@dataclass(frozen=True, slots=True)
class Leaf:
    """An array in an HLO module.

    Attributes:
      dtype: XLA's name of its dtype.
      sizes: its dimensions.
      bytes: its size, with the padding of its tiles.
      space: the number of its memory; 0 is the device's main memory.
      order: its dimensions from the fastest to the slowest, as text.
    """

    dtype: str
    sizes: tuple[int, ...]
    bytes: int
    space: int
    order: str = ""

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.sizes))}]"


def read_shape(text: str) -> Shape:
    """Parse the type that a text of HLO describes.

    Example:
      >>> from ricci_parallel.planning._buffers import read_shape
      >>> leaf = read_shape("bf16[5,100]{1,0:T(8,128)(2,1)}")
      >>> str(leaf), leaf.bytes
      ('bf16[5,100]', 2048)
      >>> [leaf.space for leaf in read_shape("(f32[2]{0:S(1)}, s32[])")]
      [1, 0]
    """
    shape, _ = _read(_COMMENT.sub("", text).strip(), 0)
    return shape


def leaves(shape: Shape) -> list[Leaf]:
    """Return the arrays of a type, in order."""
    if isinstance(shape, Leaf):
        return [shape]
    return [leaf for part in shape for leaf in leaves(part)]


def _read(text: str, start: int) -> tuple[Shape, int]:
    if text[start] == "(":
        parts: list[Shape] = []
        at = start + 1
        while text[at] != ")":
            if text[at] in ", ":
                at += 1
                continue
            part, at = _read(text, at)
            parts.append(part)
        return tuple(parts), at + 1
    match = _LEAF.match(text, start)
    if match is None:  # a token, which has no bytes
        end = next((i for i in range(start, len(text)) if text[i] in ",)"), len(text))
        return Leaf(text[start:end], (), 0, 0), max(end, start + 1)
    dtype, sizes, layout = match[1], match[2], match[3] or ""
    dims = tuple(int(n.lstrip("<=")) for n in sizes.split(",") if n)
    space = _SPACE.search(layout)
    count = prod(_padded(dims, layout))
    size = (count * element_bits(dtype) + 7) // 8
    order = layout.partition(":")[0]
    return Leaf(dtype, dims, size, int(space[1]) if space else 0, order), match.end()


def _padded(sizes: tuple[int, ...], layout: str) -> list[int]:
    """Return the dimensions from the slowest to the fastest, rounded up to whole tiles."""
    order, _, tiling = layout.partition(":")
    numbers = [int(n) for n in order.split(",") if n.strip().isdigit()]
    if len(numbers) != len(sizes):
        numbers = list(reversed(range(len(sizes))))
    padded = [sizes[i] for i in reversed(numbers)]
    tile = _TILE.search(tiling)
    if tile is not None:
        edges = [int(n) for n in tile[1].split(",")]
        padded = [1] * (len(edges) - len(padded)) + padded
        for i, edge in enumerate(reversed(edges), 1):
            padded[-i] = -(-padded[-i] // edge) * edge
    return padded
