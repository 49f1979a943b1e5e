"""Scaled dot-product attention, by ordinary operations that XLA fuses, or by cuDNN."""

from collections.abc import Callable
from typing import Literal, overload

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, Hook, Shape, exact_scalar, promote_types
from ricci_numpy.authoring import check_choice, logsumexp, softmax

from ._cudnn_attention import cudnn_attention

__all__ = ["dot_product_attention"]

# The arguments and results are those of ``ricci_kernels.ops.flash_attention``.
attention_kernel: Hook[Callable[..., tuple[Array, Array]]] = Hook(
    "attention by kernels", provided_by="ricci"
)


@overload
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: Literal["xla", "cudnn", "pallas"] | None = None,
    return_residual: Literal[False] = False,
) -> Array: ...


@overload
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: Literal["xla", "cudnn", "pallas"] | None = None,
    return_residual: Literal[True],
) -> tuple[Array, Array]: ...


@overload
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: Literal["xla", "cudnn", "pallas"] | None = None,
    return_residual: bool,
) -> Array | tuple[Array, Array]: ...


def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: Literal["xla", "cudnn", "pallas"] | None = None,
    return_residual: bool = False,
) -> Array | tuple[Array, Array]:
    """Dot-product attention: values averaged with weights softmax(scale · query · key + bias).

    The sizes are B (batch), T and S (sequence lengths of queries and of keys), N and K (heads of
    queries and of keys), H (features). N must be a multiple of K; each head of keys and values then
    serves N / K neighbouring heads of queries (grouped-query attention).

    Args:
      query: of shape (B, T, N, H) or (T, N, H).
      key, value: of shape (B, S, K, H) or (S, K, H).
      bias: added to the logits; broadcasts to (B, N, T, S).
      mask: boolean, false where a query must not attend to a key; broadcasts to (B, N, T, S).
      scale: the factor of the logits, by default 1 / sqrt(H).
      is_causal: whether queries attend only to keys at their own and earlier positions.
      query_seq_lengths, key_value_seq_lengths: int32 arrays of shape (B,). Later positions are
        padding, for which the results are 0.
      local_window_size: the distances to the left and to the right up to which a query attends to
        keys, as a pair or as one int for both.
      implementation: ``None`` or ``"xla"``; or ``"cudnn"``, a fused kernel on NVIDIA GPUs, for
        bfloat16 and float16, up to 256 features in multiples of 8, without a window to the right
        unless ``is_causal``; its gradient takes even sequence lengths, and it has no forward-mode
        nor second derivatives. Or ``"pallas"``, kernels that are compiled for TPUs and NVIDIA GPUs
        and interpreted elsewhere, whose memory grows linearly with the sequences; it has no
        forward-mode derivatives, and is 0 for queries without any key.
      return_residual: whether to return the ``logsumexp`` of the logits as well.

    Returns:
      An array of the shape of ``query``. With ``return_residual``, a pair of that and the residual,
      of shape (B, T, N) or (T, N).

    Raises:
      ValueError: if shapes or dtypes are incompatible, or the implementation is unknown.
      TypeError: if the bias or the mask does not broadcast.
      NotImplementedError: for the implementation ``"cudnn"`` with operands that cuDNN does not
        support, or when the function is compiled for another device than an NVIDIA GPU.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> query = jnp.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])[:, None]  # positions, one head
      >>> value = jnp.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])[:, None]
      >>> result = ricci.nn.dot_product_attention(query, query, value, is_causal=True)
      >>> result.shape, result[0, 0].tolist()  # the first position sees itself only
      ((3, 1, 2), [1.0, 0.0])
      >>> q, kv = jnp.ones((2, 5, 8, 4)), jnp.ones((2, 7, 2, 4))  # four heads of queries to one
      >>> mask = jnp.arange(7) < jnp.array([7, 3])[:, None]  # lengths of the sequences of keys
      >>> ricci.nn.dot_product_attention(q, kv, kv, mask=mask[:, None, None, :]).shape
      (2, 5, 8, 4)

    See also:
      ``numpy.einsum`` with ``softmax``, for the same computation by hand.

    Source: Vaswani et al., "Attention is all you need", 2017; grouped heads: Ainslie et al.,
    "GQA", 2023.
    """
    choices = (None, "xla", "cudnn", "pallas")
    check_choice("dot_product_attention", "implementation", implementation, choices)
    shape = np.shape(query)
    q, keys, values = (_with_batch(jnp.asarray(x)) for x in (query, key, value))
    _check_shapes(q, keys, values)
    _check_dtypes(q, keys, values, mask, query_seq_lengths, key_value_seq_lengths)
    batch, t, n, h = q.shape
    s, k = keys.shape[1:3]
    # Products of h independent components of variance 1 have variance h.
    factor = 1.0 / float(np.sqrt(h)) if scale is None else scale
    window = local_window_size
    window = (window, window) if isinstance(window, int) else window
    logits_shape = (batch, n, t, s)
    full_bias = None if bias is None else _of_rank_4(bias, "bias", logits_shape)
    full_mask = None if mask is None else _of_rank_4(mask, "mask", logits_shape)
    if implementation == "cudnn":
        result, *sums = cudnn_attention(
            q,
            keys,
            values,
            full_bias,
            full_mask,
            scale=factor,
            is_causal=is_causal,
            query_lengths=query_seq_lengths,
            key_lengths=key_value_seq_lengths,
            window=window,
            statistics=return_residual,
        )
        result = jnp.reshape(result, shape)
        return (result, _residual(sums[0], (0, 2, 1), q, shape)) if return_residual else result
    if implementation == "pallas":
        rows, columns = _segments((t, s), batch, query_seq_lengths, key_value_seq_lengths)
        result, sums = attention_kernel.call(
            q,
            keys,
            values,
            full_bias,
            full_mask,
            query_segment_ids=rows,
            key_segment_ids=columns,
            scale=factor,
            is_causal=is_causal,
            local_window_size=window,
            return_residual=True,
        )
        result = jnp.reshape(result, shape)
        return (result, _residual(sums, (0, 1, 2), q, shape)) if return_residual else result
    logits = _logits(q, keys, factor)
    if full_bias is not None:
        logits = jnp.add(logits, _group_heads(full_bias, k))
    allowed = _position_mask((t, s), is_causal, window, query_seq_lengths, key_value_seq_lengths)
    if full_mask is not None:
        grouped_mask = _group_heads(full_mask, k)
        allowed = grouped_mask if allowed is None else jnp.logical_and(allowed, grouped_mask)
    masked = logits
    if allowed is not None:
        # The lowest logit is finite, so that a row without any key gets equal weights, not NaN.
        # With a margin of 0.7, subtracting a row's maximum does not overflow.
        lowest = -0.7 * float(jnp.finfo(logits.dtype).max)
        masked = jnp.where(allowed, logits, exact_scalar(lowest, logits.dtype))
    # In float32: sums of many exponentials lose digits in 16 bits.
    weights = lax.convert_element_type(softmax(masked.astype(np.float32)), keys.dtype)
    result = lax.dot_general(weights, values, (((4,), (1,)), ((0, 1), (0, 2))))
    result = jnp.transpose(result, (0, 2, 1, 3, 4))
    if query_seq_lengths is not None:
        real = jnp.less(jnp.arange(t)[None, :], jnp.asarray(query_seq_lengths)[:, None])
        result = jnp.multiply(result, real[:, :, None, None, None].astype(result.dtype))
    result = lax.convert_element_type(jnp.reshape(result, shape), q.dtype)
    if not return_residual:
        return result
    return result, _residual(logsumexp(masked, axis=-1), (0, 2, 1, 3), q, shape)


