"""Batching rules in the forms in which libraries written for JAX register them.

Three mappings show one table, ``batch_rules``. A rule that is set in one form can be read in all.

    primitive_batchers        rule(args, dims, **params)
    axis_primitive_batchers   rule(axis_size, axis_name, trace_type, args, dims, **params)
    fancy_primitive_batchers  rule(axis, args, dims, **params)
"""

from collections.abc import Callable, Hashable, Iterator, MutableMapping, Sequence
from typing import Any

from ricci_ir import Array, ArrayLike, Primitive, is_under

from ._rules import Axis, BatchRule, array_ops, batch_rules, batched_at, elementwise, shape_of
from ._vmap import BatchTrace


class Batchers(MutableMapping[Primitive, BatchRule]):
    """The batching rules in one of the forms.

    Args:
      adapt: converts a rule of this form to Ricci's, ``rule(axis, args, dims, **params)``.
      expose: converts a rule of Ricci's to this form.
    """

    __slots__ = ("_adapt", "_expose", "_given")

    def __init__(
        self, adapt: Callable[[BatchRule], BatchRule], expose: Callable[[BatchRule], BatchRule]
    ):
        self._adapt = adapt
        self._expose = expose
        # The rules that were set here, as given and converted: reading returns the given one.
        self._given: dict[Primitive, tuple[BatchRule, BatchRule]] = {}

    def __getitem__(self, primitive: Primitive) -> BatchRule:
        if primitive not in batch_rules:
            raise KeyError(primitive)
        rule = batch_rules[primitive]
        given, adapted = self._given.get(primitive, (None, None))
        return given if given is not None and adapted is rule else self._expose(rule)

    def __setitem__(self, primitive: Primitive, rule: BatchRule) -> None:
        adapted = self._adapt(rule)
        self._given[primitive] = rule, adapted
        batch_rules[primitive] = adapted

    def __delitem__(self, primitive: Primitive) -> None:
        self._given.pop(primitive, None)
        del batch_rules[primitive]

    def __iter__(self) -> Iterator[Primitive]:
        return iter(batch_rules)

    def __len__(self) -> int:
        return len(batch_rules)


def _size(args: Sequence[ArrayLike], dims: Sequence[int | None]) -> int:
    return next(shape_of(x)[d] for x, d in zip(args, dims, strict=True) if d is not None)


primitive_batchers: Batchers = Batchers(
    lambda rule: lambda axis, args, dims, **params: rule(tuple(args), tuple(dims), **params),
    lambda rule: lambda args, dims, **params: rule(Axis(_size(args, dims)), args, dims, **params),
)
axis_primitive_batchers: Batchers = Batchers(
    lambda rule: (
        lambda axis, args, dims, **params: rule(
            axis.size, axis.name, None, tuple(args), tuple(dims), **params
        )
    ),
    lambda rule: (
        lambda size, name, trace_type, args, dims, **params: rule(
            Axis(size, name), args, dims, **params
        )
    ),
)
fancy_primitive_batchers: Batchers = Batchers(
    lambda rule: lambda axis, args, dims, **params: rule(axis, tuple(args), tuple(dims), **params),
    lambda rule: rule,
)


def defvectorized(prim: Primitive) -> None:
    """Register the batching rule of an elementwise primitive, whose operands have one shape."""
    batch_rules.define(prim, elementwise)


def defreducer(prim: Primitive) -> None:
    """Register the batching rule of a primitive that reduces its one operand over ``axes``."""

    def batch(
        axis: Axis,
        args: Sequence[ArrayLike],
        dims: Sequence[int],
        *,
        axes: Sequence[int],
        **params: Any,
    ) -> tuple[Any, int]:
        (x,), (dim,) = args, dims
        shifted = tuple(a + (a >= dim) for a in axes)
        result = prim.bind(x, axes=shifted, **params)
        return result, dim - sum(a < dim for a in axes)

    batch_rules[prim] = batch


def bdim_at_front(x: ArrayLike, bdim: int | None, size: int, mesh_axis: Hashable = None) -> Array:
    """Move the batch dimension of ``x`` to the front; a value without one is repeated there."""
    return batched_at(x, bdim, size, 0)


def broadcast(x: ArrayLike, sz: int, axis: int, mesh_axis: Hashable = None) -> Array:
    """Repeat ``x`` ``sz`` times along a new dimension."""
    return batched_at(x, None, sz, axis)


def matchaxis(
    size: int, source: int | None, target: int | None, x: ArrayLike, sum_match: bool = False
) -> ArrayLike:
    """Move the batch dimension of ``x`` from ``source`` to ``target``.

    Args:
      size: the size of the batch.
      source: the batch dimension of ``x``, or ``None``; then ``x`` is repeated at ``target``.
      target: the batch dimension of the result, or ``None`` for a result without one.
      x: the value.
      sum_match: whether to sum over a batch dimension that the result must not have.

    Raises:
      ValueError: if only ``target`` is ``None``, unless ``sum_match``.
    """
    if target is not None:
        return batched_at(x, source, size, target)
    if source is None:
        return x
    if sum_match:
        return array_ops.sum_over(x, source)
    raise ValueError(
        f"A value with batch dimension {source} was returned where an unbatched value is expected. "
        "Return a value that does not depend on the batch, or use sum_match=True."
    )


# Arguments of ``register_vmappable`` by class.
vmappables: dict[type, tuple[Any, ...]] = {}


def register_vmappable(
    data_type: type,
    spec_type: type,
    axis_size_type: type,
    to_elt: Callable[..., Any],
    from_elt: Callable[..., Any],
    make_iota: Callable[..., Any] | None,
) -> None:
    """Register a class of values, other than arrays, that ``vmap`` should map over.

    The registration is kept, but ``vmap`` does not use it yet: it raises ``TypeError`` for such
    values.

    Args:
      data_type: the class of the values.
      spec_type: the class of the axis specifications for them.
      axis_size_type: the class of the sizes of their axes.
      to_elt: extracts one example from a batch.
      from_elt: makes a batch of one example's results.
      make_iota: makes the indices of the examples.

    Raises:
      ValueError: if the class is registered already.
    """
    if data_type in vmappables:
        raise ValueError(f"{data_type.__name__} is registered already")
    vmappables[data_type] = spec_type, axis_size_type, to_elt, from_elt, make_iota


def unregister_vmappable(data_type: type) -> None:
    """Undo ``register_vmappable`` for a class."""
    del vmappables[data_type]


def under_vmap() -> bool:
    """Whether the current trace, or one of its parents, is a ``BatchTrace``."""
    return is_under(BatchTrace)
