"""The names of a function's arguments in messages."""

from typing import Any

from ricci_pytree import PyTreeDef, keystr, tree_flatten_with_path, tree_unflatten

__all__ = ["argument_names", "leaf_name"]


def argument_names(in_tree: PyTreeDef) -> list[str]:
    """The names of the leaves of ``(args, kwargs)``, such as ``args[0]['w']``."""
    with_paths, _ = tree_flatten_with_path(tree_unflatten(in_tree, range(in_tree.num_leaves)))
    return [leaf_name(path) for path, _ in with_paths]


def leaf_name(path: Any) -> str:
    """The name of a leaf of ``(args, kwargs)`` by its path."""
    group, *keys = path
    return ("kwargs" if getattr(group, "idx", 0) else "args") + keystr(tuple(keys))
