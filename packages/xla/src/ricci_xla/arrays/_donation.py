"""Errors about donated arguments: arrays that are used after they were donated, or passed twice."""

from collections.abc import Sequence

from ._array_impl import ArrayImpl


def name_deleted(name: str, arg_names: Sequence[str], leaves: Sequence[object]) -> None:
    """Raise an error that names the deleted arrays among the arguments of a call, if there are any.

    Args:
      name: the function's name.
      arg_names: the names of the arguments' leaves, as far as they have names.
      leaves: the leaves.

    Raises:
      RuntimeError: if an argument was deleted, or donated to an earlier call.
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
            "was freed by delete(), or it was donated to an earlier call, whose result reuses it "
            "(donate_argnums, donate_argnames). Pass that call's result instead, or do not donate "
            "this array."
        )


def name_repeated(
    name: str, arg_names: Sequence[str], leaves: Sequence[object], donated: Sequence[bool]
) -> None:
    """Raise an error if a donated array is also another argument of the same call.

    Raises:
      ValueError: if there is one; the error names both arguments.
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
