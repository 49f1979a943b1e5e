"""What messages say of arguments: their names, and how structures differ."""

from typing import Any

from ricci_pytree import PyTreeDef, keystr, tree_flatten_with_path, tree_unflatten


def argument_names(in_tree: PyTreeDef) -> list[str]:
    """The names of the leaves of ``(args, kwargs)``, such as ``args[0]['w']``."""
    return [_name(path) for path, _ in _leaves_of(in_tree)]


def _leaves_of(in_tree: PyTreeDef) -> list[Any]:
    return tree_flatten_with_path(tree_unflatten(in_tree, range(in_tree.num_leaves)))[0]


def _name(path: Any) -> str:
    where, *rest = path
    return ("kwargs" if getattr(where, "idx", 0) else "args") + keystr(tuple(rest))


def differences(in_tree: PyTreeDef, given: tuple[tuple[Any, ...], dict[str, Any]]) -> str:
    """Which arguments a call has too many and too few, in a few lines."""
    expected = set(argument_names(in_tree))
    found = {_name(path) for path, _ in tree_flatten_with_path(given)[0]}
    lines = [
        f"  {what}: {', '.join(sorted(names)[:4])}{', ...' if len(names) > 4 else ''}"
        for what, names in (("missing", expected - found), ("unexpected", found - expected))
        if names
    ]
    if not lines:
        own = in_tree.unflatten(range(in_tree.num_leaves))
        lines = [f"  expected: {_short(own)}", f"  found:    {_short(given)}"]
    return "\n".join(lines)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:197] + "..."
