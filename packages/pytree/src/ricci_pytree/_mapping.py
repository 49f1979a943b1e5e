"""The functions that work on all leaves of trees: map, reduce, transpose and broadcast."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, final, overload

from . import _errors
from ._engine import PyTreeDef
from ._errors import passes_errors, recursion_error
from ._flattening import IsLeaf, tree_flatten_with_path
from ._prefix import broadcast_prefix, raise_first_difference
from ._registry import default_registry

_flatten = default_registry.flatten  # looked up once, since every transformation calls it


@final
class Unspecified:
    """The default of an argument for which ``None`` is a valid value."""

    def __repr__(self) -> str:
        return "<unspecified>"


_unspecified = Unspecified()


if TYPE_CHECKING:
    # One overload for each number of trees, so that type checkers check the number of parameters
    # of ``f`` and infer those of a lambda as ``Any``.
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


@passes_errors
def tree_map(f: Callable[..., Any], tree: object, *rest: object, is_leaf: IsLeaf = None) -> Any:
    """Apply a function to every leaf.

    Args:
      f: takes a leaf of ``tree`` and the subtree at its place in each of ``rest``.
      tree: the tree; the result has its structure.
      *rest: trees of which ``tree`` is a prefix.
      is_leaf: whether a node of ``tree`` is a leaf.

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

      ``None`` is a container without children, not a leaf, unless ``is_leaf`` is true for it:

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
        try:
            leaves, treedef = _flatten(tree, is_leaf)
        except SystemError as error:
            raise recursion_error(error) from None
        if not rest:
            return treedef.unflatten(list(map(f, leaves)))
        return treedef.unflatten(list(map(f, leaves, *_columns(treedef, tree, rest, is_leaf))))
    except Exception as error:
        _errors.leave(error)
        raise


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


@passes_errors
def tree_reduce(
    function: Callable[[Any, Any], Any],
    tree: object,
    initializer: object = _unspecified,
    is_leaf: IsLeaf = None,
) -> Any:
    """Combine the leaves from left to right.

    Args:
      function: takes the result so far and a leaf.
      tree: nested containers.
      initializer: where to start; by default with the first leaf.
      is_leaf: called on every node; if it returns True, the node is a leaf.

    Returns:
      The result of the last call.

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
        try:
            leaves = _flatten(tree, is_leaf)[0]
        except SystemError as error:
            raise recursion_error(error) from None
        if initializer is not _unspecified:
            return functools.reduce(function, leaves, initializer)
        if not leaves:
            raise TypeError("tree_reduce of a tree without leaves needs an initializer")
        return functools.reduce(function, leaves)
    except Exception as error:
        _errors.leave(error)
        raise


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
      is_leaf: whether a node is a leaf.

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
        raise recursion_error(error) from None
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
        raise recursion_error(error) from None


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
    # Leaf i of the inner trees is at positions i, i + width, i + 2 width and so on.
    width = inner_treedef.num_leaves
    return inner_treedef.unflatten(
        [outer_treedef.unflatten(leaves[start::width]) for start in range(width)]
    )


def tree_broadcast(prefix_tree: object, full_tree: object, is_leaf: IsLeaf = None) -> Any:
    """Repeat the leaves of a prefix to fill the structure of a full tree.

    Args:
      prefix_tree: a tree whose leaves represent subtrees of ``full_tree``.
      full_tree: the full tree; the result has its structure.
      is_leaf: whether a node of ``prefix_tree`` is a leaf.

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


@passes_errors
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
      is_leaf: whether a node of ``tree`` is a leaf.
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
    try:
        keyed_leaves, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
        paths, leaves = [path for path, _ in keyed_leaves], [leaf for _, leaf in keyed_leaves]
        # The search for differences calls is_leaf with the node alone.
        columns = _columns(treedef, tree, rest, None if is_leaf_takes_path else is_leaf)
        return treedef.unflatten(list(map(f, paths, leaves, *columns)))
    except Exception as error:
        _errors.leave(error)
        raise
