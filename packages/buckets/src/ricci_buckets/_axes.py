"""The argument ``axis`` of ``bucketed``: which dimensions of which arguments are padded."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from operator import index
from typing import Any

from ricci_pytree import broadcast_prefix, tree_leaves

__all__ = ["PaddedAxes", "describe_axes", "padded_axes_of_call", "read_entry"]

# The names of the padded axes of one array, by axis.
type PaddedAxes = Mapping[int, str]

# The name of the length of axes that are given as ints.
_NAME = "n"


def padded_axes_of_call(
    axis: object, fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[Any]:
    """The entry of ``axis`` for each leaf of ``(args, kwargs)``: an int, a string or ``None``.

    Raises:
      ValueError: if ``axis`` does not match the arguments.
    """
    names = _parameters(fun)
    if isinstance(axis, Mapping) and names is not None and axis and set(axis) <= set(names):
        positional = tuple(axis.get(names[i]) if i < len(names) else None for i in range(len(args)))
        keywords = {name: axis.get(name) for name in kwargs}
    elif isinstance(axis, tuple):
        if len(axis) != len(args):
            raise ValueError(
                f"bucketed: axis has {len(axis)} entries, and the function was called with "
                f"{len(args)} positional arguments. Give an entry for each, None for those that "
                "are not padded; or name the arguments in a dict."
            )
        positional, keywords = axis, dict.fromkeys(kwargs)
    else:
        positional, keywords = (axis,) * len(args), dict.fromkeys(kwargs, axis)
    entries: list[Any] = []
    for entry, value in [
        *zip(positional, args, strict=True),
        *((keywords[name], kwargs[name]) for name in sorted(kwargs)),
    ]:
        if entry is None:
            entries += [None] * len(tree_leaves(value))
        else:
            entries += broadcast_prefix(entry, value, is_leaf=lambda x: x is None)
    return entries


def _parameters(fun: Callable[..., Any]) -> list[str] | None:
    try:
        return list(inspect.signature(fun).parameters)
    except (TypeError, ValueError):
        return None


def read_entry(entry: Any, ndim: int, what: str) -> dict[int, str]:
    """Parse an entry of ``axis``: the name of the length of each padded axis of one array.

    Args:
      entry: an int, ``None``, or a name for each axis with ``_`` for those that are not padded,
        such as ``"batch, time, _"``.
      ndim: the number of the array's dimensions.
      what: the argument, for messages.

    Raises:
      ValueError: if the entry does not match the array.
    """
    if entry is None:
        return {}
    if isinstance(entry, str):
        names = [name.strip() for name in entry.split(",")]
        if names[-1] == "...":
            names[-1:] = ["_"] * (ndim - len(names) + 1)
        wrong = [name for name in names if not name.isidentifier()]
        if wrong or len(names) != ndim:
            raise ValueError(
                f"bucketed: axis={entry!r} for {what}, an array of {ndim} dimensions. Write a name "
                'for each dimension that is padded and _ for the others: "batch, time, _".'
            )
        return {i: name for i, name in enumerate(names) if name != "_"}
    try:
        axis = index(entry)
    except TypeError:
        axis = ndim
    if not -ndim <= axis < ndim:
        raise ValueError(
            f"bucketed: axis={entry!r} for {what}, an array of {ndim} dimensions. Give the number "
            f"of one of its dimensions, a string that names those that are padded, or None."
        )
    return {axis % ndim: _NAME}


def describe_axes(names: Sequence[str], axes: Sequence[PaddedAxes]) -> dict[str, str]:
    """Describe the axes of arguments that have each length, for messages."""
    axes_by_name: dict[str, list[str]] = {}
    for name, padded_axes in zip(names, axes, strict=True):
        for axis, variable in padded_axes.items():
            axes_by_name.setdefault(variable, []).append(f"axis {axis} of {name}")
    return {variable: ", ".join(places) for variable, places in axes_by_name.items()}
