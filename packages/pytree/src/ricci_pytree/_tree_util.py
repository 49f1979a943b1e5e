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
        return _flatten(tree, is_leaf)
    except SystemError as error:
        raise cyclic(error) from None


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
    return treedef.unflatten(leaves)


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
        return _flatten(tree, is_leaf)[0]
    except SystemError as error:
        raise cyclic(error) from None


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

    Returns:
      A tree of the structure of ``tree``, with the results for leaves.

    Raises:
      ValueError: if ``tree`` is not a prefix of one of ``rest``; the message names the path.

    Example:
      A step of gradient descent, on parameters of any structure:

      >>> import ricci
      >>> params = {"dense": [1.0, 2.0], "bias": 3.0}
      >>> gradient = {"dense": [0.5, 0.5], "bias": -1.0}
      >>> ricci.tree.map(lambda p, g: p - 2.0 * g, params, gradient)
      {'bias': 5.0, 'dense': [0.0, 1.0]}

      ``None`` is a container without children, not a leaf, unless ``is_leaf`` says so:

      >>> ricci.tree.map(lambda x: x + 1, [1, None])
      [2, None]
      >>> ricci.tree.map(lambda x: x is None, [1, None], is_leaf=lambda x: x is None)
      [False, True]

    Notes:
      Objects of classes that are not registered are leaves as a whole. To get several trees back,
      map to tuples and use ``tree.transpose``.

    See also:
      ``tree.map_with_path``, ``tree.reduce``, ``tree.leaves``; ``register_dataclass``.

    Source: ``jax.tree_util.tree_map``.
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

    Args:
      function: takes what has been combined so far, and a leaf.
      tree: nested containers.
      initializer: where to start; by default with the first leaf.
      is_leaf: called on every node; if it returns True, the node is a leaf.

    Returns:
      What the last call returned.

    Raises:
      TypeError: if the tree has no leaves and no ``initializer`` is given.

    Example:
      The number of parameters, and the square of their norm:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> params = {"w": jnp.ones((3, 4)), "b": jnp.zeros(4)}
      >>> ricci.tree.reduce(lambda count, x: count + x.size, params, 0)
      16
      >>> float(ricci.tree.reduce(lambda total, x: total + jnp.sum(x**2), params, 0.0))
      12.0

    Source: ``jax.tree_util.tree_reduce``, `functools.reduce`.
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

    Returns:
      The combination of all leaves.

    Raises:
      TypeError: if the tree has no leaves and no ``identity`` is given.

    Example:
      >>> from ricci import tree_util
      >>> tree_util.tree_reduce_associative(lambda a, b: f"({a}{b})", list("abcd"))
      '((ab)(cd))'

    Source: ``jax.tree_util.tree_reduce_associative``.
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

    Args:
      tree: nested containers.
      is_leaf: called on every node; if it returns True, the node is a leaf.

    Returns:
      A bool.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> params = {"w": jnp.array([1.0, jnp.inf]), "b": jnp.zeros(2)}
      >>> ricci.tree.all(ricci.tree.map(lambda x: jnp.isfinite(x).all(), params))
      False

    Source: ``jax.tree_util.tree_all``.
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

    Returns:
      A tree of structure ``inner_treedef.compose(outer_treedef)``.

    Raises:
      TypeError: if the tree does not have that structure.
      ValueError: if the outer structure does not match, or if ``inner_treedef`` is ``None`` and
        the outer structure has no leaves.

    Example:
      From a list of steps, each with a dict, to a dict of lists:

      >>> import ricci
      >>> steps = [{"loss": 3.0, "norm": 1.5}, {"loss": 2.0, "norm": 1.0}]
      >>> outer, inner = ricci.tree.structure([0, 0]), ricci.tree.structure({"loss": 0, "norm": 0})
      >>> ricci.tree.transpose(outer, inner, steps)
      {'loss': [3.0, 2.0], 'norm': [1.5, 1.0]}

    Source: ``jax.tree_util.tree_transpose``.
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

    Returns:
      A tree of the structure of ``full_tree``, with the leaves of the prefix.

    Raises:
      ValueError: if ``prefix_tree`` is not a prefix; the message names the path.

    Example:
      >>> from ricci import tree_util
      >>> tree_util.tree_broadcast([1, 2], [(0, 0), {"a": 0}])
      [(1, 1), {'a': 2}]

    Source: ``jax.tree_util.tree_broadcast``.
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
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


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

    Returns:
      A tree of the structure of ``tree``, with the results for leaves.

    Raises:
      ValueError: if ``tree`` is not a prefix of one of ``rest``; the message names the path.

    Example:
      Weight decay for all parameters but the biases:

      >>> import ricci
      >>> from ricci.tree_util import keystr
      >>> params = {"dense": {"w": 2.0, "bias": 3.0}}
      >>> def decay(path, p):
      ...     return p if keystr(path).endswith("['bias']") else 0.5 * p
      >>> ricci.tree.map_with_path(decay, params)
      {'dense': {'bias': 3.0, 'w': 1.0}}

    Source: ``jax.tree_util.tree_map_with_path``.
    """
    keyed_leaves, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    paths, leaves = [path for path, _ in keyed_leaves], [leaf for _, leaf in keyed_leaves]
    # The search for differences calls is_leaf with the node alone.
    columns = _columns(treedef, tree, rest, None if is_leaf_takes_path else is_leaf)
    return treedef.unflatten(list(map(f, paths, leaves, *columns)))


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
      is_leaf: says which containers count as leaves.

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
