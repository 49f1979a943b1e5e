"""Tree prefixes: broadcast one tree over another, and report where two trees differ.

A prefix of a tree is that tree with some of its subtrees replaced by leaves. Each leaf of the
prefix represents a whole subtree.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, final

from ._engine import KeyPath, PyTreeDef, keystr
from ._errors import recursion_error, shorten
from ._registry import default_registry

type _IsLeaf = Callable[[Any], bool] | None
# One level of a tree: the container's type and static data (None for a leaf), and its children.
type _Level = tuple[tuple[type, Any] | None, Sequence[Any]]

_flatten = default_registry.flatten


@final
class PrefixError(NamedTuple):
    """A position where a tree is not a prefix of another; call it to get a ``ValueError``.

    Args:
      path: the path to the place.
      prefix, full: descriptions of the two subtrees there.
      hint: further words on the difference.

    Example:
      >>> from ricci_pytree import prefix_errors
      >>> [difference] = prefix_errors({"a": [1, 2]}, {"a": [1]})
      >>> print(difference("in_axes", "args"))
      in_axes['a'] does not match args['a']:
      in_axes['a'] is a list of length 2
      args['a'] is a list of length 1
    """

    path: KeyPath[Any]
    prefix: str
    full: str
    hint: str = ""

    def __call__(self, prefix_name: str = "prefix", full_name: str = "full") -> ValueError:
        """The error, with the user's names for the two trees."""
        path = keystr(self.path)
        lines = [
            f"{prefix_name}{path} does not match {full_name}{path}:",
            f"  {prefix_name}{path} is {self.prefix}",
            f"  {full_name}{path} is {self.full}",
        ]
        if self.hint:
            lines.append(f"  {self.hint}")
        return ValueError("\n".join(lines))


def _open_tree(tree: object) -> _Level:
    # Every node below the root is a leaf here, so that one level is flattened.
    children, treedef = _flatten(tree, lambda node: node is not tree)
    return treedef.node_data(), children


def _open_structure(treedef: PyTreeDef) -> _Level:
    return treedef.node_data(), treedef.children()


def _describe(level: _Level, tree: object) -> str:
    node, children = level
    if node is None:
        return "a leaf" if isinstance(tree, PyTreeDef) else f"a leaf: {shorten(tree)}"
    kind, data = node
    if kind is type(None):
        return "None, an empty container"
    if kind in (list, tuple):
        return f"a {kind.__name__} of length {len(children)}"
    if kind is dict:
        return f"a dict with keys {shorten(list(data))}"
    name = f"a container of type {kind.__module__}.{kind.__qualname__}"
    return name if data is None else f"{name} with static data {shorten(data)}"


def _hint(prefix: _Level, full: _Level, is_leaf: _IsLeaf) -> str:
    kinds = [node and node[0] for node, _ in (prefix, full)]
    if type(None) in kinds and is_leaf is None:
        return "To make None a leaf, pass is_leaf=lambda x: x is None."
    if kinds[0] is dict and kinds[1] is dict and prefix[0] and full[0]:
        expected, actual = list(prefix[0][1]), list(full[0][1])
        missing = [key for key in expected if key not in actual]
        extra = [key for key in actual if key not in expected]
        parts = [
            *([f"missing from the second: {shorten(missing)}"] if missing else []),
            *([f"only in the second: {shorten(extra)}"] if extra else []),
        ]
        return "; ".join(parts)
    return ""


def _differences(
    path: KeyPath[Any],
    prefix: object,
    full: object,
    is_leaf: _IsLeaf,
    open_full: Callable[[Any], _Level],
) -> Iterator[PrefixError]:
    if is_leaf is not None and is_leaf(prefix):
        return
    keyed = default_registry.flatten_one_level_with_keys(prefix)
    if keyed is None:
        return
    prefix_level, full_level = _open_tree(prefix), open_full(full)
    prefix_node, full_node = prefix_level[0], full_level[0]
    same = prefix_node is not None and full_node is not None and prefix_node[0] is full_node[0]
    if (
        not same or len(prefix_level[1]) != len(full_level[1]) or prefix_node[1] != full_node[1]  # pyright: ignore[reportOptionalSubscript]
    ):
        yield PrefixError(
            path,
            _describe(prefix_level, prefix),
            _describe(full_level, full),
            _hint(prefix_level, full_level, is_leaf),
        )
        return
    for (key, child), subtree in zip(keyed[0], full_level[1], strict=True):
        yield from _differences((*path, key), child, subtree, is_leaf, open_full)


def prefix_errors(prefix: object, full: object, is_leaf: _IsLeaf = None) -> list[PrefixError]:
    """The places where ``prefix`` is not a prefix of ``full``, in order.

    Subtrees below a reported place are not searched.

    Args:
      prefix: the tree whose leaves represent subtrees.
      full: the whole tree.
      is_leaf: whether a node of ``prefix`` is a leaf.

    Returns:
      A list, empty if ``prefix`` is one.

    Example:
      >>> from ricci_pytree import prefix_errors
      >>> prefix_errors([1, 2], [1, {"a": 2}])
      []
      >>> print(prefix_errors([1, {"a": 2}], [1, {"b": 2}])[0]("specs", "x"))
      specs[1] does not match x[1]:
      specs[1] is a dict with keys ['a']
      x[1] is a dict with keys ['b']
      missing from the second: ['a']; only in the second: ['b']
    """
    return list(_differences((), prefix, full, is_leaf, _open_tree))


