"""Objects that occur more than once in a call's arguments, such as a model's tied layers.

Flattening a tree loses that: unflattened, each occurrence is an object of its own.
"""

from collections.abc import Iterable
from typing import Any

from ricci_pytree import registered_nodes

# The keys that lead to an object: indices and keys of containers, names of attributes.
Path = tuple[Any, ...]


def shared_objects(tree: object) -> tuple[tuple[Path, Path], ...]:
    """Find the objects of registered classes that occur again.

    Returns:
      For each further occurrence the path of the first one, and its own.
    """
    first: dict[int, Path] = {}
    again: list[tuple[Path, Path]] = []

    def visit(node: object, path: Path) -> None:
        items = _items(node)
        if items is None:
            return
        if type(node) not in (tuple, list, dict):
            if id(node) in first:
                again.append((first[id(node)], path))
                return
            first[id(node)] = path
        for key, item in items:
            visit(item, (*path, key))

    visit(tree, ())
    return tuple(again)


def share_again(tree: object, shared: tuple[tuple[Path, Path], ...]) -> None:
    """Put the object of the first path in the place of the second one, in a copy of the tree."""
    for one, two in shared:
        *outer, last = two
        holder, again = _at(tree, tuple(outer)), _at(tree, two)
        original = _at(tree, one)
        if type(original) is not type(again) or isinstance(holder, tuple):
            continue
        if isinstance(holder, list | dict):
            holder[last] = original
        else:
            vars(holder)[last] = original  # also where setting an attribute is refused


def _items(node: Any) -> Iterable[tuple[Any, Any]] | None:
    """The parts of a container, or of an object of a registered class; ``None`` for a leaf."""
    kind = type(node)
    if kind is tuple or kind is list:
        return enumerate(node)
    if kind is dict:
        return node.items()
    if kind not in registered_nodes:
        return None
    return list(getattr(node, "__dict__", {}).items())


def _at(node: Any, path: Path) -> object:
    for key in path:
        try:
            node = node[key] if type(node) in (tuple, list, dict) else vars(node)[key]
        except (KeyError, IndexError, TypeError):
            return None
    return node
