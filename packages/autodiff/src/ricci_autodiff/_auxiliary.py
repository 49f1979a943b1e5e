"""Auxiliary data: what a function with ``has_aux=True`` returns beside its output."""

from typing import Any

from ricci_ir import Tracer
from ricci_pytree import tree_flatten, tree_unflatten


class Auxiliary:
    """Auxiliary data, a pytree of anything. Only its traced arrays pass through a trace.

    Attributes:
      leaves, tree: the pytree.
      traced: its leaves that are traced arrays.
    """

    __slots__ = ("leaves", "traced", "tree")

    def __init__(self, value: Any):
        self.leaves, self.tree = tree_flatten(value)
        self.traced: list[Tracer] = [x for x in self.leaves if isinstance(x, Tracer)]

    def filled(self, values: list[Any]) -> Any:
        """The pytree with these values in place of the traced arrays."""
        given = iter(values)
        leaves = [next(given) if isinstance(x, Tracer) else x for x in self.leaves]
        return tree_unflatten(self.tree, leaves)
