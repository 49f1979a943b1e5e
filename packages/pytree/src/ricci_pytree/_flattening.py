"""Flattening of trees to leaves and structures, with or without paths."""

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from . import _engine, _errors
from ._engine import KeyPath, PyTreeDef
from ._errors import passes_errors, recursion_error
from ._registry import default_registry

type IsLeaf = Callable[[Any], bool] | None

# Functions on hot paths pass their errors to ``_errors.leave`` themselves; the others get a wrapper
# where ``ricci`` exports them.

# Bound methods, looked up once, since every transformation calls them.
_flatten = default_registry.flatten
_flatten_with_path = default_registry.flatten_with_path


@passes_errors
def tree_flatten(tree: object, is_leaf: IsLeaf = None) -> tuple[list[Any], PyTreeDef]:
    """Flatten a tree into its leaves and its structure.

    Args:
      tree: nested containers. ``None`` is a container without children; the children of a dict
        are in the order of its sorted keys.
      is_leaf: called on every node; if it returns True, the node is a leaf.

    Returns:
      A pair: the list of the leaves, and the structure.

    Raises:
      ValueError: if the keys of a dict cannot be sorted.

    Example:
      >>> import ricci
      >>> leaves, structure = ricci.tree.flatten({"b": (1, None), "a": 2})
      >>> leaves, structure
      ([2, 1], PyTreeDef({'a': *, 'b': (*, None)}))
      >>> ricci.tree.unflatten(structure, [20, 10])
      {'a': 20, 'b': (10, None)}

    Source: ``jax.tree_util.tree_flatten``.
    """
    try:
        try:
            return _flatten(tree, is_leaf)
        except SystemError as error:
            raise recursion_error(error) from None
    except Exception as error:
        _errors.leave(error)
        raise


@passes_errors
def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """Build the tree with this structure and these leaves.

    Args:
      treedef: the structure, as ``tree.structure`` or ``tree.flatten`` gives it.
      leaves: as many leaves, in the order of ``tree.leaves``.

    Returns:
      The tree.

    Raises:
      ValueError: if the structure has another number of leaves.

    Example:
      >>> import ricci
      >>> structure = ricci.tree.structure({"w": 0, "b": [0]})
      >>> ricci.tree.unflatten(structure, [1.5, 2.5])
      {'b': [1.5], 'w': 2.5}

    Source: ``jax.tree_util.tree_unflatten``.
    """
    try:
        return treedef.unflatten(leaves)
    except Exception as error:
        _errors.leave(error)
        raise


