"""The functions on trees: flatten, unflatten, map, reduce and transpose."""

import functools
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any, final, overload

from . import _engine
from ._engine import PyTreeDef
from ._keys import KeyPath
from ._prefix import broadcast_prefix, raise_first_difference
from ._registry import default_registry

type IsLeaf = Callable[[Any], bool] | None

# Looked up once, since every transformation calls them.
_flatten = default_registry.flatten
_flatten_with_path = default_registry.flatten_with_path


@final
class Unspecified:
    """The default of an argument for which ``None`` is a value of its own."""

    def __repr__(self) -> str:
        return "<unspecified>"


_unspecified = Unspecified()


def cyclic(error: SystemError) -> Exception:
    """The error for a tree that is too deep, where jaxlib's says only that one was set."""
    if not isinstance(error.__cause__, RecursionError):
        return error
    return RecursionError(
        "the pytree contains itself, or is nested too deeply: flattening it does not come to an "
        "end. Take the reference to the outer container out of the inner one."
    )


def tree_flatten(tree: object, is_leaf: IsLeaf = None) -> tuple[list[Any], PyTreeDef]:
    """Flatten a tree into its leaves and its structure.

    Args:
      tree: nested containers. ``None`` is a container without children; the children of a dict
        are in the order of its sorted keys.
      is_leaf: called on every node; if it returns True, the node is a leaf.

    Raises:
      ValueError: if the keys of a dict cannot be sorted.

    Source: ``jax.tree_util.tree_flatten``.

    >>> tree_flatten({"b": (1, None), "a": 2})
    ([2, 1], PyTreeDef({'a': *, 'b': (*, None)}))
    """
    try:
        return _flatten(tree, is_leaf)
    except SystemError as error:
        raise cyclic(error) from None


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """Build the tree with this structure and these leaves.

    Raises:
      ValueError: if the structure has another number of leaves.

    Source: ``jax.tree_util.tree_unflatten``.

    >>> tree_unflatten(tree_structure((0, [0])), "ab")
    ('a', ['b'])
    """
    return treedef.unflatten(leaves)


