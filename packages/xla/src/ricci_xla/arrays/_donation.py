"""Errors about arrays whose memory was given away, since they were donated arguments."""

from collections.abc import Sequence
from typing import Any

from ._array import ArrayImpl


def name_deleted(name: str, arg_names: Sequence[str], leaves: Sequence[Any]) -> None:
    """Raise an error that names the deleted arrays among the arguments of a call, if there are any.

    Args:
      name: the function's.
      arg_names, leaves: what its arguments are called, and the arguments.

    Raises:
      RuntimeError: if an argument's memory was freed, or given to the result of another call.
    """
    gone = [
        f"argument {arg_names[i]} ({leaf.aval.str_short()})"
        if i < len(arg_names)
        else leaf.aval.str_short()
        for i, leaf in enumerate(leaves)
        if isinstance(leaf, ArrayImpl) and leaf.is_deleted()
    ]
    if gone:
        raise RuntimeError(
            f"{name} was called with an array that was deleted: {', '.join(gone[:4])}.\nIts memory "
            "was freed by delete(), or an earlier call gave it to its result, since it was donated "
            "(donate_argnums, donate_argnames). Pass that call's result instead, or do not donate "
            "this array."
        )


def name_repeated(
    name: str, arg_names: Sequence[str], leaves: Sequence[Any], donated: Sequence[bool]
) -> None:
    """Raise an error if an array is donated that is also another argument of the same call.

    Raises:
      ValueError: naming both arguments.
    """
    first: dict[int, int] = {}
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, ArrayImpl):
            j = first.setdefault(id(leaf), i)
            if j != i and (donated[i] or donated[j]):
                raise ValueError(
                    f"{name}: arguments {arg_names[j]} and {arg_names[i]} are one array "
                    f"({leaf.aval.str_short()}), which is donated and so cannot be passed twice. "
                    "Pass a copy as one of them."
                )
