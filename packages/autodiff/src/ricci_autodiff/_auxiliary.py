"""Auxiliary data: what a function with ``has_aux=True`` returns beside its output."""

from typing import Any

from ricci_ir import Tracer
from ricci_pytree import tree_flatten, tree_unflatten

_traced: Any = object()


class Auxiliary:
    """Auxiliary data, a pytree of anything. Only its traced arrays pass through a trace.

    Attributes:
      count: how many traced arrays there are.
    """

    __slots__ = ("_leaves", "_tree", "count")

    def __init__(self):
        self._leaves: list[Any] = []
        self._tree: Any = None
        self.count: int = 0

    def take(self, value: object) -> list[Tracer]:
        """Keep the data but for its traced arrays, which are returned."""
        leaves, self._tree = tree_flatten(value)
        found = [x for x in leaves if isinstance(x, Tracer)]
        self._leaves = [_traced if isinstance(x, Tracer) else x for x in leaves]
        self.count = len(found)
        return found

    def filled(self, values: list[Any]) -> Any:
        """The data with these values in place of the traced arrays."""
        given = iter(values)
        leaves = [next(given) if x is _traced else x for x in self._leaves]
        return tree_unflatten(self._tree, leaves)
