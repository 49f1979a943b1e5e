"""The keys of traced functions in their caches."""

from typing import Any

from ricci_ir import TraceContext, TupleRecord
from ricci_pytree import PyTreeDef


class Key(TupleRecord):
    """The key of a program in its function's cache.

    Attributes:
      tree, avals: the structure and the types of the arguments.
      static: the static arguments, ``((position, value), ...)`` and ``((name, value), ...)``.
      static_types: their types, since 1, 1.0 and True are equal.
      context: the settings and the named axes that the function was traced under.
    """

    tree: PyTreeDef
    avals: tuple[Any, ...]
    static: tuple[tuple[Any, ...], tuple[Any, ...]]
    static_types: tuple[type, ...]
    context: TraceContext
