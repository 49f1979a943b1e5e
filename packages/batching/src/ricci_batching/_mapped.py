"""The axes of a call that a transformation maps over, checked."""

from collections.abc import Callable, Sequence
from typing import Any

from ricci_ir import get_aval


def check_axis(what: str, dim: Any) -> None:
    """Raise ``TypeError`` unless an entry of an axes argument, called ``what``, is an int."""
    if not isinstance(dim, int):
        raise TypeError(
            f"{what} holds {dim!r}, of type {type(dim).__name__}, where an axis (an int) or "
            "None is expected."
        )


def mapped_dims(
    transform: str,
    leaves: Sequence[Any],
    dims: Sequence[Any],
    axis_size: int | None,
    names: Callable[[], list[str]],
) -> tuple[list[int | None], int]:
    """The mapped dimension of each leaf, not negative, and their common size.

    Args:
      transform: the name of the transformation, for messages: ``vmap`` or ``pmap``.
      leaves: the arguments, flattened.
      dims: for each, the axis to map over, or ``None``.
      axis_size: the size, where it is given.
      names: gives the leaves' names; called only for an error.

    Raises:
      ValueError: if a leaf has no such axis, the sizes differ, or nothing says the size.
    """
    pairs = enumerate(zip(leaves, dims, strict=True))
    found = [_dim(transform, x, d, i, names) for i, (x, d) in pairs]
    mapped = [(i, get_aval(leaves[i]), d) for i, d in enumerate(found) if d is not None]
    sizes = {aval.shape[d] for _, aval, d in mapped}  # pyright: ignore
    if axis_size is not None:
        sizes.add(axis_size)
    if len(sizes) == 1:
        return found, sizes.pop()
    if not sizes:
        raise ValueError(
            f"{transform}: nothing is mapped, since in_axes is None for every argument. Map one, "
            "or say axis_size."
        )
    paths = names()
    lines = [
        f"  {paths[i]} has size {aval.shape[d]} along axis {d} (type {aval.str_short()})"  # pyright: ignore
        for i, aval, d in mapped
    ]
    if axis_size is not None:
        lines.append(f"  axis_size is {axis_size}")
    shown = lines[:8] + ([f"  and {len(lines) - 8} more"] if len(lines) > 8 else [])
    raise ValueError(
        f"{transform}: the axes to map over differ in size:\n"
        + "\n".join(shown)
        + "\nMake the sizes equal, or give None in in_axes for arguments that are not mapped."
    )


def _dim(transform: str, leaf: Any, dim: Any, i: int, names: Callable) -> int | None:
    if dim is None:
        return None
    check_axis(f"{transform}: in_axes", dim)
    try:
        ndim = get_aval(leaf).ndim  # pyright: ignore[reportAttributeAccessIssue]
    except TypeError as error:
        raise TypeError(f"{transform}: argument {names()[i]}: {error}") from None
    if not -ndim <= dim < ndim:
        advice = " To use the same value for all examples, give None in in_axes."
        raise ValueError(
            f"{transform}: argument {names()[i]} has rank {ndim}, and so no axis {dim} to map "
            f"over.{advice if ndim == 0 else ''}"
        )
    return dim % ndim