def _segments(
    sizes: tuple[int, int],
    batch: int,
    query_lengths: ArrayLike | None,
    key_lengths: ArrayLike | None,
) -> tuple[Array | None, Array | None]:
    """Numbers of segments in which padding of queries and of keys is not that of anything else."""
    if query_lengths is None and key_lengths is None:
        return None, None
    results = []
    for size, lengths, padding in zip(sizes, (query_lengths, key_lengths), (1, 2), strict=True):
        numbers = jnp.zeros((batch, size), np.int32)
        if lengths is not None:
            is_padding = jnp.greater_equal(jnp.arange(size), jnp.asarray(lengths)[:, None])
            numbers = jnp.where(is_padding, np.int32(padding), numbers)
        results.append(numbers)
    return results[0], results[1]


def _residual(sums: Array, order: tuple[int, ...], query: Array, shape: Shape) -> Array:
    """Transpose the ``logsumexp`` of the logits to the dimensions of queries without features."""
    residual = jnp.reshape(jnp.transpose(sums, order), shape[:-1])
    return lax.convert_element_type(lax.stop_gradient(residual), query.dtype)


def _check_dtypes(
    query: Array,
    key: Array,
    value: Array,
    mask: ArrayLike | None,
    query_lengths: ArrayLike | None,
    key_lengths: ArrayLike | None,
) -> None:
    for name, x in (("query", query), ("value", value)):
        if x.dtype != key.dtype:
            raise ValueError(
                f"dot_product_attention: query, key and value must have the same dtype, but the "
                f"key has {key.dtype} and the {name} {x.dtype}. Convert with astype."
            )
    if mask is not None and jnp.result_type(mask) != np.dtype(bool):
        raise ValueError(
            f"dot_product_attention: mask must be boolean, got {jnp.result_type(mask)}. Pass "
            "numbers that are added to the logits as bias."
        )
    lengths = {"query_seq_lengths": query_lengths, "key_value_seq_lengths": key_lengths}
    for name, x in lengths.items():
        if x is None:
            continue
        if jnp.result_type(x) != np.dtype(np.int32) or np.shape(x) != query.shape[:1]:
            raise ValueError(
                f"dot_product_attention: {name} must be of dtype int32 and shape "
                f"{query.shape[:1]}, got {jnp.result_type(x)} and {np.shape(x)}."
            )


