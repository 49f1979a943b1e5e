"""Copies between views of references, whose sizes may be traced."""

from math import prod
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_lax.elementwise import convert_element_type, mul

from ._forms import operand_count as operand_count
from ._functions import TransformedRef
from ._primitives import addupdate_p, get_p, swap_p
from ._views import recast as recast

__all__ = [
    "are_alike",
    "common_bounds",
    "copy",
    "element_count",
    "operand_count",
    "read_bounded",
    "recast",
    "write_bounded",
]

type _Reference = ir.Ref | TransformedRef


def are_alike(source: _Reference, target: _Reference) -> bool:
    """Whether two references or views have one dtype and one shape; traced sizes may be equal."""
    if source.dtype != target.dtype or len(source.shape) != len(target.shape):
        return False
    pairs = zip(source.shape, target.shape, strict=True)
    return all(x == y if isinstance(x, int) else not isinstance(y, int) for x, y in pairs)


def copy(source: _Reference, target: _Reference, *, is_added: bool = False) -> None:
    """Copy the part of a reference to that of another one.

    Args:
      source, target: references, or views of them, that are alike. Slices in their indices may have
        traced sizes, which are equal. Elements that are out of bounds then have any values in the
        source, and are dropped in the target.
      is_added: whether to add to the target instead of replacing it.
    """
    if not _is_traced(source):
        if is_added:
            target.addupdate(source[...])
        else:
            target[...] = source[...]
        return
    source, target = common_bounds(source, target)
    value = read_bounded(source)
    if is_added:
        addupdate_p.bind(target.ref, value, *target.operands, transforms=target.forms)
    else:
        write_bounded(target, value)


def common_bounds(source: Any, target: Any) -> tuple[TransformedRef, TransformedRef]:
    """The two views, which are alike, with the same bounds of their traced sizes."""
    bounds = [min(pair) for pair in zip(source.bounds, target.bounds, strict=True)]
    return source.bounded(bounds), target.bounded(bounds)


def read_bounded(ref: _Reference) -> ir.Array:
    """The part of a reference; its traced sizes are their bounds, behind which values are any."""
    if not _is_traced(ref):
        return ref[...]
    return get_p.bind(ref.ref, *ref.operands, transforms=ref.forms)  # pyright: ignore


def write_bounded(ref: _Reference, value: ir.Array) -> None:
    """Write a part of a reference; elements behind traced sizes are not written.

    Args:
      ref: a reference, or a view of one.
      value: an array of its shape, with the bounds of traced sizes.
    """
    if not _is_traced(ref):
        ref[...] = value
        return
    swap_p.bind(ref.ref, value, *ref.operands, transforms=ref.forms)  # pyright: ignore


def element_count(ref: _Reference) -> Any:
    """The number of elements of a reference or a view, traced if a size is."""
    total: Any = np.int32(prod(size for size in ref.shape if isinstance(size, int)))
    for size in ref.shape:
        if not isinstance(size, int):
            total = mul(total, convert_element_type(size, np.int32))
    return total


def _is_traced(ref: _Reference) -> bool:
    return not all(isinstance(size, int) for size in ref.shape)
