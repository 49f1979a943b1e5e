"""``register_vmappable``: ``vmap`` over user-defined container classes.

The author of a class registers two functions: one takes an example out of a batch, the other makes
a batch of the function's result for an example. Both receive a function (``cont``) that does the
same for the arrays inside.
"""

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np

from ricci_ir import ArrayLike, context, get_aval, set_trace
from ricci_pytree import (
    PyTreeDef,
    flatten_prefix,
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_unflatten,
)

from ._mapped_axes import check_axis, mapped_dims


class VmappableClass:
    """The arguments of ``register_vmappable`` for a class of values."""

    __slots__ = ("axis_size_type", "from_elt", "make_iota", "spec_type", "to_elt")

    def __init__(
        self,
        spec_type: type,
        axis_size_type: type,
        to_elt: Callable[..., Any],
        from_elt: Callable[..., Any],
        make_iota: Callable[..., Any] | None,
    ):
        self.spec_type: type = spec_type
        self.axis_size_type: type = axis_size_type
        self.to_elt: Callable[..., Any] = to_elt
        self.from_elt: Callable[..., Any] = from_elt
        self.make_iota: Callable[..., Any] | None = make_iota


vmappable_classes: dict[type, VmappableClass] = {}


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
    vmappable_classes[data_type] = VmappableClass(
        spec_type, axis_size_type, to_elt, from_elt, make_iota
    )


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


def is_vmappable(x: object) -> bool:
    """Whether a value is of a registered class."""
    return type(x) in vmappable_classes


def has_vmappable(tree: object) -> bool:
    """Whether a pytree contains values of registered classes."""
    return bool(vmappable_classes) and any(map(is_vmappable, tree_leaves(tree, is_vmappable)))


def is_spec(x: object) -> bool:
    """Whether a value is a spec, an axes entry, of a registered class.

    An integer is an axis of arrays as well, also for a class that takes integers.
    """
    return not isinstance(x, int) and any(
        isinstance(x, entry.spec_type) for entry in vmappable_classes.values()
    )


def _is_axis(x: object) -> bool:
    return x is None or is_spec(x)


def plain_size(axis_size: Any) -> Any:
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


class Arguments:
    """The arguments of a call, some of which are of registered classes.

    Attributes:
      leaves, tree: all of them.
      specs: for each leaf, its entry of ``in_axes``.
      arrays: the leaves that are arrays.
      dims: the mapped dimension of each of these.
      size: the size of the mapped axis.
    """

    __slots__ = ("arrays", "dims", "leaves", "size", "specs", "tree")

    def __init__(
        self,
        leaves: list[Any],
        tree: PyTreeDef,
        specs: list[Any],
        arrays: list[Any],
        dims: list[int | None],
        size: int,
    ):
        self.leaves: list[Any] = leaves
        self.tree: PyTreeDef = tree
        self.specs: list[Any] = specs
        self.arrays: list[Any] = arrays
        self.dims: list[int | None] = dims
        self.size: int = size


def read_arguments(
    args: tuple[Any, ...], kwargs: dict[str, Any], in_axes: Any, axis_size: Any
) -> Arguments:
    """Flatten the arguments of a call of a mapped function.

    Raises:
      ValueError, TypeError: see ``mapped_dims``.
    """
    leaves, tree = tree_flatten((args, kwargs), is_vmappable)
    axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
    specs = flatten_prefix("vmap in_axes", tree, (axes, 0), _is_axis)
    plain = [i for i, leaf in enumerate(leaves) if not is_vmappable(leaf)]

    def names() -> list[str]:
        paths = tree_flatten_with_path((args, kwargs), is_vmappable)[0]
        return [keystr(paths[i][0]) for i in plain]

    arrays, axes = [leaves[i] for i in plain], [specs[i] for i in plain]
    size = plain_size(axis_size)
    if size is None and all(axis is None for axis in axes):
        size = _size_inside(leaves, specs)
    dims, size = mapped_dims("vmap", arrays, axes, size, names)
    return Arguments(leaves, tree, specs, arrays, dims, size)


