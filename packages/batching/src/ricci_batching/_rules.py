"""The table of batching rules, and the rules that follow from an operation's shape.

A rule is called as ``rule(axis, args, dims, **params)``: ``dims[i]`` is the batch dimension of
``args[i]``, or ``None``. It returns the result and its batch dimension (lists of both for
several results), working in the parent trace.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ricci_ir import (
    Jaxpr,
    Primitive,
    derived,
    float0,
    get_aval,
    jaxprs_in_params,
    rule_table,
)

batch_rules = rule_table("batch")
# For primitives that refer to named axes: ``names(**params)`` gives the names.
axis_name_rules = rule_table("axis_names", required=False)


def named_axes(primitive: Primitive, params: dict[str, Any]) -> frozenset:
    """The named axes that an operation refers to, itself or in the programs that it holds."""
    rule = axis_name_rules.get(primitive)
    if rule is not None:
        return frozenset(rule(**params))
    return frozenset().union(*map(_named_in, jaxprs_in_params(params)))


def _named_in(jaxpr: Jaxpr) -> frozenset:
    return jaxpr.derived(
        "named axes",
        lambda: frozenset().union(*(named_axes(e.primitive, e.params) for e in jaxpr.eqns)),
    )


class Axis(NamedTuple):
    """The axis that a vmap maps over: its size, and its name or ``None``."""

    size: int
    name: Any = None
    spmd_name: Any = None


class ArrayOps:
    """The operations on batch dimensions; ``lax`` gives them."""

    broadcast_in_dim: Callable[[Any, tuple[int, ...], tuple[int, ...]], Any]
    transpose: Callable[[Any, tuple[int, ...]], Any]
    sum_over: Callable[[Any, int], Any]

    def register(
        self,
        *,
        broadcast_in_dim: Callable[[Any, tuple[int, ...], tuple[int, ...]], Any],
        transpose: Callable[[Any, tuple[int, ...]], Any],
        sum_over: Callable[[Any, int], Any],
    ) -> None:
        """Set ``broadcast_in_dim(x, shape, dims)``, ``transpose(x, permutation)``, and the sum."""
        self.broadcast_in_dim = broadcast_in_dim
        self.transpose = transpose
        self.sum_over = sum_over


array_ops = ArrayOps()


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of an array, a tracer or a scalar."""
    return get_aval(x).shape  # pyright: ignore[reportAttributeAccessIssue]


def move_dim(x: Any, source: int, target: int) -> Any:
    """``x`` with one dimension moved; ``x`` itself where it is in place."""
    ndim = len(shape_of(x))
    target %= ndim
    if source == target:
        return x
    order = [i for i in range(ndim) if i != source]
    order.insert(target, source)
    return array_ops.transpose(x, tuple(order))


def add_dim(x: Any, size: int, dim: int) -> Any:
    """``x`` repeated ``size`` times along a new dimension."""
    aval: Any = get_aval(x)
    shape = aval.shape
    new_shape = (*shape[:dim], size, *shape[dim:])
    if aval.dtype == float0:
        return np.zeros(new_shape, float0)
    kept = tuple(i for i in range(len(new_shape)) if i != dim)
    return array_ops.broadcast_in_dim(x, new_shape, kept)


def moved_to(
    values: Sequence[Any], dims: Sequence[int | None], target: int
) -> tuple[list[Any], tuple[int | None, ...]]:
    """Values with their batch dimensions, if they have one, at ``target``; and those dimensions."""
    return (
        [x if d is None else move_dim(x, d, target) for x, d in zip(values, dims, strict=True)],
        tuple(None if d is None else target for d in dims),
    )


def batched_at(x: Any, dim: int | None, size: int, target: int) -> Any:
    """``x`` with its batch dimension at ``target``, repeated if it has none."""
    if dim is None:
        return add_dim(x, size, target)
    return move_dim(x, dim, target)


# Those whose rule is ``elementwise``.
elementwise_primitives: set[Primitive] = set()


def _elementwise_rule(primitive: Primitive):
    elementwise_primitives.add(primitive)
    bind = primitive.bind

    def batch(axis, args, dims, **params):
        if len(args) == 1:
            return bind(args[0], **params), dims[0]
        shapes = [shape_of(x) for x in args]
        rank = max(len(s) - (d is not None) for s, d in zip(shapes, dims, strict=True))
        # Operands of one shape, batched alike, stay as they are, and so do scalars beside them.
        kinds = {(s, d) for s, d in zip(shapes, dims, strict=True) if s or d is not None}
        if len(kinds) == 1:
            ((_, target),) = kinds
            return bind(*args, **params), target
        aligned = [_align(x, s, d, rank) for x, s, d in zip(args, shapes, dims, strict=True)]
        return bind(*aligned, **params), 0

    return batch


def _align(x: Any, shape: tuple, dim: int | None, rank: int) -> Any:
    """``x`` with its batch dimension in front, and 1 where it has fewer dimensions."""
    if dim is None:
        return add_dim(x, 1, 0) if shape else x
    if len(shape) == rank + 1:
        return move_dim(x, dim, 0)
    return array_ops.broadcast_in_dim(x, (shape[0], *(1,) * rank), (0,))


# Each element of the result depends on the operands' elements at the same place.
elementwise = derived(_elementwise_rule)


def _at_front_rule(primitive: Primitive):
    def batch(axis, args, dims, **params):
        args = [batched_at(x, d, axis.size, 0) for x, d in zip(args, dims, strict=True)]
        result = primitive.bind(*args, **params)
        return result, [0] * len(result) if primitive.multiple_results else 0

    return batch


# The operation treats leading dimensions as a batch already: move each operand's to the front.
leading_dims = derived(_at_front_rule)