def tree_leaves(tree: object, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a tree.

    Source: ``jax.tree_util.tree_leaves``.

    >>> tree_leaves((1, [2, None], {"a": 3}))
    [1, 2, 3]
    """
    try:
        return _flatten(tree, is_leaf)[0]
    except SystemError as error:
        raise cyclic(error) from None


def tree_structure(tree: object, is_leaf: IsLeaf = None) -> PyTreeDef:
    """The structure of a tree.

    Source: ``jax.tree_util.tree_structure``.

    >>> tree_structure((1, [2, None]))
    PyTreeDef((*, [*, None]))
    """
    try:
        return _flatten(tree, is_leaf)[1]
    except SystemError as error:
        raise cyclic(error) from None


if TYPE_CHECKING:
    # One form for each number of trees, so that checkers count the parameters of ``f`` and know
    # that those of a lambda may be anything.
    @overload
    def tree_map(f: Callable[[Any], Any], tree: object, *, is_leaf: IsLeaf = None) -> Any: ...
    @overload
    def tree_map(
        f: Callable[[Any, Any], Any], tree: object, second: object, /, *, is_leaf: IsLeaf = None
    ) -> Any: ...
    @overload
    def tree_map(
        f: Callable[[Any, Any, Any], Any],
        tree: object,
        second: object,
        third: object,
        /,
        *,
        is_leaf: IsLeaf = None,
    ) -> Any: ...
    @overload
    def tree_map(
        f: Callable[..., Any],
        tree: object,
        second: object,
        third: object,
        fourth: object,
        /,
        *rest: object,
        is_leaf: IsLeaf = None,
    ) -> Any: ...


def tree_map(f: Callable[..., Any], tree: object, *rest: object, is_leaf: IsLeaf = None) -> Any:
    """Apply a function to every leaf.

    Args:
      f: takes a leaf of ``tree`` and the subtree at its place in each of ``rest``.
      tree: the tree; the result has its structure.
      *rest: trees of which ``tree`` is a prefix.
      is_leaf: says which nodes of ``tree`` are leaves.

    Raises:
      ValueError: if ``tree`` is not a prefix of one of ``rest``; the message names the path.

    Source: ``jax.tree_util.tree_map``.

    >>> tree_map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
    {'a': 11, 'b': [22]}
    """
    try:
        leaves, treedef = _flatten(tree, is_leaf)
    except SystemError as error:
        raise cyclic(error) from None
    if not rest:
        return treedef.unflatten(list(map(f, leaves)))
    return treedef.unflatten(list(map(f, leaves, *_columns(treedef, tree, rest, is_leaf))))


def _columns(
    treedef: PyTreeDef, tree: object, rest: tuple[Any, ...], is_leaf: IsLeaf
) -> list[list[Any]]:
    columns: list[list[Any]] = []
    for i, other in enumerate(rest):
        try:
            columns.append(treedef.flatten_up_to(other))
        except ValueError as error:
            raise_first_difference(tree, other, is_leaf, ("tree", f"rest[{i}]"), error)
            raise
    return columns


def tree_reduce(
    function: Callable[[Any, Any], Any],
    tree: object,
    initializer: object = _unspecified,
    is_leaf: IsLeaf = None,
) -> Any:
    """Combine the leaves from left to right.

    Raises:
      TypeError: if the tree has no leaves and no ``initializer`` is given.

    Source: ``jax.tree_util.tree_reduce``, `functools.reduce`.

    >>> tree_reduce(lambda total, x: total + x, [1, (2, 3)], 10)
    16
    """
    try:
        leaves = _flatten(tree, is_leaf)[0]
    except SystemError as error:
        raise cyclic(error) from None
    if initializer is not _unspecified:
        return functools.reduce(function, leaves, initializer)
    if not leaves:
        raise TypeError("tree_reduce of a tree without leaves needs an initializer")
    return functools.reduce(function, leaves)


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: object,
    *,
    identity: object = _unspecified,
    is_leaf: IsLeaf = None,
) -> Any:
    """Combine the leaves pairwise, in a balanced tree whose depth is the logarithm of their number.

    Args:
      operation: an associative function of two values.
      tree: the tree whose leaves are combined, in order.
      identity: the result for a tree without leaves.
      is_leaf: says which nodes are leaves.

    Raises:
      TypeError: if the tree has no leaves and no ``identity`` is given.

    Source: ``jax.tree_util.tree_reduce_associative``.

    >>> tree_reduce_associative(lambda a, b: f"({a}{b})", list("abcd"))
    '((ab)(cd))'
    """
    try:
        leaves = _flatten(tree, is_leaf)[0]
    except SystemError as error:
        raise cyclic(error) from None
    if leaves:
        return _combine(operation, leaves)
    if identity is _unspecified:
        raise TypeError("tree_reduce_associative of a tree without leaves needs an identity")
    return identity


def _combine(operation: Callable[[Any, Any], Any], values: list[Any]) -> Any:
    if len(values) == 1:
        return values[0]
    middle = len(values) // 2
    return operation(_combine(operation, values[:middle]), _combine(operation, values[middle:]))


def tree_all(tree: object, *, is_leaf: IsLeaf = None) -> bool:
    """Whether all leaves are true.

    Source: ``jax.tree_util.tree_all``.

    >>> tree_all([True, {"a": 1}]), tree_all([True, {"a": 0}])
    (True, False)
    """
    try:
        return all(_flatten(tree, is_leaf)[0])
    except SystemError as error:
        raise cyclic(error) from None


def tree_transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: object
) -> Any:
    """Turn a tree of trees inside out.

    Args:
      outer_treedef: the structure of the outer tree.
      inner_treedef: the structure of the subtree at each leaf of the outer tree; ``None`` takes
        the structure of the first one.
      pytree_to_transpose: a tree of structure ``outer_treedef.compose(inner_treedef)``.

    Raises:
      TypeError: if the tree does not have that structure.
      ValueError: if the outer structure does not match, or if ``inner_treedef`` is ``None`` and
        the outer structure has no leaves.

    Source: ``jax.tree_util.tree_transpose``.

    >>> outer, inner = tree_structure([0, 0, 0]), tree_structure((0, 0))
    >>> tree_transpose(outer, inner, [(1, 2), (3, 4), (5, 6)])
    ([1, 3, 5], [2, 4, 6])
    """
    leaves, treedef = _flatten(pytree_to_transpose)
    if inner_treedef is None:
        subtrees = outer_treedef.flatten_up_to(pytree_to_transpose)
        if not subtrees:
            raise ValueError(
                f"tree_transpose cannot find inner_treedef in {outer_treedef}, which has no leaves"
            )
        inner_treedef = _flatten(subtrees[0])[1]
    expected = outer_treedef.compose(inner_treedef)
    if treedef != expected:
        raise TypeError(
            "tree_transpose: pytree_to_transpose must have outer_treedef with inner_treedef at "
            f"every leaf.\n  expected: {expected}\n  found:    {treedef}"
        )
    width = inner_treedef.num_leaves
    return inner_treedef.unflatten(
        [outer_treedef.unflatten(leaves[start::width]) for start in range(width)]
    )


def tree_broadcast(prefix_tree: object, full_tree: object, is_leaf: IsLeaf = None) -> Any:
    """Repeat the leaves of a prefix to fill the structure of a full tree.

    Args:
      prefix_tree: a tree whose leaves stand for subtrees of ``full_tree``.
      full_tree: the full tree; the result has its structure.
      is_leaf: says which nodes of ``prefix_tree`` are leaves.

    Raises:
      ValueError: if ``prefix_tree`` is not a prefix; the message names the path.

    Source: ``jax.tree_util.tree_broadcast``.

    >>> tree_broadcast([1, 2], [(0, 0), {"a": 0}])
    [(1, 1), {'a': 2}]
    """
    leaves = broadcast_prefix(prefix_tree, full_tree, is_leaf)
    return _flatten(full_tree)[1].unflatten(leaves)


def tree_flatten_with_path(
    tree: object, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath[Any], Any]], PyTreeDef]:
    """Flatten a tree into its leaves, each with the path to it, and its structure.

    Args:
      tree: nested containers.
      is_leaf: called on every node; if it returns True, the node is a leaf.
      is_leaf_takes_path: call ``is_leaf(path, node)`` instead of ``is_leaf(node)``.

    Source: ``jax.tree_util.tree_flatten_with_path``.

    >>> tree_flatten_with_path({"a": [1]})
    ([((DictKey(key='a'), SequenceKey(idx=0)), 1)], PyTreeDef({'a': [*]}))
    """
    if is_leaf is None or is_leaf_takes_path:
        predicate = is_leaf
    else:
        predicate = lambda _, node: is_leaf(node)
    try:
        return _flatten_with_path(tree, predicate)
    except SystemError as error:
        raise cyclic(error) from None


def tree_leaves_with_path(
    tree: object, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath[Any], Any]]:
    """The leaves of a tree, each with the path to it.

    Source: ``jax.tree_util.tree_leaves_with_path``.

    >>> tree_leaves_with_path((5, None))
    [((SequenceKey(idx=0),), 5)]
    """
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def generate_key_paths(tree: object) -> list[tuple[KeyPath[Any], Any]]:
    """The leaves of a tree, each with the path to it; `tree_leaves_with_path` without ``is_leaf``.

    >>> generate_key_paths({"a": 5})
    [((DictKey(key='a'),), 5)]
    """
    try:
        return _flatten_with_path(tree)[0]
    except SystemError as error:
        raise cyclic(error) from None


def tree_map_with_path(
    f: Callable[..., Any],
    tree: object,
    *rest: object,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Apply a function to every leaf and the path to it.

    Args:
      f: takes a path, a leaf of ``tree`` and the subtree at its place in each of ``rest``.
      tree: the tree; the result has its structure.
      *rest: trees of which ``tree`` is a prefix.
      is_leaf: says which nodes of ``tree`` are leaves.
      is_leaf_takes_path: call ``is_leaf(path, node)`` instead of ``is_leaf(node)``.

    Raises:
      ValueError: if ``tree`` is not a prefix of one of ``rest``; the message names the path.

    Source: ``jax.tree_util.tree_map_with_path``.

    >>> from ricci_pytree import keystr
    >>> tree_map_with_path(lambda path, x: f"{keystr(path)}={x}", {"a": [1, 2]})
    {'a': ["['a'][0]=1", "['a'][1]=2"]}
    """
    keyed_leaves, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    paths, leaves = [path for path, _ in keyed_leaves], [leaf for _, leaf in keyed_leaves]
    # The search for differences calls is_leaf with the node alone.
    columns = _columns(treedef, tree, rest, None if is_leaf_takes_path else is_leaf)
    return treedef.unflatten(list(map(f, paths, leaves, *columns)))


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether a structure is a single node: a leaf or a container without children.

    Source: ``jax.tree_util.treedef_is_leaf``.

    >>> treedef_is_leaf(tree_structure(1)), treedef_is_leaf(tree_structure([1]))
    (True, False)
    """
    return treedef.num_nodes == 1


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple whose items have these structures.

    Source: ``jax.tree_util.treedef_tuple``.

    >>> treedef_tuple([tree_structure(1), tree_structure([1])])
    PyTreeDef((*, [*]))
    """
    return _engine.treedef_tuple(default_registry, list(treedefs))


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the children.

    Source: ``jax.tree_util.treedef_children``.

    >>> treedef_children(tree_structure((1, [2])))
    [PyTreeDef(*), PyTreeDef([*])]
    """
    return treedef.children()


def build_tree(treedef: PyTreeDef, xs: object) -> Any:
    """The tree with this structure whose leaves are given as nested iterables.

    Raises:
      ValueError: if an iterable has more or fewer items than its container has children.

    >>> build_tree(tree_structure({"a": (0, 0)}), [[1, 2]])
    {'a': (1, 2)}
    """
    return treedef.from_iterable_tree(xs)


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    """Whether every item is a leaf.

    Args:
      iterable: the items.
      is_leaf: says which containers count as leaves.

    Source: ``jax.tree_util.all_leaves``.

    >>> all_leaves([1, "a"]), all_leaves([1, [2]]), all_leaves([None])
    (True, False, False)
    """
    if is_leaf is None:
        return _engine.all_leaves(default_registry, iterable)
    return all(_flatten(item, is_leaf)[1].node_data() is None for item in iterable)


def is_tree_node(typ: type) -> bool:
    """Whether objects of exactly this type are containers.

    Source: ``jax.tree_util.is_tree_node``.

    >>> is_tree_node(dict), is_tree_node(int)
    (True, False)
    """
    return default_registry.is_node(typ)


def flatten_one_level(tree: object) -> tuple[Iterable[Any], Hashable]:
    """The children and the static data of a container.

    Raises:
      ValueError: if ``tree`` is a leaf.

    Source: ``jax.tree_util.flatten_one_level``.

    >>> flatten_one_level({"b": [1], "a": 2})
    ((2, [1]), ('a', 'b'))
    """
    parts = default_registry.flatten_one_level(tree)
    if parts is None:
        raise _not_a_container("flatten_one_level", tree)
    return parts


def flatten_one_level_with_keys(tree: object) -> tuple[Iterable[tuple[Any, Any]], Hashable]:
    """The pairs (key, child) and the static data of a container.

    Raises:
      ValueError: if ``tree`` is a leaf.

    Source: ``jax.tree_util.flatten_one_level_with_keys``.

    >>> flatten_one_level_with_keys({"a": 2})
    (((DictKey(key='a'), 2),), ('a',))
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
