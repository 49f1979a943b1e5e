"""Named axes in scope, and the cache key of all context that tracing a function reads."""

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from ricci_ir._contexts import current_mesh
from ricci_ir._hook import Hook
from ricci_ir._records import TupleRecord
from ricci_ir._settings import Override, State, TraceKey, trace_key

__all__ = [
    "PositionedSize",
    "axis_members",
    "axis_position",
    "axis_reduction",
    "axis_size",
    "axis_sizes",
    "extend_axes",
    "trace_context",
    "TraceContext",
]

# The named axes of this thread with their sizes; a dict that is replaced, never changed in place.
# It is not part of ``trace_key()``: single operations and composites cannot read it, and need not
# be traced again for each size of an axis.
axis_sizes: State = State("axis_sizes", None, {})


class PositionedSize(int):
    """The size of a named axis whose position is not that of a device or an example.

    Args:
      size: the size.
      position: returns the position along the axis, an int32 scalar.
    """

    position: Callable[[], Any]

    def __new__(cls, size: int, position: Callable[[], Any]) -> "PositionedSize":
        self = super().__new__(cls, size)
        self.position = position
        return self


def extend_axes(sizes: Iterable[tuple[Hashable, int]]) -> Override:
    """Bring named axes into scope inside a ``with`` block."""
    return axis_sizes({**axis_sizes.value, **dict(sizes)})


def axis_size(name: object) -> int:
    """Return the size of a named axis in scope; of several, their product.

    Raises:
      NameError: if no enclosing ``vmap`` or ``pmap`` gives the axis.
    """
    if isinstance(name, tuple | list):
        size = 1
        for part in name:
            size *= axis_size(part)
        return size
    try:
        return axis_sizes.value[name]
    except KeyError:
        raise NameError(
            f"Found an unbound axis name: {name!r}. {_describe_scope()} Collectives need an axis "
            "of a shard_map, or the axis_name of a vmap or pmap, around them."
        ) from None


def _describe_scope() -> str:
    """List the axes in scope, and the axes of the current mesh that are not."""
    sizes = axis_sizes.value
    scope = ", ".join(map(repr, sizes)) or "none"
    mesh = current_mesh.value
    others = [] if mesh is None else [n for n in mesh.axis_names if n not in sizes]
    of_mesh = f" The current mesh has {', '.join(map(repr, others))} as well." if others else ""
    return f"Axes in scope: {scope}.{of_mesh}"


# ``(x, names)``: the values of all members of named axes, along a new leading dimension.
axis_members: Hook[Callable[[Any, tuple[Hashable, ...]], Any]] = Hook(
    "gathers along named axes", provided_by="ricci_parallel"
)
# ``(names)``: the position along named axes, in row-major order.
axis_position: Hook[Callable[[tuple[Hashable, ...]], Any]] = Hook(
    "positions along named axes", provided_by="ricci_parallel"
)
# ``(kind, x, names)``: over named axes, the reduction ``"sum"``, ``"max"`` or ``"min"``.
axis_reduction: Hook[Callable[[str, Any, tuple[Hashable, ...]], Any]] = Hook(
    "reductions over named axes", provided_by="ricci_parallel"
)


class TraceContext(TupleRecord):
    """The part of a cache key for the context that a user's function can read while traced.

    Attributes:
      settings: the options and contexts that affect tracing.
      axes: the named axes in scope, outermost first, with their sizes.
    """

    settings: TraceKey
    axes: tuple[tuple[Hashable, int], ...]


def trace_context() -> TraceContext:
    """Return the key of this thread's context, for caches of users' traced functions.

    Example:
      >>> from ricci_ir import extend_axes, trace_context
      >>> with extend_axes([("i", 2)]):
      ...     trace_context().axes
      (('i', 2),)
    """
    return TraceContext(trace_key(), tuple(axis_sizes.value.items()))
