"""Reshapes and transposes of arrays by an equation of their dimensions."""

import re
from collections.abc import Mapping
from math import prod

import ricci_ir as ir
import ricci_lax as lax

__all__ = ["einshape"]


def _groups(side: str) -> list[str]:
    """The names of each dimension: a letter, or several in parentheses."""
    groups = re.findall(r"\(([^)]*)\)|(.)", side.replace(" ", ""))
    return [inside or single for inside, single in groups]


def einshape(
    equation: str, x: ir.Array, assert_is_tile_preserving: bool = False, **sizes: int
) -> ir.Array:
    """Split, reorder and merge dimensions by an equation, such as ``"a(bc)->bac"``.

    Args:
      equation: the dimensions before and after, a letter each; those that are one dimension of the
        array are in parentheses.
      x: the array.
      assert_is_tile_preserving: of no effect: a declaration that tiles of memory stay whole.
      sizes: the sizes of letters, of which one in each parenthesis may be left out.

    Returns:
      An array of the same elements.

    Raises:
      ValueError: if the equation does not fit the array, or a size is unknown.
      NotImplementedError: if a letter is on one side only.

    Example:
      >>> import numpy as np
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> pltpu.einshape("a(bc)->bac", np.zeros((8, 256)), c=128).shape
      (2, 8, 128)
    """
    del assert_is_tile_preserving
    left, _, right = equation.partition("->")
    before, after = _groups(left), _groups(right)
    if len(before) != x.ndim:
        raise ValueError(
            f"einshape: the equation {equation!r} has {len(before)} dimensions on its left side, "
            f"and the array the shape {tuple(x.shape)}."
        )
    lengths: dict[str, int] = {}
    for group, size in zip(before, x.shape, strict=True):
        for letter, length in zip(group, _split(equation, group, size, sizes), strict=True):
            if lengths.setdefault(letter, length) != length:
                raise ValueError(f"Inconsistent size for {letter}: {lengths[letter]} vs {length}")
    order = "".join(before)
    new_order = "".join(after)
    if sorted(order) != sorted(new_order):
        raise NotImplementedError(
            f"einshape: the equation {equation!r} has other letters on its right side. Only "
            "splitting, reordering and merging are supported."
        )
    value = lax.reshape(x, [lengths[letter] for letter in order])
    value = lax.transpose(value, [order.index(letter) for letter in new_order])
    return lax.reshape(value, [prod(lengths[letter] for letter in group) for group in after])


def _split(equation: str, group: str, size: int, sizes: Mapping[str, int]) -> list[int]:
    """The size of each letter of a dimension."""
    if len(group) == 1:
        return [size]
    unknown = [letter for letter in group if letter not in sizes]
    if len(unknown) > 1:
        raise ValueError(
            f"Ambiguous split for {list(group)} with size {size} in {equation!r}. Unknowns: "
            f"{unknown}. Provide sizes via kwargs."
        )
    product = prod(sizes[letter] for letter in group if letter in sizes)
    if size % product if unknown else size != product:
        raise ValueError(f"Cannot split size {size} with known sizes {product} in {equation!r}.")
    return [sizes.get(letter, size // product) for letter in group]
