"""The structure of a tree, for the engine in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, final

from . import _protobuf
from ._python_nodes import NodeType, NodeTypes


@final
class PyTreeDef:
    """The structure of a tree: its containers, with ``*`` in place of each leaf.

    Made by `tree_structure`; immutable, comparable and hashable.

    >>> from ricci import tree_util
    >>> tree_util.tree_structure({"w": (1, 2), "b": None})
    PyTreeDef({'b': None, 'w': (*, *)})
    """

    __slots__ = ("_children", "_data", "_node", "_num_leaves", "_num_nodes", "_registry")

    def __init__(
        self,
        registry: NodeTypes,
        node: NodeType | None,
        data: object = None,
        children: tuple[PyTreeDef, ...] = (),
    ) -> None:
        self._registry = registry
        self._node = node
        self._data = data
        self._children = children
        # Counted once: structures do not change, and are compared and unflattened often.
        self._num_leaves = 1 if node is None else sum([c._num_leaves for c in children])
        self._num_nodes = 1 + sum([c._num_nodes for c in children])

    @property
    def num_leaves(self) -> int:
        """The number of leaves."""
        return self._num_leaves

    @property
    def num_nodes(self) -> int:
        """The number of containers and leaves together."""
        return self._num_nodes

    def __repr__(self) -> str:
        return f"PyTreeDef({self._label()})"

    def _label(self) -> str:
        if self._node is None:
            return "*"
        return self._node.label(self._data, [child._label() for child in self._children])

    def _kind(self) -> type | None:
        return None if self._node is None else self._node.type

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PyTreeDef):
            return NotImplemented
        if self is other:
            return True
        return (
            self._kind() is other._kind()
            and self.num_nodes == other.num_nodes
            and len(self._children) == len(other._children)
            and not (self._data != other._data)
            and all(a == b for a, b in zip(self._children, other._children, strict=True))
        )

    def __hash__(self) -> int:
        # Static data is not hashed: it must be comparable, but need not be hashable.
        return hash((self._kind(), self._children))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._registry, self.node_data(), list(self._children))

    def children(self) -> list[PyTreeDef]:
        """The structures of the children."""
        return list(self._children)

    def node_data(self) -> tuple[type, Any] | None:
        """The type and the static data of the outermost container; ``None`` for a leaf."""
        if self._node is None:
            return None
        return self._node.type, self._node.node_data(self._data)

    def unflatten(self, leaves: Iterable[Any], /) -> Any:
        """The tree with this structure and these leaves."""
        return self._unflatten(self._counted(leaves))

    def _counted(self, leaves: Iterable[Any]) -> Iterator[Any]:
        leaves = list(leaves)
        if len(leaves) < self.num_leaves:
            raise ValueError(
                f"Too few leaves for PyTreeDef; expected {self.num_leaves}, got {len(leaves)}"
            )
        if len(leaves) > self.num_leaves:
            raise ValueError(
                f"Too many leaves for PyTreeDef; expected {self.num_leaves}, got {len(leaves)}"
            )
        return iter(leaves)

    def _unflatten(self, leaves: Iterator[Any]) -> Any:
        if self._node is None:
            return next(leaves)
        children = tuple([child._unflatten(leaves) for child in self._children])
        return self._node.unflatten(self._data, children)

    def flatten_up_to(self, tree: object) -> list[Any]:
        """The subtrees of ``tree`` at the leaves of this structure."""
        subtrees: list[Any] = []
        self._flatten_up_to(tree, subtrees)
        return subtrees

    def _flatten_up_to(self, tree: object, subtrees: list[Any]) -> None:
        if self._node is None:
            subtrees.append(tree)
            return
        # The node alone is compared, so that the message names the first level that differs.
        problem = self._node.mismatch(self._data, len(self._children), tree)
        if problem is not None:
            raise ValueError(f"tree structures differ: {problem}.")
        children, _ = self._node.flatten(tree)
        for child, subtree in zip(self._children, children, strict=True):
            child._flatten_up_to(subtree, subtrees)

    def compose(self, inner: PyTreeDef, /) -> PyTreeDef:
        """This structure with ``inner`` in place of every leaf."""
        if inner._registry is not self._registry:
            raise ValueError("compose needs two structures made by the same registry")
        if self._node is None:
            return inner
        return PyTreeDef(
            self._registry,
            self._node,
            self._data,
            tuple([child.compose(inner) for child in self._children]),
        )

    def walk(
        self,
        f_node: Callable[[Any, Any], Any],
        f_leaf: Callable[[Any], Any],
        leaves: Iterable[Any],
        /,
    ) -> Any:
        """Fold a tree: ``f_leaf(leaf)`` at each leaf, ``f_node(results, data)`` at each node."""
        return self._walk(f_node, f_leaf, self._counted(leaves))

    def _walk(
        self, f_node: Callable[[Any, Any], Any], f_leaf: Callable[[Any], Any], leaves: Iterator[Any]
    ) -> Any:
        if self._node is None:
            return f_leaf(next(leaves))
        results = tuple([child._walk(f_node, f_leaf, leaves) for child in self._children])
        # A namedtuple's data are its class here, and nothing in ``node_data``, as in jaxlib.
        return f_node(results, self._node.one_level_data(self._node.node_data(self._data)))

    def from_iterable_tree(self, tree: Any, /) -> Any:
        """The tree with this structure whose leaves are given as nested iterables."""
        if self._node is None:
            return tree
        subtrees = list(tree)
        if len(subtrees) != len(self._children):
            raise ValueError(
                f"expected {len(self._children)} children for {self}, found {len(subtrees)}"
            )
        built = [c.from_iterable_tree(t) for c, t in zip(self._children, subtrees, strict=True)]
        return self._node.unflatten(self._data, tuple(built))

    @staticmethod
    def from_node_data_and_children(
        registry: NodeTypes, node_data: tuple[type, Any] | None, children: Iterable[PyTreeDef]
    ) -> PyTreeDef:
        """The structure with this `node_data` and these `children`."""
        children = tuple(children)
        if node_data is None:
            return PyTreeDef(registry, None)
        kind, data = node_data
        node = registry.node_type(kind)
        if node is None:
            raise RuntimeError(f"{kind!r} is not registered as a tree node")
        # The data of a dict are its keys, which jaxlib passes as a list.
        if kind is dict:
            data = tuple(data)
            if len(data) != len(children):
                raise RuntimeError(f"{len(data)} keys do not match {len(children)} children")
        return PyTreeDef(registry, node, data, children)

    def serialize_using_proto(self) -> bytes:
        """The structure as a protocol buffer.

        Raises:
          ValueError: if a container is not a list, a tuple, ``None`` or a dict with str keys.
        """
        return _protobuf.serialize(self)

    @staticmethod
    def deserialize_using_proto(registry: NodeTypes, data: bytes) -> PyTreeDef:
        """The structure that `serialize_using_proto` wrote."""
        return _protobuf.deserialize(
            data,
            lambda node_data, children: PyTreeDef.from_node_data_and_children(
                registry, node_data, children
            ),
        )


def _rebuild(
    registry: NodeTypes, node_data: tuple[type, Any] | None, children: list[PyTreeDef]
) -> PyTreeDef:
    return PyTreeDef.from_node_data_and_children(registry, node_data, children)
