"""Lowering rules for keys in operations that move elements, such as slices and transposes.

Keys are lowered as their words. The words of a key are like a batch of elements under ``vmap``:
the operation's batching rule, with the words as the batch dimension, is the lowering.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import ricci_lax as lax
from ricci_batching import Axis, batch_rules, move_dim
from ricci_ir import AbstractValue, Array, Primitive, ShapedArray
from ricci_stablehlo import Lowering, Value, extended_lower_rules, traced

from ._key_type import KeyType


def _is_key(aval: AbstractValue) -> bool:
    return isinstance(getattr(aval, "dtype", None), KeyType)


def _as_words(x: Value) -> Value:
    return Value(x.name, x.aval.dtype.physical_aval(x.aval)) if _is_key(x.aval) else x


def _as_rows(x: Array, rank: int) -> Array:
    """The words of keys, an array of some rank, with those of each key as its last dimension."""
    return x if x.ndim == rank + 1 else lax.reshape(x, (*x.shape[:rank], prod(x.shape[rank:])))


def _from_rows(x: Array, aval: AbstractValue) -> Array:
    """The words of keys of a type from rows of them."""
    shape = aval.dtype.physical_aval(aval).shape if _is_key(aval) else x.shape  # pyright: ignore
    return x if x.shape == shape else lax.reshape(x, shape)


def _moves_elements(primitive: Primitive) -> Callable[..., Any]:
    """The lowering rule of a primitive that moves elements: its batching rule, on words."""

    def lower(ctx: Lowering, *operands: Value, **params: object) -> Value | Sequence[Value]:
        avals = ctx.outs
        keys = [_is_key(x.aval) for x in operands]
        ranks = [len(x.shape) for x in operands]

        # A key is a row of words, its last dimension. An operation that moves keys moves these
        # rows, as it does under vmap over the words.
        def on_words(*words):
            xs = [
                _as_rows(x, rank) if is_key else x
                for x, rank, is_key in zip(words, ranks, keys, strict=True)
            ]
            size = next(x.shape[-1] for x, is_key in zip(xs, keys, strict=True) if is_key)
            dims = [x.ndim - 1 if is_key else None for x, is_key in zip(xs, keys, strict=True)]
            outs, out_dims = batch_rules[primitive](Axis(size), xs, dims, **params)
            if not primitive.multiple_results:
                outs, out_dims = [outs], [out_dims]
            return [
                _from_rows(_unbatched(x, dim, aval), aval)
                for x, dim, aval in zip(outs, out_dims, avals, strict=True)
            ]

        results = traced(on_words)(ctx, *map(_as_words, operands))
        values = [Value(x.name, aval) for x, aval in zip(results, avals, strict=True)]
        return values if primitive.multiple_results else values[0]

    return lower


def _unbatched(x: Array, dim: int | None, aval: ShapedArray) -> Array:
    """Move the words' dimension of a result last.

    A result that is not a key (such as the order of ``sort``) is the same for every word.
    """
    if _is_key(aval):
        assert dim is not None  # keys are computed from keys
        return move_dim(x, dim, -1)
    return x if dim is None else lax.index_in_dim(x, 0, dim, keepdims=False)


def _compares(primitive: Primitive, combine: Callable[..., Array]) -> Callable[..., Value]:
    """The lowering rule of a comparison: compare words, and combine the results for each key."""

    def lower(ctx: Lowering, *operands: Value) -> Value:
        rank = ctx.out.ndim + 1
        ranks = [len(x.shape) for x in operands]

        def on_words(*words):
            xs = [_as_rows(x, n) for x, n in zip(words, ranks, strict=True)]
            x, y = (lax.expand_dims(x, tuple(range(rank - x.ndim))) for x in xs)
            return combine(primitive.bind(x, y), (rank - 1,))

        return traced(on_words)(ctx, *map(_as_words, operands))

    return lower


_MOVING_PRIMITIVES = (
    *(lax.broadcast_in_dim_p, lax.concatenate_p, lax.copy_p, lax.dynamic_slice_p),
    *(lax.dynamic_update_slice_p, lax.gather_p, lax.pad_p, lax.reshape_p, lax.rev_p, lax.scatter_p),
    *(lax.select_n_p, lax.slice_p, lax.sort_p, lax.split_p, lax.squeeze_p, lax.stack_p, lax.tile_p),
    *(lax.transpose_p, lax.unstack_p),
)
for _primitive in _MOVING_PRIMITIVES:
    extended_lower_rules.define(_primitive, _moves_elements(_primitive))
extended_lower_rules.define(lax.eq_p, _compares(lax.eq_p, lax.reduce_and))
extended_lower_rules.define(lax.ne_p, _compares(lax.ne_p, lax.reduce_or))