def _size_inside(leaves: Sequence[Any], specs: Sequence[Any]) -> int | None:
    """Return the size of the mapped axis in values of registered classes that are pytrees.

    An array of size 1 along it may be shared by all examples.
    """
    sizes = [
        shape[spec]
        for leaf, spec in zip(leaves, specs, strict=True)
        if is_vmappable(leaf) and isinstance(spec, int)
        for shape in (getattr(x, "shape", ()) for x in tree_leaves(leaf) if x is not leaf)
        if -len(shape) <= spec < len(shape)
    ]
    return max(sizes, default=None)


class Mapping:
    """A call of a mapped function: takes examples out of batches, and makes batches of results.

    Args:
      arguments: the arguments.
      axis_size: the size of the mapped axis as the user passed it.
      place: ``place(value, dim, axis)`` moves the batch dimension of an array.

    Attributes:
      result: the result of the mapped function, set by ``run``.
    """

    __slots__ = ("arguments", "axis_size", "place", "result", "trace")

    def __init__(
        self,
        arguments: Arguments,
        axis_size: Any,
        place: Callable[[ArrayLike, int | None, int | None], ArrayLike],
    ):
        self.arguments = arguments
        self.axis_size: Any = arguments.size if axis_size is None else axis_size
        self.place = place
        self.trace: Any = None  # the batching trace, set when the function runs
        self.result: Any = None

    def run(self, fun: Callable[..., Any], arrays: Sequence[ArrayLike], out_axes: Any) -> None:
        """Call the function on an example, in the batching trace, and store its result.

        Args:
          fun: the function.
          arrays: an example of the arrays among the arguments.
          out_axes: see ``vmap``.
        """
        self.trace = context.trace
        batch, remaining = self.arguments, iter(arrays)
        elements = [
            self.element(leaf, spec) if is_vmappable(leaf) else next(remaining)
            for leaf, spec in zip(batch.leaves, batch.specs, strict=True)
        ]
        args, kwargs = tree_unflatten(batch.tree, elements)
        self.collect(fun(*args, **kwargs), out_axes)

    def collect(self, result: object, out_axes: object) -> None:
        """Make batches of the function's result, in the batching trace."""
        self.trace = context.trace
        leaves, tree = tree_flatten(result, is_vmappable)
        targets = flatten_prefix("vmap out_axes", tree, out_axes, _is_axis)
        with set_trace(self.trace.parent):
            batches = [
                self.batch(self.axis_size, leaf, target)
                for leaf, target in zip(leaves, targets, strict=True)
            ]
        self.result = tree_unflatten(tree, batches)

    def element(self, x: Any, spec: Any) -> Any:
        """Return one example of a batch.

        Raises:
          ValueError: if the batch is of another size, or has no such axis.
        """
        entry = vmappable_classes.get(type(x))
        if entry is not None:
            return entry.to_elt(self.element, self.example_index, x, spec)
        if spec is None:
            return x
        check_axis("vmap: in_axes", spec)
        shape = get_aval(x).shape  # pyright: ignore[reportAttributeAccessIssue]
        if not -len(shape) <= spec < len(shape) or shape[spec] != self.arguments.size:
            raise ValueError(
                f"vmap: the mapped axis has the size {self.arguments.size}, but a batch of shape "
                f"{shape} is mapped over its axis {spec}. Make the sizes equal, or map another "
                "axis."
            )
        return self.trace.join(x, spec % len(shape))

    def example_index(self) -> Any:
        """Return the index of the example."""
        for entry in vmappable_classes.values():
            if entry.make_iota is not None and isinstance(self.axis_size, entry.axis_size_type):
                return self.element(entry.make_iota(self.axis_size), 0)
        return self.element(np.arange(self.arguments.size, dtype=np.int32), 0)

    def batch(self, axis_size: Any, x: Any, spec: Any) -> Any:
        """Make a batch of the function's result for an example.

        Raises:
          ValueError: if ``spec`` is not an axis of the batch.
        """
        entry = vmappable_classes.get(type(x))
        if entry is not None:
            return entry.from_elt(self.batch, axis_size, x, spec)
        get_aval(x)  # raises an error unless it is an array
        if is_spec(spec):
            raise ValueError(
                f"vmap: out_axes has {spec!r} for an array. That is for values of a registered "
                "class: pass an axis, or return such a value."
            )
        (value,), (dim,), _ = self.trace.split([x])
        return self.place(value, dim, spec)