@passes_errors
def tree_leaves(tree: object, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a tree.

    Args:
      tree: nested containers.
      is_leaf: called on every node; if it returns True, the node is a leaf.

    Returns:
      A list of the leaves.

    Example:
      >>> import ricci
      >>> ricci.tree.leaves((1, [2, None], {"b": 4, "a": 3}))
      [1, 2, 3, 4]

    Source: ``jax.tree_util.tree_leaves``.
    """
    try:
        try:
            return _flatten(tree, is_leaf)[0]
        except SystemError as error:
            raise recursion_error(error) from None
    except Exception as error:
        _errors.leave(error)
        raise


@passes_errors
def tree_structure(tree: object, is_leaf: IsLeaf = None) -> PyTreeDef:
    """The structure of a tree.

    Args:
      tree: nested containers.
      is_leaf: called on every node; if it returns True, the node is a leaf.

    Returns:
      The structure, which can be compared, hashed and printed.

    Example:
      >>> import ricci
      >>> ricci.tree.structure((1, [2, None]))
      PyTreeDef((*, [*, None]))
      >>> ricci.tree.structure({"a": 1}) == ricci.tree.structure({"a": "any leaf"})
      True

    Source: ``jax.tree_util.tree_structure``.
    """
    try:
        try:
            return _flatten(tree, is_leaf)[1]
        except SystemError as error:
            raise recursion_error(error) from None
    except Exception as error:
        _errors.leave(error)
        raise


@passes_errors
def tree_flatten_with_path(
    tree: object, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath[Any], Any]], PyTreeDef]:
    """Flatten a tree into its leaves, each with the path to it, and its structure.

    Args:
      tree: nested containers.
      is_leaf: called on every node; if it returns True, the node is a leaf.
      is_leaf_takes_path: call ``is_leaf(path, node)`` instead of ``is_leaf(node)``.

    Returns:
      A pair: the list of pairs of a path and a leaf, and the structure.

    Raises:
      ValueError: if the keys of a dict cannot be sorted.

    Example:
      >>> import ricci
      >>> from ricci.tree_util import keystr
      >>> entries, structure = ricci.tree.flatten_with_path({"layers": [1.0, 2.0], "bias": 3.0})
      >>> [(keystr(path, simple=True, separator="/"), leaf) for path, leaf in entries]
      [('bias', 3.0), ('layers/0', 1.0), ('layers/1', 2.0)]

    Source: ``jax.tree_util.tree_flatten_with_path``.
    """
    try:
        if is_leaf is None or is_leaf_takes_path:
            predicate = is_leaf
        else:
            predicate = lambda _, node: is_leaf(node)
        try:
            return _flatten_with_path(tree, predicate)
        except SystemError as error:
            raise recursion_error(error) from None
    except Exception as error:
        _errors.leave(error)
        raise


@passes_errors
def tree_leaves_with_path(
    tree: object, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath[Any], Any]]:
    """The leaves of a tree, each with the path to it.

    Args:
      tree: nested containers.
      is_leaf: called on every node; if it returns True, the node is a leaf.
      is_leaf_takes_path: call ``is_leaf(path, node)`` instead of ``is_leaf(node)``.

    Returns:
      A list of pairs of a path, which is a tuple of keys, and a leaf.

    Example:
      >>> from ricci import tree_util
      >>> tree_util.tree_leaves_with_path((5, None))
      [((SequenceKey(idx=0),), 5)]

    Source: ``jax.tree_util.tree_leaves_with_path``.
    """
    try:
        return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]
    except Exception as error:
        _errors.leave(error)
        raise


def generate_key_paths(tree: object) -> list[tuple[KeyPath[Any], Any]]:
    """The leaves of a tree, each with the path to it; `tree_leaves_with_path` without ``is_leaf``.

    Args:
      tree: nested containers.

    Returns:
      A list of pairs of a path and a leaf.

    Example:
      >>> from ricci_pytree import generate_key_paths
      >>> generate_key_paths({"a": 5})
      [((DictKey(key='a'),), 5)]
    """
    try:
        return _flatten_with_path(tree)[0]
    except SystemError as error:
        raise recursion_error(error) from None


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether a structure is a single node: a leaf or a container without children.

    Args:
      treedef: the structure.

    Returns:
      A bool.

    Example:
      >>> from ricci import tree_util
      >>> [tree_util.treedef_is_leaf(tree_util.tree_structure(tree)) for tree in (1, [1])]
      [True, False]

    Source: ``jax.tree_util.treedef_is_leaf``.
    """
    return treedef.num_nodes == 1


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple whose items have these structures.

    Args:
      treedefs: the structures of the items.

    Returns:
      The structure.

    Example:
      >>> from ricci import tree_util
      >>> tree_util.treedef_tuple([tree_util.tree_structure(1), tree_util.tree_structure([1])])
      PyTreeDef((*, [*]))

    Source: ``jax.tree_util.treedef_tuple``.
    """
    return _engine.treedef_tuple(default_registry, list(treedefs))


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the children.

    Args:
      treedef: the structure.

    Returns:
      A list of structures.

    Example:
      >>> from ricci import tree_util
      >>> tree_util.treedef_children(tree_util.tree_structure((1, [2])))
      [PyTreeDef(*), PyTreeDef([*])]

    Source: ``jax.tree_util.treedef_children``.
    """
    return treedef.children()


def build_tree(treedef: PyTreeDef, xs: object) -> Any:
    """The tree with this structure whose leaves are given as nested iterables.

    Args:
      treedef: the structure.
      xs: the leaves, as nested iterables.

    Returns:
      The tree.

    Raises:
      ValueError: if an iterable has more or fewer items than its container has children.

    Example:
      >>> from ricci import tree_util
      >>> from ricci_pytree import build_tree
      >>> build_tree(tree_util.tree_structure({"a": (0, 0)}), [[1, 2]])
      {'a': (1, 2)}
    """
    return treedef.from_iterable_tree(xs)


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    """Whether every item is a leaf.

    Args:
      iterable: the items.
      is_leaf: whether a container counts as a leaf.

    Returns:
      A bool.

    Example:
      >>> from ricci import tree_util
      >>> [tree_util.all_leaves(items) for items in ([1, "a"], [1, [2]], [None])]
      [True, False, False]

    Source: ``jax.tree_util.all_leaves``.
    """
    if is_leaf is None:
        return _engine.all_leaves(default_registry, iterable)
    return all(_flatten(item, is_leaf)[1].node_data() is None for item in iterable)


def is_tree_node(typ: type) -> bool:
    """Whether objects of exactly this type are containers.

    Args:
      typ: the class.

    Returns:
      A bool.

    Example:
      >>> from ricci import tree_util
      >>> tree_util.is_tree_node(dict), tree_util.is_tree_node(int)
      (True, False)

    Source: ``jax.tree_util.is_tree_node``.
    """
    return default_registry.is_node(typ)


def flatten_one_level(tree: object) -> tuple[Iterable[Any], Hashable]:
    """The children and the static data of a container.

    Args:
      tree: a container.

    Returns:
      A pair of an iterable of the children, and the static data.

    Raises:
      ValueError: if ``tree`` is a leaf.

    Example:
      >>> from ricci import tree_util
      >>> tree_util.flatten_one_level({"b": [1], "a": 2})
      ((2, [1]), ('a', 'b'))

    Source: ``jax.tree_util.flatten_one_level``.
    """
    parts = default_registry.flatten_one_level(tree)
    if parts is None:
        raise _not_a_container("flatten_one_level", tree)
    return parts


def flatten_one_level_with_keys(tree: object) -> tuple[Iterable[tuple[Any, Any]], Hashable]:
    """The pairs (key, child) and the static data of a container.

    Args:
      tree: a container.

    Returns:
      A pair of an iterable of the pairs, and the static data.

    Raises:
      ValueError: if ``tree`` is a leaf.

    Example:
      >>> from ricci import tree_util
      >>> tree_util.flatten_one_level_with_keys({"a": 2})
      (((DictKey(key='a'), 2),), ('a',))

    Source: ``jax.tree_util.flatten_one_level_with_keys``.
    """
    parts = default_registry.flatten_one_level_with_keys(tree)
    if parts is None:
        raise _not_a_container("flatten_one_level_with_keys", tree)
    return parts


def _not_a_container(function: str, tree: object) -> ValueError:
    return ValueError(
        f"{function} needs a container; found an object of type {type(tree).__qualname__}, "
        "which is a leaf. Register its class to make it a container."
    )
