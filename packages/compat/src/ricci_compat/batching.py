"""Batching rules, and batched functions and jaxprs: ``jax.interpreters.batching``.

Three mappings are views of one table, ``batch_rules``. A rule set in one form can be read in all.

    primitive_batchers        rule(args, dims, **params)
    axis_primitive_batchers   rule(axis_size, axis_name, trace_type, args, dims, **params)
    fancy_primitive_batchers  rule(axis, args, dims, **params)
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, final

import ricci_batching as batching
from ricci_ir import Array, ArrayLike, Jaxpr, Primitive, is_under
from ricci_lax.authoring import shape_of

from ._rules_in_form import RulesInForm
from .linear_util import Store, WrappedFun, transformation_with_aux2


def _size(args: Sequence[ArrayLike], dims: Sequence[int | None]) -> int:
    return next(shape_of(x)[d] for x, d in zip(args, dims, strict=True) if d is not None)


# Each view has two functions: one turns a stored rule into this form, the other the reverse. The
# short form has no axis, so the size is read from an operand and the axis is anonymous.
primitive_batchers: RulesInForm[batching.BatchRule] = RulesInForm(
    batching.batch_rules,
    lambda rule: lambda axis, args, dims, **params: rule(tuple(args), tuple(dims), **params),
    lambda rule: (
        lambda args, dims, **params: rule(batching.Axis(_size(args, dims)), args, dims, **params)
    ),
)
axis_primitive_batchers: RulesInForm[batching.BatchRule] = RulesInForm(
    batching.batch_rules,
    lambda rule: (
        lambda axis, args, dims, **params: rule(
            axis.size, axis.name, None, tuple(args), tuple(dims), **params
        )
    ),
    lambda rule: (
        lambda size, name, trace_type, args, dims, **params: rule(
            batching.Axis(size, name), args, dims, **params
        )
    ),
)
fancy_primitive_batchers: RulesInForm[batching.BatchRule] = RulesInForm(
    batching.batch_rules,
    lambda rule: lambda axis, args, dims, **params: rule(axis, tuple(args), tuple(dims), **params),
    lambda rule: rule,
)


def defvectorized(prim: Primitive) -> None:
    """Register the batching rule of an elementwise primitive, whose operands have one shape."""
    batching.batch_rules.define(prim, batching.elementwise)


def defreducer(prim: Primitive) -> None:
    """Register the batching rule of a primitive that reduces its one operand over ``axes``."""

    def batch(
        axis: batching.Axis,
        args: Sequence[ArrayLike],
        dims: Sequence[int],
        *,
        axes: Sequence[int],
        **params: object,
    ) -> tuple[Any, int]:
        (x,), (dim,) = args, dims
        # The axes count without the batch dimension: those at or behind it move up by one. The
        # result's batch dimension in turn moves down by the number of reduced axes ahead of it.
        shifted = tuple(a + (a >= dim) for a in axes)
        result = prim.bind(x, axes=shifted, **params)
        return result, dim - sum(a < dim for a in axes)

    batching.batch_rules[prim] = batch


def bdim_at_front(x: ArrayLike, bdim: int | None, size: int, mesh_axis: Hashable = None) -> Array:
    """Move the batch dimension of ``x`` to the front; repeat a value without one there."""
    return batching.batched_at(x, bdim, batching.Axis(size), 0)


def broadcast(x: ArrayLike, sz: int, axis: int, mesh_axis: Hashable = None) -> Array:
    """Repeat ``x`` ``sz`` times along a new dimension."""
    return batching.batched_at(x, None, batching.Axis(sz), axis)


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
        return batching.batched_at(x, source, batching.Axis(size), target)
    if source is None:
        return x
    if sum_match:
        return batching.batch_sum.call(x, source)
    raise ValueError(
        f"A value with batch dimension {source} was returned where an unbatched value is expected. "
        "Return a value that does not depend on the batch, or use sum_match=True."
    )


@final
class ZeroIfMapped:
    """Marker in ``out_axes_dest``: axis 0 if the result is batched, else ``None``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "zero_if_mapped"


zero_if_mapped: ZeroIfMapped = ZeroIfMapped()


def _axis(data: Any) -> batching.Axis:
    if isinstance(data, batching.Axis):
        return data
    return batching.Axis(data.size, data.name, getattr(data, "spmd_name", None))


def batch_jaxpr_axes(
    closed_jaxpr: Jaxpr,
    axis_data: Any,
    in_axes: Sequence[int | None],
    out_axes_dest: Sequence[int | ZeroIfMapped | None],
) -> tuple[Jaxpr, list[bool]]:
    """Return the jaxpr that applies a jaxpr to a batch.

    Args:
      closed_jaxpr: the jaxpr for one example.
      axis_data: the mapped axis, as rules of ``fancy_primitive_batchers`` receive it: an ``Axis``,
        or another object with ``size``, ``name`` and ``spmd_name``.
      in_axes: the batch dimension of each argument, or ``None``.
      out_axes_dest: the batch dimension that each result must have: an integer, or
        ``zero_if_mapped``.

    Returns:
      The jaxpr, and for each result whether it is batched.
    """
    axis = _axis(axis_data)
    # zero_if_mapped depends on which results are batched, which only batching shows. Hence two
    # passes: the first finds out, the second asks for the positions.
    dims = batching.batch_jaxpr(closed_jaxpr, axis, in_axes)[1]
    targets = [
        (None if dim is None else 0) if isinstance(target, ZeroIfMapped) else target
        for dim, target in zip(dims, out_axes_dest, strict=True)
    ]
    batched, out_dims = batching.batch_jaxpr(closed_jaxpr, axis, in_axes, targets)
    return batched, [dim is not None for dim in out_dims]


@transformation_with_aux2
def _batch_subtrace(
    f: Callable[..., Sequence[ArrayLike]],
    store: Store,
    tag: object,
    axis_data: Any,
    in_dims: Sequence[int | None] | Callable[[], Sequence[int | None]],
    *args: ArrayLike,
) -> list[ArrayLike]:
    dims = in_dims() if callable(in_dims) else in_dims
    results, out_dims = batching.batch_flat(f, _axis(axis_data), args, dims)
    store.store(out_dims)
    return results


# ``batch_subtrace(fun, tag, axis_data, in_dims)`` returns a function of batches, and a function
# that returns the batch dimensions of its results after a call. ``tag`` is not used.
batch_subtrace: Callable[..., tuple[WrappedFun, Callable[[], list[int | None]]]] = _batch_subtrace


def under_vmap() -> bool:
    """Whether the current trace, or one of its parents, is a ``BatchTrace``."""
    return is_under(batching.BatchTrace)