def _with_batch(x: Array) -> Array:
    """Add a batch dimension of size 1 to a query, key or value that has none."""
    if x.ndim == 3:
        return lax.expand_dims(x, (0,))
    if x.ndim != 4:
        raise ValueError(
            "dot_product_attention takes a query, key and value of 3 or 4 dimensions, got shape "
            f"{x.shape}."
        )
    return x


def _check_shapes(query: Array, key: Array, value: Array) -> None:
    batch, _, n, h = query.shape
    s, k = key.shape[1:3]
    if key.shape != (batch, s, k, h) or value.shape[:3] != (batch, s, k):
        raise ValueError(
            f"dot_product_attention: a query of shape {query.shape} needs keys and values of shape "
            f"(B, S, K, H) with B = {batch} and H = {h}, got {key.shape} and {value.shape}."
        )
    if value.shape[3] != h:
        raise ValueError(
            f"dot_product_attention: values must have {h} features as queries have, got "
            f"{value.shape}."
        )
    if n % k:
        raise ValueError(
            f"dot_product_attention: the number of heads of the query, {n}, must be a multiple of "
            f"that of the keys, {k}."
        )


def _logits(query: Array, key: Array, scale: float) -> Array:
    """Scaled products of queries and keys, of shape (B, K, T, G, S) with G = N / K.

    This is the order of a contraction's dimensions, so that the logits are not transposed.
    """
    batch, t, n, h = query.shape
    k = key.shape[2]
    # Grouped-query attention: G query heads share one key head, which is not repeated in memory.
    grouped = jnp.reshape(query, (batch, t, k, n // k, h))
    dtype = promote_types(query.dtype, np.float32)
    logits = jnp.einsum("btkgh,bskh->bktgs", grouped, key, preferred_element_type=dtype)
    return jnp.multiply(logits, exact_scalar(scale, logits.dtype))


def _of_rank_4(x: ArrayLike, name: str, full: Shape) -> Array:
    """Add leading dimensions of size 1 to a bias or mask that broadcasts to the logits.

    Raises:
      ValueError: if it has more than 4 dimensions.
      TypeError: if it does not broadcast.
    """
    array: Array = jnp.asarray(x)
    too_many = array.ndim > 4
    shape = (1,) * (4 - array.ndim) + array.shape
    if too_many or any(a not in (1, b) for a, b in zip(shape, full, strict=False)):
        raise (ValueError if too_many else TypeError)(
            f"dot_product_attention: {name} of shape {array.shape} does not broadcast to {full}."
        )
    return jnp.reshape(array, shape)


def _group_heads(x: Array, k: int) -> Array:
    """Reshape a bias or mask of rank 4 to broadcast with logits of shape (B, K, T, G, S)."""
    batch, heads, t, s = x.shape
    if heads == 1:
        return jnp.reshape(x, (batch, 1, t, 1, s))
    # Heads are numbered with the group last: head = key head · G + position in its group.
    return jnp.swapaxes(jnp.reshape(x, (batch, k, heads // k, t, s)), 2, 3)


def _position_mask(
    sizes: tuple[int, int],
    is_causal: bool,
    window: tuple[int, int] | None,
    query_lengths: ArrayLike | None,
    key_lengths: ArrayLike | None,
) -> Array | None:
    """The mask of positions by causality, window and lengths; ``None`` without any of these."""
    if not is_causal and window is None and query_lengths is None and key_lengths is None:
        return None
    t, s = (jnp.arange(n) for n in sizes)
    rows, columns = t[:, None], s[None, :]
    parts = []
    if is_causal:
        parts.append(jnp.greater_equal(rows, columns))
    if window is not None:
        left, right = window
        parts.append(jnp.less_equal(rows, jnp.add(columns, left)))
        parts.append(jnp.greater_equal(rows, jnp.subtract(columns, right)))
    parts = [part[None] for part in parts]
    if query_lengths is not None:
        parts.append(jnp.less(rows[None], jnp.asarray(query_lengths)[:, None, None]))
    if key_lengths is not None:
        parts.append(jnp.less(columns[None], jnp.asarray(key_lengths)[:, None, None]))
    result = parts[0]
    for part in parts[1:]:
        result = jnp.logical_and(result, part)
    # (B, T, S) to (B, 1, T, 1, S): equal for all heads.
    return result[:, None, :, None]
