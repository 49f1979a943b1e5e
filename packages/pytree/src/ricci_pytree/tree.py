"""The ``tree_*`` functions under short names, as in ``jax.tree``.

>>> from ricci_pytree import tree
>>> tree.map(lambda x: x + 1, {"a": 1})
{'a': 2}
"""

from typing import Any

from ._flattening import tree_flatten as flatten
from ._flattening import tree_flatten_with_path as flatten_with_path
from ._flattening import tree_leaves as leaves
from ._flattening import tree_leaves_with_path as leaves_with_path
from ._flattening import tree_structure as structure
from ._flattening import tree_unflatten as unflatten
from ._mapping import tree_all as all
from ._mapping import tree_broadcast as broadcast
from ._mapping import tree_map as map
from ._mapping import tree_map_with_path as map_with_path
from ._mapping import tree_reduce as reduce
from ._mapping import tree_reduce_associative as reduce_associative
from ._mapping import tree_transpose as transpose

__all__ = ["all", "broadcast", "flatten", "flatten_with_path", "leaves", "leaves_with_path", "map"]
__all__ += ["map_with_path", "reduce", "reduce_associative", "static", "structure", "transpose"]
__all__ += ["unflatten"]


def static(**kwargs: Any) -> Any:
    """A dataclass field that `register_dataclass` registers as static data.

    Args:
      **kwargs: passed to `dataclasses.field`.

    Returns:
      The field.

    Example:
      >>> import dataclasses
      >>> from ricci import tree, tree_util
      >>> @tree_util.register_dataclass
      ... @dataclasses.dataclass
      ... class Dense:
      ...     weight: float
      ...     name: str = tree.static(default="dense")
      >>> tree_util.tree_flatten(Dense(0.5))
      ([0.5], PyTreeDef(CustomNode(Dense[('dense',)], [*])))

    Source: ``jax.tree.static``.
    """
    metadata = {"static": True, **(kwargs.pop("metadata", None) or {})}
    import dataclasses  # noqa: PLC0415 - lazy: it takes a millisecond

    return dataclasses.field(metadata=metadata, **kwargs)
