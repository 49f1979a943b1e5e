"""Auxiliary data, which functions with ``has_aux=True`` return beside their output."""

from typing import Any

from ricci_ir import Tracer
from ricci_pytree import tree_flatten, tree_unflatten

_traced: Any = object()


class Auxiliary:
    """Auxiliary data, a pytree with leaves of any type. Only its tracers pass through a trace.

    Attributes:
      count: the number of tracers.
    """

    __slots__ = ("_leaves", "_tree", "count")

    def __init__(self):
        self._leaves: list[Any] = []
        self._tree: Any = None
        self.count: int = 0

    def take(self, value: object) -> list[Tracer]:
        """Store the data without its tracers, and return these."""
        leaves, self._tree = tree_flatten(value)
        tracers = [x for x in leaves if isinstance(x, Tracer)]
        self._leaves = [_traced if isinstance(x, Tracer) else x for x in leaves]
        self.count = len(tracers)
        return tracers

    def filled(self, values: list[Any]) -> Any:
        """Return the data with these values in place of the tracers."""
        remaining = iter(values)
        leaves = [next(remaining) if x is _traced else x for x in self._leaves]
        return tree_unflatten(self._tree, leaves)
