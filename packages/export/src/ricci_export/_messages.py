"""What messages say of how structures of arguments differ."""

from typing import Any

from ricci_pytree import PyTreeDef, tree_flatten_with_path
from ricci_xla.exported import argument_names, leaf_name


def differences(in_tree: PyTreeDef, given: tuple[tuple[Any, ...], dict[str, Any]]) -> str:
    """Which arguments a call has too many and too few, in a few lines."""
    expected = set(argument_names(in_tree))
    found = {leaf_name(path) for path, _ in tree_flatten_with_path(given)[0]}
    lines = [
        f"  {what}: {', '.join(sorted(names)[:4])}{', ...' if len(names) > 4 else ''}"
        for what, names in (("missing", expected - found), ("unexpected", found - expected))
        if names
    ]
    if not lines:
        own = in_tree.unflatten(range(in_tree.num_leaves))
        lines = [f"  expected: {_short(own)}", f"  found:    {_short(given)}"]
    return "\n".join(lines)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:197] + "..."
