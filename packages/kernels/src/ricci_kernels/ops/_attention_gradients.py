"""The kernels of the gradients of attention.

They compute the weights again from the logarithm of the sums (Dao, "FlashAttention-2", 2023): one
folds keys, for the queries; one folds queries, for keys and values; and one folds examples and
heads, for a bias that they share.
"""

from collections.abc import Sequence
from typing import Any

import ricci_ir as ir
import ricci_numpy as jnp

from ._attention_kernels import (
    FOLDED_HEADS,
    FOLDED_KEYS,
    FOLDED_QUERIES,
    Locate,
    Operands,
    Problem,
    Settings,
    divided,
    remainder,
)
from ._folds import Blocks, Carry, Fold, Number, Place, fold
from ._targets import Target


def _d_logits(
    p: Problem, locate: Locate, at: Place, values: Sequence[ir.Array]
) -> tuple[ir.Array, ir.Array, ir.Array, ir.Array]:
    """The weights, the cotangents of the biased logits and of the products, of a block.

    The last three of ``values`` are the output's cotangent, the ``logsumexp`` of the logits, and
    what the normalization subtracts from the cotangents of weights (``deltas`` of ``_backward`` in
    ``_attention``). The output's cotangent is the fourth result.
    """
    *operands, d_out, sums, deltas = values
    weights, slope = p.weights(locate, at, operands, sums)
    d_weights = p.dot(d_out, operands[2], 1, 1)
    d_logits = weights * (d_weights - deltas)
    d_products = d_logits if slope is None else d_logits * slope
    return weights, d_logits, d_products * p.settings.scale, d_out


def backward_queries(
    settings: Settings, target: Target, operands: Operands, *cotangents: ir.Array
) -> ir.Array:
    """Return the cotangent of the queries."""
    p = Problem(settings, target, operands, True)
    locate = lambda at: (*at.position, at.step)
    inputs, blocks = p.inputs(locate, FOLDED_KEYS)
    column = p.query_blocks(locate, 1, False)

    def step(at: Place, carry: Sequence[ir.Array], *values: ir.Array) -> Sequence[ir.Array]:
        _, _, d_products, _ = _d_logits(p, locate, at, values)
        return [carry[0] + p.dot(d_products.astype(values[1].dtype), values[1], 1, 0)]

    like = operands.query
    spec = Fold(
        name="flash_attention_backward_queries",
        grid=(p.batch, p.heads, p.row_count),
        length=p.column_count,
        blocks=[*blocks, p.query_blocks(locate, p.value_width, False), column, column],
        outputs=[
            (ir.ShapeDtypeStruct(like.shape, like.dtype), p.query_blocks(locate, p.width, False))
        ],
        carry=[Carry((p.rows, p.width), p.wide)],
        step=step,
        finish=lambda _, carry: carry,
        bounds=(lambda at: p.key_bounds(at.position[2])) if p.is_local else None,
        num_warps=p.warps(),
        num_stages=2,
        cost=p.cost(3),
    )
    return fold(target, spec, [*inputs, *cotangents])[0]


def backward_keys(
    settings: Settings, target: Target, operands: Operands, *cotangents: ir.Array
) -> tuple[ir.Array, ir.Array]:
    """Return the cotangents of keys and values: sums over the queries of all heads of a group."""
    p = Problem(settings, target, operands, True)

    def locate(at: Place) -> tuple[Number, Number, Number, Number]:
        example, head, column = at.position
        # The heads of a group are the fast part of a step's number, so that the steps of some
        # blocks of queries are consecutive, and bounds of blocks are bounds of steps.
        row, member = divided(at.step, p.group), remainder(at.step, p.group)
        return example, head * p.group + member, row, column

    inputs, blocks = p.inputs(locate, FOLDED_QUERIES)
    column = p.query_blocks(locate, 1, True)

    def step(at: Place, carry: Sequence[ir.Array], *values: ir.Array) -> Sequence[ir.Array]:
        weights, _, d_products, d_rows = _d_logits(p, locate, at, values)
        query = values[0]
        return [
            carry[0] + p.dot(d_products.astype(query.dtype), query, 0, 0),
            carry[1] + p.dot(weights.astype(d_rows.dtype), d_rows, 0, 0),
        ]

    def bounds(at: Place) -> tuple[Number, Number]:
        low, high = p.query_bounds(at.position[2])
        return low * p.group, high * p.group

    def output(array: ir.Array, width: int) -> tuple[Any, Blocks]:
        index = lambda at: (*at.position, 0)
        blocks = Blocks((None, None, p.columns, width), index)
        return ir.ShapeDtypeStruct(array.shape, array.dtype), blocks

    spec = Fold(
        name="flash_attention_backward_keys",
        grid=(p.batch, p.key_heads, p.column_count),
        length=p.row_count * p.group,
        blocks=[*blocks, p.query_blocks(locate, p.value_width, True), column, column],
        outputs=[output(operands.key, p.width), output(operands.value, p.value_width)],
        carry=[Carry((p.columns, p.width), p.wide), Carry((p.columns, p.value_width), p.wide)],
        step=step,
        finish=lambda _, carry: carry,
        bounds=bounds if p.is_local else None,
        num_warps=p.warps(),
        num_stages=2,
        cost=p.cost(4),
    )
    d_key, d_value = fold(target, spec, [*inputs, *cotangents])
    return d_key, d_value


def backward_bias(
    settings: Settings, target: Target, operands: Operands, *cotangents: ir.Array
) -> ir.Array:
    """Return the cotangent of the bias: sums over the examples and heads that share it."""
    p = Problem(settings, target, operands, True)
    bias = operands.bias
    examples, heads = bias.shape[:2]
    repeated = p.heads // heads

    def locate(at: Place) -> tuple[Number, Number, Number, Number]:
        example, head, row, column = at.position
        # Where the examples share a bias, the step is a number of one, and else the position in the
        # grid; likewise for heads.
        other = divided(at.step, repeated), remainder(at.step, repeated)
        example = other[0] if examples == 1 else example
        return example, other[1] if heads == 1 else head, row, column

    inputs, blocks = p.inputs(locate, FOLDED_HEADS)
    column = p.query_blocks(locate, 1, True)

    def step(at: Place, carry: Sequence[ir.Array], *values: ir.Array) -> Sequence[ir.Array]:
        return [carry[0] + _d_logits(p, locate, at, values)[1]]

    shape = (examples, heads, p.t, p.s)
    whole = Blocks((None, None, p.rows, p.columns), lambda at: at.position)
    spec = Fold(
        name="flash_attention_backward_bias",
        grid=(examples, heads, p.row_count, p.column_count),
        length=p.batch // examples * repeated,
        blocks=[*blocks, p.query_blocks(locate, p.value_width, True), column, column],
        outputs=[(ir.ShapeDtypeStruct(shape, p.wide), whole)],
        carry=[Carry((p.rows, p.columns), p.wide)],
        step=step,
        finish=lambda _, carry: carry,
        num_warps=p.warps(),
        num_stages=2,
        cost=p.cost(2),
    )
    (result,) = fold(target, spec, [*inputs, *cotangents])
    # Queries or keys that share a bias are within a block: the kernel writes the cotangent of each,
    # and their sum is taken afterwards.
    shared = tuple([d for d in (2, 3) if bias.shape[d] != shape[d]])
    return jnp.sum(result, shared, keepdims=True).astype(bias.dtype)
