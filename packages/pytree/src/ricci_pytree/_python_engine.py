"""The engine in Python: a registry of node types that flattens trees.

It offers the same names as jaxlib's module ``pytree``, and is used where jaxlib is not installed.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, final

from . import _python_nodes as python_nodes
from ._python_nodes import DictKey as DictKey
from ._python_nodes import FlattenedIndexKey as FlattenedIndexKey
from ._python_nodes import GetAttrKey as GetAttrKey
from ._python_nodes import SequenceKey as SequenceKey
from ._python_treedef import PyTreeDef as PyTreeDef

name = "python"

type _IsLeaf = Callable[[Any], bool] | None
type _IsLeafWithPath = Callable[[_Path, Any], bool] | None
type _Path = tuple[Any, ...]


@final
class PyTreeRegistry:
    """The container types, each with the functions that flatten and unflatten it.

    The flags select the built-in containers to register. An object of any other type is a leaf.

    >>> from ricci_pytree import PyTreeRegistry
    >>> PyTreeRegistry(enable_none=False).flatten([None, 1])
    ([None, 1], PyTreeDef([*, *]))
    """

    __name__: str

    def __init__(
        self,
        enable_none: bool = True,
        enable_tuple: bool = True,
        enable_namedtuple: bool = True,
        enable_list: bool = True,
        enable_dict: bool = True,
    ) -> None:
        built_in = (
            (enable_none, python_nodes.NONE),
            (enable_tuple, python_nodes.TUPLE),
            (enable_list, python_nodes.LIST),
        )
        self._nodes = {node.type: node for enabled, node in built_in if enabled}
        if enable_dict:
            self._nodes[dict] = python_nodes.DICT
        self._namedtuples = enable_namedtuple
        self._leaf = PyTreeDef(self, None)

    def __reduce__(self) -> str:
        # A registry holds functions, so it is pickled by name. The module that defines one sets
        # its __module__ and __name__.
        return self.__name__

    def node_type(self, kind: type) -> python_nodes.NodeType | None:
        """The node type of a class, or ``None`` if its objects are leaves."""
        node = self._nodes.get(kind)
        if node is None and self._namedtuples and isinstance(kind, type):
            if issubclass(kind, tuple) and hasattr(kind, "_fields"):
                return python_nodes.namedtuple_node(kind)
        return node

    def is_node(self, type: type) -> bool:
        """Whether objects of exactly this type are containers."""
        return self.node_type(type) is not None

    def register_node(
        self,
        type: type,
        to_iterable: Callable[[Any], tuple[Iterable[Any], Any]],
        from_iterable: Callable[[Any, Any], Any],
        to_iterable_with_keys: Callable[[Any], tuple[Iterable[Any], Any]] | None = None,
    ) -> None:
        """Register a type as a container."""
        self._add(python_nodes.custom_node(type, to_iterable, from_iterable, to_iterable_with_keys))

    def register_dataclass_node(
        self, type: type, data_fields: Sequence[str], meta_fields: Sequence[str], /
    ) -> None:
        """Register a class with named attributes as a container."""
        self._add(python_nodes.dataclass_node(type, tuple(data_fields), tuple(meta_fields)))

    def _add(self, node: python_nodes.NodeType) -> None:
        if self._nodes.setdefault(node.type, node) is not node:
            raise ValueError(f"{node.type!r} is already registered as a tree node")

    def flatten(self, tree: object, leaf_predicate: _IsLeaf = None) -> tuple[list[Any], PyTreeDef]:
        """The leaves of a tree and its structure."""
        leaves: list[Any] = []
        return leaves, self._flatten(tree, leaves, leaf_predicate)

    def _flatten(self, tree: object, leaves: list[Any], is_leaf: _IsLeaf) -> PyTreeDef:
        if is_leaf is None or not _checked_bool(is_leaf(tree)):
            node = self.node_type(type(tree))
            if node is not None:
                children, data = node.flatten(tree)
                return PyTreeDef(
                    self, node, data, tuple([self._flatten(c, leaves, is_leaf) for c in children])
                )
        leaves.append(tree)
        return self._leaf

    def flatten_with_path(
        self, tree: object, leaf_predicate: _IsLeafWithPath = None
    ) -> tuple[list[tuple[_Path, Any]], PyTreeDef]:
        """The leaves of a tree, each with the path to it, and its structure."""
        leaves: list[tuple[_Path, Any]] = []
        return leaves, self._flatten_with_path((), tree, leaves, leaf_predicate)

    def _flatten_with_path(
        self, path: _Path, tree: object, leaves: list[tuple[_Path, Any]], is_leaf: _IsLeafWithPath
    ) -> PyTreeDef:
        if is_leaf is None or not _checked_bool(is_leaf(path, tree)):
            node = self.node_type(type(tree))
            if node is not None:
                keyed, data = node.flatten_with_keys(tree)
                children = [
                    self._flatten_with_path((*path, key), child, leaves, is_leaf)
                    for key, child in keyed
                ]
                return PyTreeDef(self, node, data, tuple(children))
        leaves.append((path, tree))
        return self._leaf

    def flatten_one_level(self, tree: object) -> tuple[Iterable[Any], Any] | None:
        """The children and the static data of a container; ``None`` for a leaf."""
        node = self.node_type(type(tree))
        if node is None:
            return None
        children, data = node.flatten(tree)
        return children, node.one_level_data(data)

    def flatten_one_level_with_keys(
        self, tree: object
    ) -> tuple[Iterable[tuple[Any, Any]], Any] | None:
        """The pairs (key, child) and the static data of a container; ``None`` for a leaf."""
        node = self.node_type(type(tree))
        if node is None:
            return None
        keyed, data = node.flatten_with_keys(tree)
        return keyed, node.one_level_data(data)


def _checked_bool(value: object) -> bool:
    if value is True or value is False:
        return value
    raise ValueError(f"is_leaf must return True or False, found {value!r}")


def treedef_tuple(registry: PyTreeRegistry, treedefs: Sequence[PyTreeDef], /) -> PyTreeDef:
    """The structure of a tuple whose items have these structures."""
    if any(treedef._registry is not registry for treedef in treedefs):
        raise ValueError("treedef_tuple needs structures made by one registry")
    return PyTreeDef(registry, python_nodes.TUPLE, None, tuple(treedefs))


def all_leaves(registry: PyTreeRegistry, iterable: Iterable[Any], /) -> bool:
    """Whether no item is a container."""
    return all(registry.node_type(type(item)) is None for item in iterable)
