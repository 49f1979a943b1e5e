"""Functions of sequences, axes and shapes, in JAX's private forms."""

from collections.abc import Iterable, Sequence
from operator import index
from typing import SupportsIndex

import numpy as np

import ricci_lax as lax
from ricci_ir import Array, PyTree, ShapeLike
from ricci_lax.authoring import as_sizes, canonical_axis
from ricci_pytree import tree_leaves, tree_map

Shape = Sequence[int]
DimSize = int


def canonicalize_axis(axis: SupportsIndex, num_dims: int) -> int:
    """Return an axis counted from the start."""
    return canonical_axis(index(axis), num_dims)


def canonicalize_shape(shape: ShapeLike, context: str = "") -> tuple[int, ...]:
    """Return a shape as a tuple of sizes; raise ``TypeError`` for anything else.

    Args:
      shape: the shape.
      context: the beginning of the error's message.
    """
    try:
        return as_sizes(shape)
    except TypeError as error:
        raise TypeError(f"{context} {error}".lstrip()) from None


def definitely_equal_shape(s1: Shape, s2: Shape) -> bool:
    """Whether two shapes are equal."""
    return len(s1) == len(s2) and all(a == b for a, b in zip(s1, s2, strict=True))


def dimension_as_value(d: DimSize) -> DimSize:
    """Return a size as an operand of operations: itself."""
    return d


def ensure_index(x: SupportsIndex | Iterable[SupportsIndex]) -> int | tuple[int, ...]:
    """Return an integer as an ``int``, and integers as a tuple of them."""
    try:
        return index(x)  # pyright: ignore[reportArgumentType]
    except TypeError:
        return tuple(map(index, x))  # pyright: ignore[reportArgumentType]


def split_list[T](args: Sequence[T], ns: Sequence[int]) -> list[list[T]]:
    """Split a sequence into lists of the given lengths and a last one of the other values."""
    remaining, parts = list(args), []
    for n in ns:
        parts.append(remaining[:n])
        remaining = remaining[n:]
    return [*parts, remaining]


def concatenate[T](xs: Iterable[Sequence[T]]) -> list[T]:
    """Return the values of all sequences in one list."""
    return [value for x in xs for value in x]


def batch_and_remainder(x: PyTree, batch_size: int) -> tuple[PyTree, PyTree]:
    """Split arrays along their first axis into batches of equal size and a remainder.

    Args:
      x: a pytree of arrays of one length ``n``.
      batch_size: the size of a batch.

    Returns:
      A pytree of arrays of shape ``(n // batch_size, batch_size, *rest)``, and one of the other
      elements; ``None`` for the one that has no elements.
    """
    leaves = tree_leaves(x)
    if not leaves:
        return x, None
    length = np.shape(leaves[0])[0]
    count = length // batch_size if batch_size else 0
    used = count * batch_size

    def batches(leaf: Array) -> Array:
        part = lax.slice_in_dim(leaf, 0, used)
        return lax.reshape(part, (count, batch_size, *np.shape(leaf)[1:]))

    full = tree_map(batches, x) if count else None
    if used == length:
        return full, None
    return full, tree_map(lambda leaf: lax.slice_in_dim(leaf, used, np.shape(leaf)[0]), x)
