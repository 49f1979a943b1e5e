"""How keys are moved about: as their words, which are one more dimension behind the others."""

from typing import Any

import ricci_lax as lax
from ricci_batching import Axis, batch_rules, move_dim
from ricci_ir import Primitive, ShapedArray
from ricci_stablehlo import Lowering, Value, extended_lower_rules, traced

from ._key_type import KeyType


def _is_key(aval: Any) -> bool:
    return isinstance(getattr(aval, "dtype", None), KeyType)


def _as_words(x: Value) -> Value:
    return Value(x.name, x.aval.dtype.physical_aval(x.aval)) if _is_key(x.aval) else x


def _moves_elements(primitive: Primitive):
    """The rule of a primitive that treats the words as a batch of arrays."""

    def lower(ctx: Lowering, *operands: Value, **params: Any) -> Any:
        avals = ctx.outs
        keys = [_is_key(x.aval) for x in operands]
        size = next(
            _as_words(x).shape[-1] for x, is_key in zip(operands, keys, strict=True) if is_key
        )

        def on_words(*xs):
            dims = [x.ndim - 1 if is_key else None for x, is_key in zip(xs, keys, strict=True)]
            outs, out_dims = batch_rules[primitive](Axis(size), xs, dims, **params)
            if not primitive.multiple_results:
                outs, out_dims = [outs], [out_dims]
            return [
                _unbatched(x, dim, aval) for x, dim, aval in zip(outs, out_dims, avals, strict=True)
            ]

        results = traced(on_words)(ctx, *map(_as_words, operands))
        values = [Value(x.name, aval) for x, aval in zip(results, avals, strict=True)]
        return values if primitive.multiple_results else values[0]

    return lower


def _unbatched(x: Any, dim: int | None, aval: ShapedArray) -> Any:
    """A result with the words' dimension last; one that is no key is the same for every word."""
    if _is_key(aval):
        assert dim is not None  # moving keys about gives keys
        return move_dim(x, dim, -1)
    return x if dim is None else lax.index_in_dim(x, 0, dim, keepdims=False)


def _compares(primitive: Primitive, combine: Any):
    """The rule of a comparison, which holds if it does for all words, or for any."""

    def lower(ctx: Lowering, *operands: Value) -> Any:
        rank = ctx.out.ndim + 1

        def on_words(*xs):
            x, y = (_with_leading_ones(x, rank) for x in xs)
            return combine(primitive.bind(x, y), (rank - 1,))

        return traced(on_words)(ctx, *map(_as_words, operands))

    return lower


def _with_leading_ones(x: Any, rank: int) -> Any:
    return lax.expand_dims(x, tuple(range(rank - x.ndim)))


_MOVING = (
    lax.broadcast_in_dim_p,
    lax.concatenate_p,
    lax.copy_p,
    lax.dynamic_slice_p,
    lax.dynamic_update_slice_p,
    lax.gather_p,
    lax.pad_p,
    lax.reshape_p,
    lax.rev_p,
    lax.scatter_p,
    lax.select_n_p,
    lax.slice_p,
    lax.sort_p,
    lax.split_p,
    lax.squeeze_p,
    lax.stack_p,
    lax.tile_p,
    lax.transpose_p,
    lax.unstack_p,
)
for _primitive in _MOVING:
    extended_lower_rules.define(_primitive, _moves_elements(_primitive))
extended_lower_rules.define(lax.eq_p, _compares(lax.eq_p, lax.reduce_and))
extended_lower_rules.define(lax.ne_p, _compares(lax.ne_p, lax.reduce_or))
