"""Error messages for arguments of another structure."""

from typing import Any

from ricci_pytree import PyTreeDef, tree_flatten_with_path
from ricci_xla.exported import argument_names, leaf_name


def differences(in_tree: PyTreeDef, arguments: tuple[tuple[Any, ...], dict[str, Any]]) -> str:
    """Describe the missing and unexpected arguments of a call, in a few lines."""
    expected = set(argument_names(in_tree))
    names_of_call = {leaf_name(path) for path, _ in tree_flatten_with_path(arguments)[0]}
    lines = [
        f"  {what}: {', '.join(sorted(names)[:4])}{', ...' if len(names) > 4 else ''}"
        for what, names in (
            ("missing", expected - names_of_call),
            ("unexpected", names_of_call - expected),
        )
        if names
    ]
    if not lines:
        example = in_tree.unflatten(range(in_tree.num_leaves))
        lines = [f"  expected: {_short(example)}", f"  found:    {_short(arguments)}"]
    return "\n".join(lines)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:197] + "..."
