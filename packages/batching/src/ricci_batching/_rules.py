"""The table of batching rules, and rules shared by families of primitives.

A rule is called as ``rule(axis, args, dims, **params)`` with the parent trace current. ``dims[i]``
is the batch dimension of ``args[i]``, or ``None`` if that operand is not batched. The rule returns
the result and its batch dimension, or lists of both for several results.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import ricci_ir as ir

__all__ = ["Axis", "BatchRule", "add_dim", "axis_name_rules", "batch_broadcast", "batch_of_type"]
__all__ += ["batch_rules", "batch_sum", "batch_transpose", "batched_at", "closing_primitives"]
__all__ += ["elementwise", "elementwise_primitives", "leading_dims", "move_dim", "moved_to"]
__all__ += ["named_axes"]

batch_rules: ir.RuleTable = ir.rule_table("batch")
# Rules of primitives that refer to named axes: ``rule(**params)`` returns the names.
axis_name_rules: ir.RuleTable = ir.rule_table("axis_names", required=False)

# Primitives that call Python functions, which may close over batched values: their rule is used
# even if no operand is batched.
closing_primitives: set[ir.Primitive] = set()

type BatchRule = Callable[..., tuple[Any, Any]]


def named_axes(primitive: ir.Primitive, params: dict[str, Any]) -> frozenset[Hashable]:
    """Return the named axes that an operation refers to, also in the jaxprs of its parameters.

    Args:
      primitive: the operation.
      params: its parameters.

    Returns:
      A set of names.

    Example:
      >>> from ricci import lax
      >>> from ricci_batching import named_axes
      >>> named_axes(lax.sin_p, {"accuracy": None})
      frozenset()
    """
    rule = axis_name_rules.get(primitive)
    if rule is not None:
        return frozenset(rule(**params))
    return frozenset().union(*map(_named_in, ir.jaxprs_in_params(params)))


def _named_in(jaxpr: ir.Jaxpr) -> frozenset[Hashable]:
    return jaxpr.derived(
        "named axes",
        lambda: frozenset().union(*(named_axes(e.primitive, e.params) for e in jaxpr.eqns)),
    )


class Axis(NamedTuple):
    """The axis that a vmap maps over.

    Attributes:
      size: the number of examples.
      name: the name by which collectives refer to it, or ``None``.
      spmd_name: the mesh axis that it is sharded over, or ``None``.
      sharding: the sharding of the type of a vector along this axis, or ``None``.
    """

    size: int
    name: Hashable = None
    spmd_name: Hashable = None
    sharding: ir.TypeSharding | None = None

    def batched_aval(self, aval: ir.ShapedArray, dim: int) -> ir.ShapedArray:
        """Return the type of batches of a type."""
        batched = aval.insert_dimension(dim, self.size)
        return batched if self.sharding is None else self.sharded_aval(batched, dim)

    def sharded_aval(self, aval: ir.ShapedArray, dim: int) -> ir.ShapedArray:
        """Return a type of batches with ``sharding`` along the batch dimension."""
        assert self.sharding is not None
        previous = aval.type_sharding
        parts = ((),) * aval.ndim if previous is None else previous.parts
        # The sharding of the axis is that of a vector, so it has one part: that of the batch
        # dimension.
        parts = (*parts[:dim], *self.sharding.parts, *parts[dim + 1 :])
        manual = () if previous is None else previous.manual
        return aval.with_sharding(ir.make_type_sharding(self.sharding.mesh, parts, *manual))


# The operations that move and repeat batches are primitives of ``lax``: ``(x, shape, dims)``,
# ``(x, permutation)``, ``(x, dim)``, and ``(x, aval)`` reshards a value to a type.
batch_broadcast: ir.Hook[Callable[[ir.ArrayLike, ir.Shape, tuple[int, ...]], ir.Array]] = ir.Hook(
    "broadcasts", provided_by="ricci_lax"
)
batch_transpose: ir.Hook[Callable[[ir.ArrayLike, tuple[int, ...]], ir.Array]] = ir.Hook(
    "transposes", provided_by="ricci_lax"
)
batch_sum: ir.Hook[Callable[[ir.ArrayLike, int], ir.Array]] = ir.Hook(
    "sums", provided_by="ricci_lax"
)
batch_of_type: ir.Hook[Callable[[ir.ArrayLike, ir.ShapedArray], ir.Array]] = ir.Hook(
    "changes of shardings", provided_by="ricci_lax"
)


def shape_of(x: ir.ArrayLike) -> ir.Shape:
    """Return the shape of an array, a tracer or a scalar."""
    return ir.get_aval(x).shape


def move_dim(x: ir.ArrayLike, source: int, target: int) -> ir.Array:
    """Move a dimension of ``x``; return ``x`` unchanged if it is in place.

    Args:
      x: an array.
      source: the position of the dimension.
      target: its new position.

    Returns:
      An array.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci_batching import move_dim
      >>> move_dim(jnp.ones((2, 3, 4)), 0, 2).shape
      (3, 4, 2)
    """
    ndim = len(shape_of(x))
    target %= ndim
    if source == target:
        return x  # pyright: ignore[reportReturnType]
    order = [i for i in range(ndim) if i != source]
    order.insert(target, source)
    return batch_transpose.call(x, tuple(order))


def add_dim(x: ir.ArrayLike, axis: Axis, dim: int) -> ir.Array:
    """Repeat ``x`` for each example of an axis, along a new dimension.

    Args:
      x: an array.
      axis: the mapped axis.
      dim: the position of the new dimension.

    Returns:
      An array.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci_batching import Axis, add_dim
      >>> add_dim(jnp.ones(2), Axis(3, None, None), 0).shape
      (3, 2)
    """
    batch = _repeated(x, axis.size, dim)
    return batch if axis.sharding is None else sharded(batch, axis, dim)


def sharded(x: ir.ArrayLike, axis: Axis, dim: int) -> ir.Array:
    """Reshard a batch so that its batch dimension has the sharding of the axis."""
    aval = ir.get_aval(x)
    return batch_of_type.call(x, axis.sharded_aval(aval, dim))


def _repeated(x: ir.ArrayLike, size: int, dim: int) -> ir.Array:
    aval = ir.get_aval(x)
    shape = aval.shape
    new_shape = (*shape[:dim], size, *shape[dim:])
    # XLA has no type float0, so such arrays stay on the host, and no operation is bound.
    if aval.dtype == ir.float0:
        return ir.float0_zeros(new_shape)
    source_dims = tuple(i for i in range(len(new_shape)) if i != dim)
    return batch_broadcast.call(x, new_shape, source_dims)


def moved_to(
    values: Sequence[ir.ArrayLike], dims: Sequence[int | None], target: int
) -> tuple[list[Any], tuple[int | None, ...]]:
    """Move the batch dimensions of values to ``target``.

    Args:
      values: arrays.
      dims: the batch dimension of each, or ``None``.
      target: the new batch dimension.

    Returns:
      The values, and their new batch dimensions: ``None`` for values that are not batched.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci_batching import moved_to
      >>> values, dims = moved_to([jnp.ones((2, 3)), 1.0], [1, None], 0)
      >>> values[0].shape, dims
      ((3, 2), (0, None))
    """
    return (
        [x if d is None else move_dim(x, d, target) for x, d in zip(values, dims, strict=True)],
        tuple(None if d is None else target for d in dims),
    )


def batched_at(x: ir.ArrayLike, dim: int | None, axis: Axis, target: int) -> ir.Array:
    """Move the batch dimension of ``x`` to ``target``; repeat a value without one there.

    Args:
      x: an array.
      dim: its batch dimension, or ``None``.
      axis: the mapped axis.
      target: the new batch dimension.

    Returns:
      An array.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci_batching import Axis, batched_at
      >>> batched_at(jnp.ones((2, 3)), 1, Axis(3, None, None), 0).shape
      (3, 2)
    """
    return add_dim(x, axis, target) if dim is None else move_dim(x, dim, target)


# The primitives whose rule is ``elementwise``.
elementwise_primitives: set[ir.Primitive] = set()


def _elementwise_rule(primitive: ir.Primitive) -> BatchRule:
    elementwise_primitives.add(primitive)
    bind = primitive.bind

    def batch(
        axis: Axis, args: Sequence[ir.ArrayLike], dims: Sequence[int | None], **params: object
    ) -> tuple[Any, int | None]:
        if len(args) == 1:
            return bind(args[0], **params), dims[0]
        shapes = [shape_of(x) for x in args]
        # Operands with the same shape and batch dimension need no alignment; neither do scalars
        # that are not batched.
        kinds = {(s, d) for s, d in zip(shapes, dims, strict=True) if s or d is not None}
        if len(kinds) == 1:
            ((_, target),) = kinds
            return bind(*args, **params), target
        # With the batches in front, the example dimensions align from the right. The rank that
        # counts is that of one example, without the batch dimension.
        rank = max(len(s) - (d is not None) for s, d in zip(shapes, dims, strict=True))
        aligned = [_align(x, s, d, rank) for x, s, d in zip(args, shapes, dims, strict=True)]
        return bind(*aligned, **params), 0

    return batch


def _align(x: ir.ArrayLike, shape: ir.Shape, dim: int | None, rank: int) -> ir.ArrayLike:
    """Move the batch dimension to the front, and add dimensions of size 1 up to ``rank``."""
    if dim is None:
        # A batch dimension of size 1 is enough: elementwise primitives broadcast dimensions of size
        # 1.
        return _repeated(x, 1, 0) if shape else x
    if len(shape) == rank + 1:
        return move_dim(x, dim, 0)
    return batch_broadcast.call(x, (shape[0], *(1,) * rank), (0,))


# For operations in which each element of the result depends on the operands' elements at the same
# position only.
elementwise: ir.derived = ir.derived(_elementwise_rule)


def _leading_dims_rule(primitive: ir.Primitive) -> BatchRule:
    def batch(
        axis: Axis, args: Sequence[ir.ArrayLike], dims: Sequence[int | None], **params: object
    ) -> tuple[Any, Any]:
        operands = [batched_at(x, d, axis, 0) for x, d in zip(args, dims, strict=True)]
        result = primitive.bind(*operands, **params)
        return result, [0] * len(result) if primitive.multiple_results else 0

    return batch


# For operations that treat leading dimensions as a batch, such as a Cholesky decomposition.
leading_dims: ir.derived = ir.derived(_leading_dims_rule)
