"""Logs of backward passes: linear operands whose cotangents are the entries of a log."""

from collections.abc import Callable, Sequence
from typing import Any

import ricci_ir as ir
import ricci_pytree as pytree

from ._tangent import Tangent, Zero

__all__ = ["LogTap", "tap_logs"]


class LogTap(ir.TupleRecord):
    """The log of one operation.

    Attributes:
      tree: the structure of the log, a dict.
      variables: the linear operands of the operation whose cotangents are the leaves.
    """

    tree: pytree.PyTreeDef
    variables: tuple[ir.Var, ...]


# ``(eqns)``: the equations with operands for logs, and these.
tap_logs: ir.Hook[
    Callable[[Sequence[ir.JaxprEqn]], tuple[Sequence[ir.JaxprEqn], Sequence[LogTap]]]
] = ir.Hook("logs of backward passes", provided_by="ricci_lax", default=lambda eqns: (eqns, ()))


def joined_logs(taps: Sequence[LogTap], entries: Sequence[Tangent]) -> dict[Any, Any]:
    """Join the logs of all operations that ran, the last operation's first.

    Args:
      taps: the operands for the logs, in the order of the operations.
      entries: their cotangents; ``Zero`` for those of operations that did not run.

    Raises:
      ValueError: if two operations log under one key.
    """
    remaining = iter(entries)
    logs = [(tap.tree, [next(remaining) for _ in tap.variables]) for tap in taps]
    joined: dict[Any, Any] = {}
    for tree, leaves in reversed(logs):
        arrays = [ir.as_array(leaf) for leaf in leaves if not isinstance(leaf, Zero)]
        if len(arrays) < len(leaves):
            continue
        for key, value in pytree.tree_unflatten(tree, arrays).items():
            if key in joined:
                raise ValueError(
                    f"with_logs: two operations of the backward pass log under the key {key!r}. "
                    "Each key may be logged once: pass another name to one of the functions."
                )
            joined[key] = value
    return joined
