"""``register_vmappable``: ``vmap`` over user-defined container classes.

The author of a class registers two functions: one takes an example out of a batch, the other makes
a batch of the function's result for an example. Both receive a function (``cont``) that does the
same for the arrays inside.
"""

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np

from ricci_ir import ArrayLike, MappingSpec, TupleRecord, context, get_aval, set_trace
from ricci_pytree import tree_leaves

from ._mapped_axes import check_axis

__all__ = ["is_vmappable", "register_vmappable", "unregister_vmappable"]


class VmappableClass(TupleRecord):
    """The arguments of ``register_vmappable`` for a class of values."""

    spec_type: type
    axis_size_type: type
    to_elt: Callable[..., Any]
    from_elt: Callable[..., Any]
    make_iota: Callable[..., Any] | None


vmappable_classes: dict[type, VmappableClass] = {}
_spec_types: tuple[type, ...] = ()  # theirs


def register_vmappable(
    data_type: type,
    spec_type: type,
    axis_size_type: type,
    to_elt: Callable[..., Any],
    from_elt: Callable[..., Any],
    make_iota: Callable[..., Any] | None,
) -> None:
    """Have ``vmap`` map over values of a class, which need not be pytrees of arrays.

    If the class is a pytree, the size of an axis mapped by an ``int`` is that of its arrays. Else
    another argument must have a mapped axis, or ``axis_size`` be passed. An earlier registration of
    the class is replaced.

    Args:
      data_type: the class of the values.
      spec_type: the class of entries of ``in_axes`` and ``out_axes`` for such values, such as
        ``int``; an ``int`` or ``None`` is always allowed.
      axis_size_type: the class of ``axis_size``: ``int``, or one with ``__index__``.
      to_elt: ``to_elt(cont, example_index, batch, spec)`` returns the function's argument for an
        example. ``cont(x, axis)`` returns one example of an array or of a value of a registered
        class; ``example_index()`` returns the index of the example.
      from_elt: ``from_elt(cont, axis_size, element, spec)`` makes a batch of the function's result
        for an example. ``cont(axis_size, x, axis)`` returns the batch of an array.
      make_iota: ``make_iota(axis_size)`` returns the indices of the examples, an array or a value
        of a registered class; ``None`` for an array of integers.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci_batching import register_vmappable, unregister_vmappable
      >>> class Pair:
      ...     def __init__(self, parts):
      ...         self.parts = parts
      >>> take = lambda cont, example_index, pair, axis: Pair(cont(pair.parts, axis))
      >>> make = lambda cont, size, pair, axis: Pair(cont(size, pair.parts, axis))
      >>> register_vmappable(Pair, int, int, take, make, None)
      >>> ricci.vmap(lambda pair: pair, axis_size=2)(Pair(np.ones((2, 3)))).parts.shape
      (2, 3)
      >>> unregister_vmappable(Pair)
    """
    entry = VmappableClass(spec_type, axis_size_type, to_elt, from_elt, make_iota)
    vmappable_classes[data_type] = entry
    _update_spec_types()


def unregister_vmappable(data_type: type) -> None:
    """Undo ``register_vmappable`` for a class.

    Args:
      data_type: the class.

    Example:
      >>> from ricci.interpreters.batching import register_vmappable, unregister_vmappable
      >>> class Pair:
      ...     pass
      >>> register_vmappable(Pair, int, int, lambda *args: None, lambda *args: None, None)
      >>> unregister_vmappable(Pair)
    """
    vmappable_classes.pop(data_type, None)
    _update_spec_types()


def _update_spec_types() -> None:
    global _spec_types
    _spec_types = tuple(entry.spec_type for entry in vmappable_classes.values())


def is_vmappable(x: object) -> bool:
    """Whether a value is of a class that ``register_vmappable`` has registered.

    Args:
      x: any value.

    Returns:
      ``False`` for arrays and numbers, which ``vmap`` maps as they are.

    Example:
      >>> from ricci_batching import is_vmappable
      >>> is_vmappable(1.0)
      False
    """
    return type(x) in vmappable_classes


def has_vmappable(leaves: Sequence[Any]) -> bool:
    """Whether some leaves are of registered classes."""
    return not vmappable_classes.keys().isdisjoint(map(type, leaves))


def is_spec(x: object) -> bool:
    """Whether a value is a spec, an axes entry, of a registered class.

    An integer is an axis of arrays as well, also for a class that takes integers.
    """
    return not isinstance(x, int) and isinstance(x, (*_spec_types, MappingSpec))


def is_axis(x: object) -> bool:
    """Whether a node of ``in_axes`` or ``out_axes`` is ``None`` or a spec: a leaf."""
    return x is None or is_spec(x)


def as_size(axis_size: Any) -> Any:
    """Return the size of the mapped axis as an integer, or ``None`` if it was not passed.

    Raises:
      TypeError: if it is of a registered class without ``__index__``.
    """
    if axis_size is None or isinstance(axis_size, int):
        return axis_size
    if any(isinstance(axis_size, c.axis_size_type) for c in vmappable_classes.values()):
        try:
            return index(axis_size)
        except TypeError:
            raise TypeError(
                f"vmap: axis_size={axis_size!r} must be an integer. Give its class a method "
                "__index__ that returns the number of examples."
            ) from None
    return axis_size


