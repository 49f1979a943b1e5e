"""The mapped axes of a call: their positions and their common size."""

from collections.abc import Callable, Sequence

from ricci_ir import ArrayLike, MappingSpec, ShapedArray, ShapeDtypeStruct, argument_aval, get_aval

__all__ = ["mapped_dims"]


def check_axis(what: str, dim: object) -> None:
    """Raise ``TypeError`` unless an entry of an axes argument, called ``what``, is an int."""
    if not isinstance(dim, int):
        raise TypeError(
            f"{what} has the entry {dim!r} of type {type(dim).__name__}; each entry must be an "
            "axis (an int) or None."
        )


def mapped_dims(
    transform: str,
    leaves: Sequence[ArrayLike],
    dims: Sequence[int | None],
    axis_size: int | None,
    names: Callable[[], list[str]],
) -> tuple[list[int | None], int]:
    """Return the mapped dimension of each leaf, counted from the front, and their common size.

    Args:
      transform: the name of the transformation, for messages: ``vmap`` or ``pmap``.
      leaves: the flattened arguments.
      dims: the axis to map over for each leaf, or ``None``.
      axis_size: the size from the user, or ``None``.
      names: returns the names of the leaves; called only for an error.

    Returns:
      The dimensions, and the size.

    Raises:
      ValueError: if a leaf does not have its axis, the sizes differ, or there is no size.
      TypeError: if an axis is not an int, or a leaf is neither an array nor a ``ShapeDtypeStruct``.
    """
    pairs = enumerate(zip(leaves, dims, strict=True))
    positions = [_dim(transform, x, d, i, names) for i, (x, d) in pairs]
    mapped = [(i, _type_of(leaves[i]), d) for i, d in enumerate(positions) if isinstance(d, int)]
    sizes = {aval.shape[d] for _, aval, d in mapped}  # pyright: ignore
    if axis_size is not None:
        sizes.add(axis_size)
    if len(sizes) == 1:
        return positions, sizes.pop()
    if not sizes:
        raise ValueError(
            f"{transform}: no argument is mapped, since in_axes is None for all of them. Map one, "
            "or pass axis_size."
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
        f"{transform}: the mapped axes must have the same size, but they differ:\n"
        + "\n".join(shown)
        + "\nMake the sizes equal, or set in_axes to None for arguments that are not mapped."
    )


def _type_of(leaf: ArrayLike) -> ShapedArray:
    """The type of an argument, which may be the description of an array."""
    return argument_aval(leaf) if type(leaf) is ShapeDtypeStruct else get_aval(leaf)  # pyright: ignore


def _dim(
    transform: str, leaf: ArrayLike, dim: int | None, i: int, names: Callable[[], list[str]]
) -> int | None:
    if dim is None or isinstance(dim, MappingSpec):
        return dim
    check_axis(f"{transform}: in_axes", dim)
    try:
        ndim = _type_of(leaf).ndim
    except TypeError as error:
        raise TypeError(f"{transform}: argument {names()[i]}: {error}") from None
    if not -ndim <= dim < ndim:
        advice = " To use the same value for all examples, set in_axes to None for it."
        raise ValueError(
            f"{transform}: in_axes maps over axis {dim} of argument {names()[i]}, whose shape has "
            f"rank {ndim}.{advice if ndim == 0 else ''}"
        )
    return dim % ndim
