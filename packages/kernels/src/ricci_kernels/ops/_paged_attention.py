"""Attention of one query to keys and values in pages, for decoding."""

from collections.abc import Sequence
from functools import partial

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp

from ._attention_kernels import OnlineSoftmax, divided
from ._folds import Blocks, Fold, Number, Place, fold
from ._matmul import accumulator
from ._targets import Target, on_device, varying_alike

__all__ = ["paged_attention"]


class _Paged(ir.TupleRecord):
    """The parameters of paged attention; see ``paged_attention``."""

    scale: float
    soft_cap: float | None
    interpret: bool | None


def paged_attention(
    query: ir.ArrayLike,
    key_pages: ir.ArrayLike,
    value_pages: ir.ArrayLike,
    lengths: ir.ArrayLike,
    page_indices: ir.ArrayLike,
    *,
    scale: float | None = None,
    logits_soft_cap: float | None = None,
    interpret: bool | None = None,
) -> ir.Array:
    """Attention of the newest position of each sequence to keys and values in pages of a cache.

    The sizes are B (sequences), N and K (heads of queries and of keys; N is a multiple of K), H
    (features), P (pages of the cache), L (positions in a page). Only pages that hold positions of a
    sequence are read.

    Args:
      query: of shape (B, N, H).
      key_pages, value_pages: of shape (K, P, L, H), of the same dtype.
      lengths: integers of shape (B,), the positions of each sequence.
      page_indices: integers of shape (B, pages), the pages of each sequence, in order; those past
        its length may be any page.
      scale: the factor of the products of queries and keys, by default 1 / sqrt(H).
      logits_soft_cap: a bound ``c`` on the scaled products: ``c * tanh(x / c)``.
      interpret: ``True`` interprets the kernel, ``False`` compiles it. By default it is compiled
        for TPUs and NVIDIA GPUs, and interpreted elsewhere. On GPUs, L is a power of 2 of at least
        16.

    Returns:
      An array of shape (B, N, H), 0 for sequences of length 0. It has no gradient.

    Raises:
      ValueError: if shapes or dtypes do not fit.

    Example:
      A sequence of three positions in pages 2 and 0 of a cache, two in each:

      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.pallas import ops
      >>> pages = jnp.arange(6.0).reshape(1, 3, 2, 1)
      >>> ops.paged_attention(
      ...     jnp.zeros((1, 1, 1)), pages, pages, jnp.array([3]), jnp.array([[2, 0]])
      ... )  # the mean of 4, 5 and 0
      Array([[[3.]]], dtype=float32)

    Source: Kwon et al., "Efficient memory management for large language model serving with
    PagedAttention", 2023.
    """
    q, keys, values = jnp.asarray(query), jnp.asarray(key_pages), jnp.asarray(value_pages)
    length, table = jnp.asarray(lengths), jnp.asarray(page_indices)
    arrays = (q, keys, values, length, table)
    shapes = ", ".join([x.aval.str_short() for x in arrays])
    fits = (
        q.ndim == 3
        and keys.ndim == 4
        and keys.shape == values.shape
        and keys.shape[3] == q.shape[2]
        and keys.shape[0]
        and q.shape[1] % keys.shape[0] == 0
        and length.shape == q.shape[:1]
        and table.ndim == 2
        and table.shape[0] == q.shape[0]
    )
    if not fits or not q.dtype == keys.dtype == values.dtype:
        raise ValueError(
            "paged_attention takes a query of shape (B, N, H), keys and values of shape "
            f"(K, P, L, H) and its dtype, lengths (B,) and page indices (B, pages), got {shapes}."
        )
    if not q.size or not keys.size or not table.size:
        return jnp.zeros_like(q)
    factor = q.shape[2] ** -0.5 if scale is None else float(scale)
    call = partial(_paged, _Paged(factor, logits_soft_cap, interpret))
    integers = [x.astype(np.int32) for x in (length, table)]
    return on_device(call, interpret, *varying_alike(q, keys, values, *integers))


def _paged(
    paged: _Paged,
    target: Target,
    q: ir.Array,
    keys: ir.Array,
    values: ir.Array,
    lengths: ir.Array,
    table: ir.Array,
) -> ir.Array:
    batch, heads, h = q.shape
    key_heads, _, page, _ = keys.shape
    group, wide = heads // key_heads, accumulator(q.dtype)
    # The queries of the heads that share a head of keys are the rows of one block: each page is
    # read once for all of them.
    rows, width = target.width(group), target.width(h)
    softmax = OnlineSoftmax(wide)

    def step(at: Place, carry: Sequence[ir.Array], *blocks: ir.Array) -> Sequence[ir.Array]:
        query, key, value = blocks
        numbers = (((1,), (1,)), ((), ()))
        logits = lax.dot_general(query, key, numbers, preferred_element_type=wide) * paged.scale
        if paged.soft_cap is not None:
            logits = lax.tanh(logits / paged.soft_cap) * paged.soft_cap
        # The last page of a sequence may be only partly in use. A weight of 0 is not enough, since
        # the other positions may hold NaN or infinities, left there by an earlier sequence.
        start, length = at.step * page, at.scalars[0][at.position[0]]
        is_real = lambda x, axis: lax.broadcasted_iota(np.int32, x.shape, axis) + start < length
        logits = jnp.where(is_real(logits, 1), logits, softmax.lowest)
        value = jnp.where(is_real(value, 0), value, jnp.zeros_like(value))
        product = lambda weights: lax.dot_general(
            weights.astype(value.dtype),
            value,
            (((1,), (0,)), ((), ())),
            preferred_element_type=wide,
        )
        return softmax.step(carry, logits, product)

    def bounds(at: Place) -> tuple[Number, Number]:
        length = at.scalars[0][at.position[0]]
        # Pages after the end are not read: index maps are clamped to the bounds (``_clamped`` of
        # ``_folds``), so that the numbers behind it need not be pages at all.
        end = lax.min(divided(length + (page - 1), page), np.int32(table.shape[1]))
        return np.int32(0), end

    pages = Blocks(
        (None, None, page, width),
        lambda at: (at.position[1], at.scalars[1][at.position[0], at.step], 0, 0),
        True,
    )
    queries = Blocks((None, None, rows, width), lambda at: (*at.position, 0, 0))
    shape = (batch, key_heads, group, h)
    spec = Fold(
        name="paged_attention",
        grid=(batch, key_heads),
        length=table.shape[1],
        blocks=[queries, pages, pages],
        outputs=[(ir.ShapeDtypeStruct(shape, q.dtype), queries)],
        carry=softmax.carry(rows, width),
        step=step,
        finish=lambda _, carry: softmax.finish(carry)[:1],
        bounds=bounds,
    )
    arrays = [jnp.reshape(q, shape), keys, values]
    return jnp.reshape(fold(target, spec, arrays, [lengths, table])[0], q.shape)
