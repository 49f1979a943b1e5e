"""Key paths: the position of a leaf in a tree, and its printed form."""

from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

from ._engine import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey

KeyEntry = TypeVar("KeyEntry", bound=Hashable)
KeyPath = tuple[KeyEntry, ...]

_bare: dict[type, Callable[[Any], str]] = {
    DictKey: lambda key: str(key.key),
    FlattenedIndexKey: lambda key: str(key.key),
    GetAttrKey: lambda key: key.name,
    SequenceKey: lambda key: str(key.idx),
}


def keystr(keys: Iterable[Any], *, simple: bool = False, separator: str = "") -> str:
    """Print a key path.

    Args:
      keys: the path, as `tree_flatten_with_path` returns it.
      simple: print each key alone (``w``) instead of the expression that indexes with it
        (``['w']``).
      separator: the text between keys.

    Returns:
      The path as a string.

    Example:
      >>> from ricci import tree_util
      >>> path = (tree_util.DictKey("w"), tree_util.SequenceKey(0))
      >>> tree_util.keystr(path)
      "['w'][0]"
      >>> tree_util.keystr(path, simple=True, separator="/")
      'w/0'

    Source: ``jax.tree_util.keystr``.
    """
    if simple:
        return separator.join([_bare.get(type(key), str)(key) for key in keys])
    return separator.join([str(key) for key in keys])
