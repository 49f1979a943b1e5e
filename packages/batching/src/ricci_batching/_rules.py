"""The table of batching rules, and the rules that follow from an operation's shape.

A rule is called as ``rule(axis, args, dims, **params)``: ``dims[i]`` is the batch dimension of
``args[i]``, or ``None``. It returns the result and its batch dimension (lists of both for
several results), working in the parent trace.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ricci_ir import Primitive, derived, get_aval, rule_table

batch_rules = rule_table("batch")
# For primitives that refer to named axes: ``names(**params)`` gives the names.
axis_name_rules = rule_table("axis_names", required=False)


class Axis(NamedTuple):
    """The axis that a vmap maps over: its size, and its name or ``None``."""

    size: int
    name: Any = None
    spmd_name: Any = None


class ArrayOps:
    """The operations that move batch dimensions; ``lax`` gives them."""

    broadcast_in_dim: Callable[[Any, tuple[int, ...], tuple[int, ...]], Any]
    transpose: Callable[[Any, tuple[int, ...]], Any]

    def register(
        self,
        *,
        broadcast_in_dim: Callable[[Any, tuple[int, ...], tuple[int, ...]], Any],
        transpose: Callable[[Any, tuple[int, ...]], Any],
    ) -> None:
        """Set ``broadcast_in_dim(x, shape, dims)`` and ``transpose(x, permutation)``."""
        self.broadcast_in_dim = broadcast_in_dim
        self.transpose = transpose


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
    shape = shape_of(x)
    new_shape = (*shape[:dim], size, *shape[dim:])
    kept = tuple(i for i in range(len(new_shape)) if i != dim)
    return array_ops.broadcast_in_dim(x, new_shape, kept)


def batched_at(x: Any, dim: int | None, size: int, target: int) -> Any:
    """``x`` with its batch dimension at ``target``, repeated if it has none."""
    if dim is None:
        return add_dim(x, size, target)
    return move_dim(x, dim, target)


def _elementwise_rule(primitive: Primitive):
    bind = primitive.bind

    def batch(axis, args, dims, **params):
        if len(args) == 1:
            return bind(args[0], **params), dims[0]
        shapes = [shape_of(x) for x in args]
        target = next(d for d in dims if d is not None)
        rank = max(len(s) - (d is not None) for s, d in zip(shapes, dims, strict=True))
        if all(
            d == target or (d is None and not s) for d, s in zip(dims, shapes, strict=True)
        ) and all(len(s) == rank + 1 or d is None for s, d in zip(shapes, dims, strict=True)):
            return bind(*args, **params), target
        target = _target(shapes, dims, rank)
        aligned = [
            _align(x, s, d, rank, target) for x, s, d in zip(args, shapes, dims, strict=True)
        ]
        return bind(*aligned, **params), target

    return batch


def _target(shapes: Sequence[tuple], dims: Sequence[int | None], rank: int) -> int:
    """Where the result's batch dimension goes: where the first full operand has it."""
    for shape, dim in zip(shapes, dims, strict=True):
        if dim is not None and len(shape) == rank + 1:
            return dim
    return 0


def _align(x: Any, shape: tuple, dim: int | None, rank: int, target: int) -> Any:
    if dim is None:
        if not shape:
            return x
        return add_dim(x, 1, target)
    if len(shape) == rank + 1:
        return move_dim(x, dim, target)
    new_shape = tuple(shape[0] if i == target else 1 for i in range(rank + 1))
    return array_ops.broadcast_in_dim(x, new_shape, (target,))


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
