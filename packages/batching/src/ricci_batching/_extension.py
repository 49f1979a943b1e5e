"""Batching rules in the forms in which libraries written for JAX register them.

Three mappings show one table, ``batch_rules``. A rule that is set in one form can be read in all.

    primitive_batchers        rule(args, dims, **params)
    axis_primitive_batchers   rule(axis_size, axis_name, trace_type, args, dims, **params)
    fancy_primitive_batchers  rule(axis, args, dims, **params)
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from ricci_ir import Array, ArrayLike, Primitive, RulesInForm, is_under

from ._rules import Axis, BatchRule, array_ops, batch_rules, batched_at, elementwise, shape_of
from ._vmap import BatchTrace


def _size(args: Sequence[ArrayLike], dims: Sequence[int | None]) -> int:
    return next(shape_of(x)[d] for x, d in zip(args, dims, strict=True) if d is not None)


primitive_batchers: RulesInForm[BatchRule] = RulesInForm(
    batch_rules,
    lambda rule: lambda axis, args, dims, **params: rule(tuple(args), tuple(dims), **params),
    lambda rule: lambda args, dims, **params: rule(Axis(_size(args, dims)), args, dims, **params),
)
axis_primitive_batchers: RulesInForm[BatchRule] = RulesInForm(
    batch_rules,
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
fancy_primitive_batchers: RulesInForm[BatchRule] = RulesInForm(
    batch_rules,
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
    return batched_at(x, bdim, Axis(size), 0)


def broadcast(x: ArrayLike, sz: int, axis: int, mesh_axis: Hashable = None) -> Array:
    """Repeat ``x`` ``sz`` times along a new dimension."""
    return batched_at(x, None, Axis(sz), axis)


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
        return batched_at(x, source, Axis(size), target)
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
