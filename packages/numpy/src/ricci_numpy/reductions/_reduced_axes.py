"""Axes that a reduction goes over: dimensions of the array, and named axes around the call.

An axis given as a text is the name of an axis of an enclosing ``vmap``, ``pmap`` or ``shard_map``,
whose members are reduced together.
"""

from collections.abc import Sequence
from math import prod
from operator import index
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_numpy import _promotion as promotion


class NamedAxis(ir.TupleRecord):
    """A named axis in scope, among the axes of a reduction.

    Functions that are traced once for their settings are traced again for another size.

    Attributes:
      name: the name.
      size: the number of members.
    """

    name: str
    size: int


# A normalized axis of a reduction: an int or a ``NamedAxis``. Composites pass it to public
# functions, whose annotations name ints alone.
type ReducedAxis = Any


def sized_axis(axis: object) -> ReducedAxis:
    """A name as a ``NamedAxis``; other axes unchanged.

    Raises:
      NameError: if no enclosing transformation binds the name.
    """
    return NamedAxis(axis, ir.axis_size(axis)) if isinstance(axis, str) else axis


def reduced_axes(name: str, axis: ir.Axis, ndim: int) -> tuple[int, ...]:
    """The dimensions to reduce, counted from the start.

    Args:
      name: the function, for messages.
      axis: an int, a sequence of ints, or ``None`` for all.
      ndim: the number of axes of the array.

    Raises:
      AxisError: if an axis is out of bounds; it is a ``ValueError`` and an ``IndexError``.
      ValueError: if one is given twice.
      TypeError: if one is not an integer.
    """
    if axis is None:
        return tuple(range(ndim))
    if type(axis) is int:
        if -ndim <= axis < ndim:
            return (axis % ndim,)
        numbers: tuple = (axis,)
    else:
        numbers = tuple(map(index, promotion.axis_tuple(axis)))
    for i in numbers:
        if not -ndim <= i < ndim:
            raise np.exceptions.AxisError(
                f"{name}: axis {i} is out of bounds for an array of dimension {ndim}."
            )
    axes = tuple(i % ndim for i in numbers)
    check_distinct(name, axis, axes)
    return axes


def reduced_and_named_axes(name: str, axis: ir.Axis, ndim: int) -> tuple[ReducedAxis, ...]:
    """The dimensions to reduce, counted from the start, followed by the named axes.

    Args:
      name: the function, for messages.
      axis: an int, a text, a sequence of both, or ``None`` for all dimensions.
      ndim: the number of axes of the array.

    Raises:
      AxisError, ValueError, TypeError: as by ``reduced_axes``.
      NameError: if no enclosing transformation binds a name.
    """
    if axis is None or type(axis) is int:
        return reduced_axes(name, axis, ndim)
    entries = tuple(map(sized_axis, promotion.axis_tuple(axis)))
    names = tuple(entry for entry in entries if type(entry) is NamedAxis)
    if not names:
        return reduced_axes(name, entries, ndim)
    check_distinct(name, axis, names)
    positions = tuple(entry for entry in entries if type(entry) is not NamedAxis)
    return (*reduced_axes(name, positions, ndim), *names)


def check_distinct(name: str, axis: object, axes: Sequence[ReducedAxis]) -> None:
    """Raise ``ValueError`` if an axis is given twice."""
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name}: an axis is given twice in axis={axis}.")


def dimensions(axes: Sequence[ReducedAxis]) -> tuple[int, ...]:
    """The axes that are dimensions of the array."""
    return tuple(i for i in axes if type(i) is not NamedAxis)


def axis_count(shape: tuple[int, ...], axes: Sequence[ReducedAxis]) -> int:
    """The number of elements that are reduced to each result."""
    return prod([i.size if type(i) is NamedAxis else shape[i] for i in axes])


def keep_axes(x: ir.Array, axes: Sequence[ReducedAxis]) -> ir.Array:
    """A reduced array with sizes of 1 where the reduced dimensions were."""
    positions = dimensions(axes)
    return lax.expand_dims(x, positions) if positions else x


def has_names(axes: Sequence[ReducedAxis]) -> bool:
    """Whether there are named axes among normalized axes, where they come last."""
    return bool(axes) and type(axes[-1]) is NamedAxis


def reduce_along(
    name: str,
    collective: str | None,
    primitive: ir.Primitive,
    x: ir.Array,
    axes: Sequence[ReducedAxis],
    params: dict[str, Any],
) -> ir.Array:
    """Reduce an array over dimensions by a primitive, then over named axes by a collective.

    Args:
      name: the function, for messages.
      collective: the kind of ``ir.axis_reduction`` for named axes; ``None`` if there is none.
      primitive: reduces an array along ``axes``.
      x: the array.
      axes: the normalized axes.
      params: the primitive's parameters beside the axes.

    Raises:
      NotImplementedError: if there are named axes, and no collective.
    """
    if not has_names(axes):
        return primitive.bind(x, axes=axes, **params)
    if collective is None:
        raise NotImplementedError(
            f"{name}: reductions over named axes are sums, maxima and minima; gather the values "
            "with lax.all_gather, and reduce the new dimension."
        )
    positions = dimensions(axes)
    if positions:
        x = primitive.bind(x, axes=positions, **params)
    names = tuple(i.name for i in axes if type(i) is NamedAxis)
    return ir.axis_reduction.call(collective, x, names)