def array_axes(
    leaves: Sequence[Any], specs: Sequence[Any], size: int | None
) -> tuple[list[Any], int | None]:
    """Return the axes entries of the arguments that are arrays, and the size of the mapped axis.

    Args:
      leaves: the arguments, some of which may be of registered classes.
      specs: the axes entry of each.
      size: the size from the user, or ``None``.

    Returns:
      For each argument its entry, ``None`` if it is of a registered class; and ``size``. If it is
      ``None`` and no array is mapped, it is the size in registered classes that are pytrees, of
      which an array of size 1 may be shared by all examples.
    """
    axes = [None if is_vmappable(x) else spec for x, spec in zip(leaves, specs, strict=True)]
    if size is not None or any(axis is not None for axis in axes):
        return axes, size
    sizes = [
        shape[spec]
        for leaf, spec in zip(leaves, specs, strict=True)
        if is_vmappable(leaf) and isinstance(spec, int)
        for shape in (getattr(x, "shape", ()) for x in tree_leaves(leaf) if x is not leaf)
        if -len(shape) <= spec < len(shape)
    ]
    # The largest size, since an array of size 1 may be shared by all examples.
    return axes, max(sizes, default=None)


class Mapping:
    """Takes examples out of batches of registered classes, and makes batches of results.

    Its methods run in the batching trace.

    Args:
      size: the size of the mapped axis.
      axis_size: this size as the user passed it.
      place: ``place(i, value, dim, axis)`` moves the batch dimension of an array in result ``i``.
    """

    __slots__ = ("_axis_size", "_place", "_position", "_size", "_trace")

    def __init__(
        self,
        size: int,
        axis_size: Any,
        place: Callable[[int, ArrayLike, int | None, Any], ArrayLike],
    ):
        self._size: int = size
        self._axis_size: Any = axis_size
        self._place = place
        self._position: int = 0  # of the result that is being batched
        self._trace: Any = None

    def elements(self, leaves: Sequence[Any], specs: Sequence[Any]) -> tuple[Any, ...]:
        """Return an example of each argument of a registered class, and arrays unchanged."""
        self._trace = context.trace
        pairs = zip(leaves, specs, strict=True)
        return tuple(self._element(x, spec) if is_vmappable(x) else x for x, spec in pairs)

    def batches(self, leaves: Sequence[Any], targets: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return a batch of each result of a registered class, and arrays unchanged.

        Args:
          leaves: the results.
          targets: the entry of ``out_axes`` of each.

        Returns:
          The results, and the axes at which those that are arrays have to be batched; ``None`` for
          the others.

        Raises:
          TypeError: if a result is neither an array nor of a registered class.
        """
        self._trace = context.trace
        results, axes = list(leaves), list(targets)
        for self._position, (x, target) in enumerate(zip(leaves, targets, strict=True)):
            if is_vmappable(x):
                # The user's function makes batches, not examples, so it runs outside of the
                # batching trace.
                with set_trace(self._trace.parent):
                    results[self._position] = self._batch(self._axis_size, x, target)
                axes[self._position] = None
            else:
                get_aval(x)
        return results, axes

    def _element(self, x: Any, spec: Any) -> Any:
        """Return one example of a batch.

        Raises:
          ValueError: if the batch is of another size, or has no such axis.
        """
        entry = vmappable_classes.get(type(x))
        if entry is not None:
            return entry.to_elt(self._element, self._example_index, x, spec)
        if spec is None:
            return x
        check_axis("vmap: in_axes", spec)
        shape = get_aval(x).shape  # pyright: ignore[reportAttributeAccessIssue]
        if not -len(shape) <= spec < len(shape) or shape[spec] != self._size:
            raise ValueError(
                f"vmap: the mapped axis has the size {self._size}, but a batch of shape "
                f"{shape} is mapped over its axis {spec}. Make the sizes equal, or map another "
                "axis."
            )
        return self._trace.join(x, spec % len(shape))

    def _example_index(self) -> Any:
        """Return the index of the example."""
        for entry in vmappable_classes.values():
            if entry.make_iota is not None and isinstance(self._axis_size, entry.axis_size_type):
                return self._element(entry.make_iota(self._axis_size), 0)
        return self._element(np.arange(self._size, dtype=np.int32), 0)

    def _batch(self, axis_size: Any, x: Any, spec: Any) -> Any:
        """Make a batch of the function's result for an example.

        Raises:
          ValueError: if ``spec`` is not an axis of the batch.
        """
        entry = vmappable_classes.get(type(x))
        if entry is not None:
            return entry.from_elt(self._batch, axis_size, x, spec)
        get_aval(x)  # raises an error unless it is an array
        (value,), (dim,), _ = self._trace.split([x])
        return self._place(self._position, value, dim, spec)