def raise_first_difference(
    prefix: object, full: object, is_leaf: _IsLeaf, names: tuple[str, str], original: ValueError
) -> None:
    """Raise an error that names the first place where two trees differ, if there is one."""
    differences = prefix_errors(prefix, full, is_leaf)
    if differences:
        raise differences[0](*names) from None


def broadcast_prefix(prefix: object, full: object, is_leaf: _IsLeaf = None) -> list[Any]:
    """The leaves of ``prefix``, each repeated once for every leaf of its subtree of ``full``.

    Args:
      prefix: the tree whose leaves represent subtrees.
      full: the whole tree.
      is_leaf: whether a node of ``prefix`` is a leaf.

    Returns:
      A list of leaves, as many as the full tree has.

    Raises:
      ValueError: if ``prefix`` is not a prefix of ``full``.

    Example:
      >>> from ricci_pytree import broadcast_prefix
      >>> broadcast_prefix({"a": 1, "b": 2}, {"a": [0, 0], "b": 0})
      [1, 1, 2]
    """
    result: list[Any] = []
    try:
        leaves, treedef = _flatten(prefix, is_leaf)
        subtrees = treedef.flatten_up_to(full)
        for leaf, subtree in zip(leaves, subtrees, strict=True):
            result.extend([leaf] * len(_flatten(subtree)[0]))
    except ValueError as error:
        raise_first_difference(prefix, full, is_leaf, ("prefix_tree", "full_tree"), error)
        raise
    except SystemError as error:
        raise recursion_error(error) from None
    return result


def _is_none(tree: object) -> bool:
    return tree is None


def flatten_axes(
    name: str, treedef: PyTreeDef, axis_tree: Any, *, kws: bool = False, tupled_args: bool = False
) -> list[Any]:
    """Broadcast a tree of axis specifications over a structure.

    Args:
      name: the user's name for ``axis_tree``, for the error message.
      treedef: the structure of the values that the specifications are for.
      axis_tree: a prefix of that structure. ``None`` is one of its leaves.
      kws, tupled_args: accepted for compatibility: whether the structure is that of arguments
        and keyword arguments, or of arguments in a tuple.

    Returns:
      One specification for each leaf of the structure.

    Raises:
      ValueError: if ``axis_tree`` is not a prefix of the structure; the message names the path.

    >>> from ricci import tree_util
    >>> from ricci.api_util import flatten_axes
    >>> flatten_axes("in_axes", tree_util.tree_structure((1, {"a": 2, "b": 3})), (None, 0))
    [None, 0, 0]
    """
    return flatten_prefix(name, treedef, axis_tree, _is_none)


def flatten_prefix(
    name: str, treedef: PyTreeDef, axis_tree: Any, is_leaf: Callable[[Any], bool]
) -> list[Any]:
    """Broadcast a tree over a structure, as ``flatten_axes``, with leaves by ``is_leaf``.

    Args:
      name: the user's name for ``axis_tree``, for the error message.
      treedef: the structure of the values that the specifications are for.
      axis_tree: a prefix of that structure.
      is_leaf: whether a node of it is a leaf.

    Returns:
      One leaf for each of the structure.

    Raises:
      ValueError: if ``axis_tree`` is not a prefix of the structure.

    Example:
      >>> import ricci
      >>> from ricci_pytree import flatten_prefix
      >>> structure = ricci.tree.structure({"a": 0, "b": [0, 0]})
      >>> flatten_prefix("specs", structure, {"a": "x", "b": "y"}, lambda x: isinstance(x, str))
      ['x', 'y', 'y']
    """
    axes: list[Any] = []
    leaves, axes_treedef = _flatten(axis_tree, is_leaf)
    if _match(axes_treedef, treedef, iter(leaves), axes):
        return axes
    differences = list(_differences((), axis_tree, treedef, is_leaf, _open_structure))
    if not differences:
        raise ValueError(
            f"{name} must be a prefix of the tree that it applies to: "
            f"found {axes_treedef}, expected a prefix of {treedef}"
        )
    raise differences[0](name, "value")


def _match(prefix: PyTreeDef, full: PyTreeDef, leaves: Iterator[Any], axes: list[Any]) -> bool:
    node = prefix.node_data()
    if node is None:
        axes.extend([next(leaves)] * full.num_leaves)
        return True
    full_node = full.node_data()
    if full_node is None or node[0] is not full_node[0] or node[1] != full_node[1]:
        return False
    children, full_children = prefix.children(), full.children()
    return len(children) == len(full_children) and all(
        _match(child, subtree, leaves, axes)
        for child, subtree in zip(children, full_children, strict=True)
    )
