"""Layouts of operands and results: the order of dimensions in memory during a call."""

from collections.abc import Sequence
from typing import Any

from ricci_ir import AbstractValue, ShapedArray, physical_aval

# From the fastest varying dimension to the slowest, as XLA writes it.
type MinorToMajor = tuple[int, ...]


def read_layouts(
    what: str, layouts: Sequence[Any] | None, avals: Sequence[AbstractValue]
) -> tuple[MinorToMajor, ...]:
    """Read the layouts of all operands, or of all results.

    Args:
      what: the argument's name.
      layouts: for each of them a ``Layout``, the dimensions from slowest to fastest varying, or
        ``None`` for the usual order; ``None`` for the usual order of all.
      avals: their types.

    Raises:
      TypeError: if one is none of these.
      ValueError: if there are more or fewer, or one is not a permutation of the dimensions.
    """
    ranks = [_rank(aval) for aval in avals]
    if layouts is None:
        return tuple(tuple(range(n - 1, -1, -1)) for n in ranks)
    if not isinstance(layouts, Sequence) or isinstance(layouts, str):
        raise TypeError(
            f"ffi_call: {what} must be a sequence, with a layout or None for each, got {layouts!r}."
        )
    if len(layouts) != len(avals):
        kind = "operands" if what == "input_layouts" else "results"
        raise ValueError(
            f"ffi_call: {what} has {len(layouts)} entries, and there are {len(avals)} {kind}. Give "
            "one layout, or None, for each."
        )
    return tuple(
        _read(f"{what}[{i}]", layout, n)
        for i, (layout, n) in enumerate(zip(layouts, ranks, strict=True))
    )


def batched_layout(layout: MinorToMajor) -> MinorToMajor:
    """The layout of a batch, whose dimension is the first and the slowest varying."""
    return (*(d + 1 for d in layout), 0)


def _rank(aval: AbstractValue) -> int:
    return physical_aval(aval).ndim if isinstance(aval, ShapedArray) else 0


def _read(what: str, layout: Any, rank: int) -> MinorToMajor:
    if layout is None:
        return tuple(range(rank - 1, -1, -1))
    order = getattr(layout, "major_to_minor", layout)
    try:
        order = tuple(map(int, order))
    except (TypeError, ValueError):
        raise ValueError(
            f"ffi_call: {what} must be a Layout, or the dimensions from the slowest varying to the "
            f"fastest, got {layout!r}."
        ) from None
    if sorted(order) != list(range(rank)):
        raise ValueError(
            f"ffi_call: {what} is {order}, and must have each of the dimensions "
            f"{tuple(range(rank))} once: from the slowest varying to the fastest."
        )
    return order[::-1]
