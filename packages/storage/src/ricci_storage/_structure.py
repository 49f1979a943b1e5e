"""The structure of a saved pytree, as a record in JSON."""

import asyncio
import base64
from collections.abc import Generator
from concurrent.futures import Future
from typing import Any

from ricci_pytree import PyTreeDef
from ricci_xla.exported import read_jax_tree, write_jax_tree

__all__ = ["PyTreeFuture", "deserialize_pytreedef", "serialize_pytreedef"]

TREE = "__jax_pytreedef_repr"
LEAVES = "__jax_leaf_ids"


def serialize_pytreedef(node: PyTreeDef) -> dict[str, Any]:
    """A record of a tree structure, which ``json`` can write.

    Args:
      node: the structure. Its dictionaries have strings as keys; user-defined classes are
        registered with ``export.register_pytree_node_serialization`` or
        ``export.register_namedtuple_serialization``.

    Returns:
      The record: dicts, lists, strings and numbers.

    Raises:
      ValueError: if it has nodes of a class that is not registered.
      TypeError: if a dictionary has another key.

    Example:
      >>> from ricci import tree_util
      >>> from ricci.experimental.array_serialization.pytree_serialization_utils import (
      ...     deserialize_pytreedef, serialize_pytreedef
      ... )
      >>> record = serialize_pytreedef(tree_util.tree_structure({"w": 1.0, "b": [2.0]}))
      >>> deserialize_pytreedef(record)
      PyTreeDef({'b': [*], 'w': *})
    """
    try:
        data = write_jax_tree(node)
    except TypeError as error:
        if "not registered" in str(error):
            raise ValueError(
                f"{error}. Register it with export.register_pytree_node_serialization, or a named "
                "tuple with export.register_namedtuple_serialization."
            ) from None
        raise
    return {TREE: base64.b64encode(data).decode("ascii"), LEAVES: list(range(node.num_leaves))}


def deserialize_pytreedef(pytreedef_repr: dict[str, Any]) -> PyTreeDef:
    """The tree structure of a record that ``serialize_pytreedef`` returned.

    Args:
      pytreedef_repr: the record.

    Returns:
      The structure.

    Raises:
      KeyError: if the record has none.
      ValueError: if it is damaged, or has nodes of an unregistered class.

    Example:
      >>> import ricci
      >>> from ricci.experimental.array_serialization import pytree_serialization_utils as utils
      >>> record = utils.serialize_pytreedef(ricci.tree.structure((1, {"a": 2})))
      >>> utils.deserialize_pytreedef(record)
      PyTreeDef((*, {'a': *}))
    """
    return read_jax_tree(base64.b64decode(entry(pytreedef_repr, TREE), validate=True))


def entry(record: dict[str, Any], name: str) -> Any:
    """An entry of a record.

    Raises:
      KeyError: if it is missing; the error names it.
    """
    if name not in record:
        raise KeyError(f"the record of a saved pytree has no {name!r}, only {sorted(record)}")
    return record[name]


class PyTreeFuture(Future[Any]):
    """The future of a save or a load.

    Attributes:
      pytree: the types of the arrays, which are known at once.
    """

    def __init__(self, future: Future[Any]):
        super().__init__()
        self._future = future
        self.pytree: Any = None

    def done(self) -> bool:
        """Whether it has ended."""
        return self._future.done()

    def result(self, timeout: float | None = None) -> Any:
        """Wait for the arrays of a load, or ``None`` of a save; raises the error if it failed."""
        return self._future.result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait for the end; return the error, or ``None``."""
        return self._future.exception(timeout)

    def __await__(self) -> Generator[Any, None, Any]:
        return asyncio.wrap_future(self._future).__await__()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(done={self.done()}, pytree={self.pytree})"
