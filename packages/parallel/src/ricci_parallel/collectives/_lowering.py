"""Shared parts of the collectives' lowering rules: device groups, channels, and keys."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ricci_ir import physical_aval
from ricci_stablehlo import Lowering, Value

from ._named_axes import AxisNames, Groups


def device_groups(
    sizes: Mapping[Any, int], names: AxisNames, groups: Groups | None
) -> list[list[int]]:
    """Return the groups of devices in a collective over some axes of a mesh.

    Devices are numbered in the order of the mesh. Those of a group differ in their positions along
    the given axes only, and come in the order of these positions.

    Args:
      sizes: the axes of the mesh, major to minor.
      names: the axes that the collective goes over.
      groups: the parameter ``axis_index_groups``.

    Example:
      >>> from ricci_parallel.collectives._lowering import device_groups
      >>> device_groups({"x": 2, "y": 3}, ("x",), None)
      [[0, 3], [1, 4], [2, 5]]
      >>> device_groups({"x": 2, "y": 3}, ("y",), ((2, 0), (1,)))
      [[2, 0], [1], [5, 3], [4]]
    """
    order = list(sizes)
    ids = np.arange(int(np.prod(list(sizes.values()), dtype=np.int64)))
    ids = ids.reshape(tuple(sizes.values()))
    moved = [order.index(name) for name in names]
    other_dims = [i for i in range(len(order)) if i not in moved]
    count = int(np.prod([sizes[name] for name in names], dtype=np.int64))
    # With the axes of the collective last, each row of the matrix is a group.
    rows = ids.transpose(*other_dims, *moved).reshape(-1, count).tolist()
    if groups is None:
        return rows
    return [[row[i] for i in group] for row in rows for group in groups]


def is_alone(ctx: Lowering, names: AxisNames, groups: Groups | None = None) -> bool:
    """Whether each member is its own group, so that nothing is exchanged."""
    rows = device_groups(ctx.module.axis_sizes, names, groups)
    return all(len(row) == 1 for row in rows)


def id_table(rows: Sequence[Sequence[int]]) -> str:
    """Return the text of a table of device numbers; shorter rows are padded with -1."""
    width = max(map(len, rows), default=0)
    full = [[*row, *(-1,) * (width - len(row))] for row in rows]
    text = ", ".join(f"[{', '.join(map(str, row))}]" for row in full)
    return f"dense<{f'[{text}]' if rows else ''}> : tensor<{len(rows)}x{width}xi64>"


def replica_groups(ctx: Lowering, names: AxisNames, groups: Groups | None) -> str:
    """Return the attribute ``replica_groups`` of a collective."""
    return f"replica_groups = {id_table(device_groups(ctx.module.axis_sizes, names, groups))}"


def device_pairs(ctx: Lowering, names: AxisNames, perm: Sequence[tuple[int, int]]) -> str:
    """Return the attribute ``source_target_pairs`` of a collective."""
    rows = device_groups(ctx.module.axis_sizes, names, None)
    pairs = [(row[source], row[target]) for row in rows for source, target in perm]
    table = id_table(pairs) if pairs else "dense<> : tensor<0x2xi64>"
    return f"source_target_pairs = {table}"


# All collectives are on one channel, so that XLA merges identical ones. A channel also makes
# device numbers positions in the mesh.
CHANNEL = 1
channel: str = f"channel_handle = #stablehlo.channel_handle<handle = {CHANNEL}, type = 1>"


def on_words(lower: Callable[..., Value]) -> Callable[..., Value]:
    """Return the ``extended_lower`` rule of a collective that only moves elements.

    An element of an extended dtype, such as a key, is an array of words: further dimensions behind
    those of the array, which the collective moves along.
    """

    def rule(ctx: Lowering, *operands: Value, **params: object) -> Value:
        (out,) = ctx.outs
        ctx.outs = [physical_aval(out)]
        result = lower(ctx, *(Value(x.name, physical_aval(x.aval)) for x in operands), **params)
        ctx.outs = [out]
        return Value(result.name, out)

    return rule
