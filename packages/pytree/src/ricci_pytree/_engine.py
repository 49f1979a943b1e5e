"""The choice of the engine that flattens trees, and key paths, which are made of its keys.

The environment variable ``RICCI_PYTREE_ENGINE`` (``cpp`` or ``python``) overrides the choice.
"""

import os
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from ._installation import explain_jaxlib

_VARIABLE = "RICCI_PYTREE_ENGINE"
_choice = os.environ.get(_VARIABLE, "")

if TYPE_CHECKING or _choice == "python":
    from . import _python_engine as engine
elif _choice == "cpp":
    from . import _cpp_engine as engine
elif _choice == "":
    try:
        from . import _cpp_engine as engine
    except Exception as error:
        # Only a missing jaxlib is not an error.
        name = error.name if type(error) is ModuleNotFoundError else None
        if name not in ("jaxlib", "jaxlib._jax"):
            raise explain_jaxlib(error) from error
        from . import _python_engine as engine
else:
    raise ValueError(f"{_VARIABLE} must be 'cpp' or 'python', found {_choice!r}")

engine_name: str = engine.name
DictKey = engine.DictKey
FlattenedIndexKey = engine.FlattenedIndexKey
GetAttrKey = engine.GetAttrKey
PyTreeDef = engine.PyTreeDef
PyTreeRegistry = engine.PyTreeRegistry
SequenceKey = engine.SequenceKey
all_leaves = engine.all_leaves
treedef_tuple = engine.treedef_tuple

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
