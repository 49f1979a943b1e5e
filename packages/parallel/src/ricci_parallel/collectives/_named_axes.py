"""Axis names that collectives take, and groups of members along them."""

from collections.abc import Hashable, Sequence
from typing import Any, NoReturn

from ricci_ir import ArrayLike, axis_size
from ricci_lax.authoring import canonical_axis

# A name, or several, of which the members of all combinations are the members.
type AxisNameLike = Hashable | Sequence[Hashable]
type AxisNames = tuple[Hashable, ...]
# The members of each group, by their positions along the axes.
type Groups = tuple[tuple[int, ...], ...]
type GroupsLike = Sequence[Sequence[int]] | None


def as_names(axis_name: AxisNameLike) -> AxisNames:
    """Return a name, or a tuple or list of names, as a tuple."""
    return tuple(axis_name) if isinstance(axis_name, tuple | list) else (axis_name,)


def axis_names(what: str, axis_name: AxisNameLike) -> AxisNames:
    """Return the names of the axes that a collective goes over.

    Args:
      what: the name of the collective, for messages.
      axis_name: a name, or a tuple or list of names.

    Raises:
      NameError: if no enclosing transformation binds one of the names.
      ValueError: if a name occurs twice.
    """
    names = as_names(axis_name)
    for name in names:
        axis_size(name)
    if len(set(names)) < len(names):
        raise ValueError(
            f"{what}: an axis is named twice in {names}. Name each axis once; a collective over "
            "several axes goes over all combinations of their positions."
        )
    return names


def as_groups(
    what: str, names: AxisNames, groups: GroupsLike, *, equal: bool = True
) -> Groups | None:
    """Return the argument ``axis_index_groups`` as tuples.

    Args:
      what: the name of the collective, for messages.
      names: the axes.
      groups: for each group, the positions of its members; ``None`` for one group of all.
      equal: whether the groups must be of one size.

    Raises:
      ValueError: if the groups do not hold each position once, or differ in size.
    """
    if groups is None:
        return None
    size = axis_size(names)
    rows = tuple(tuple(int(i) for i in group) for group in groups)
    if sorted(i for row in rows for i in row) != list(range(size)) or not all(rows):
        raise ValueError(
            f"{what}: axis_index_groups must cover all indices exactly once: the positions 0 to "
            f"{size - 1} along {shown(names)}, in groups that are not empty. Got {rows}."
        )
    if equal and len({len(row) for row in rows}) > 1:
        raise ValueError(
            f"{what}: the groups of axis_index_groups must be of one size, but have sizes "
            f"{[len(row) for row in rows]}. Only reductions take groups of several sizes."
        )
    return rows


def group_size(names: AxisNames, groups: Groups | None) -> int:
    """Return the number of members that take part in a collective together."""
    return axis_size(names) if groups is None else len(groups[0])


def shown(names: AxisNames) -> str:
    """Return axes as text for messages: the one name, or all of them."""
    return repr(names[0]) if len(names) == 1 else repr(names)


def array_axis(what: str, axis: int, rank: int, shape: Sequence[int]) -> int:
    """Normalize a position among ``rank`` axes; negative ones count from the end.

    Raises:
      ValueError: if there is no such axis.
    """
    try:
        return canonical_axis(axis, rank)
    except ValueError:
        raise ValueError(
            f"{what}: axis {axis} is out of range for {rank} axes; the value has shape "
            f"{tuple(shape)}."
        ) from None


def check_divisible(
    what: str,
    argument: str,
    axis: int,
    shape: Sequence[int],
    count: int,
    names: AxisNames,
    tiled: bool,
) -> None:
    """Raise ``ValueError`` unless an axis of an array splits evenly among members.

    Args:
      what: the name of the collective.
      argument: the name of the argument that specifies the axis.
      axis: the axis.
      shape: the shape of the array.
      count: the number of members.
      names: the named axes.
      tiled: whether each member gets several elements, or one.
    """
    size = shape[axis]
    if size % count == 0 and (tiled or size == count):
        return
    raise ValueError(
        f"{what}: axis {axis} of an array of shape {tuple(shape)}, given by {argument}, cannot be "
        f"divided among the {count} members of {shown(names)}: it must have {count} elements"
        + (", or a multiple." if tiled else ", or pass tiled=True.")
    )


def named(*, axis_name: object, **_: object) -> AxisNames:
    """The ``axis_names`` rule of primitives with a parameter ``axis_name``."""
    return axis_name if isinstance(axis_name, tuple) else (axis_name,)


def axes_over(params: dict[str, Any]) -> AxisNames:
    """Return the axes that a collective with these parameters goes over."""
    names = params["axes"] if "axes" in params else params["axis_name"]
    return names if isinstance(names, tuple) else (names,)


def outside(*args: ArrayLike, **params: object) -> NoReturn:
    """The ``host`` rule of collectives: raise outside of ``vmap``, ``pmap`` and ``shard_map``.

    Raises:
      NameError: if its axes are not in scope.
      NotImplementedError: if they are, but no transformation takes the collective.
    """
    names = axes_over(params)
    axis_size(names)
    raise NotImplementedError(
        f"a collective over {shown(names)} cannot be evaluated for one member alone. Apply it to "
        "arguments of the function that vmap, pmap or shard_map calls."
    )
