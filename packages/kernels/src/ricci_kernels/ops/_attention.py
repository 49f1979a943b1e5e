"""Attention that does not write its logits to memory, and its gradient."""

from functools import partial
from typing import Any, Literal, overload

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp

from ._attention_gradients import backward_bias, backward_keys, backward_queries
from ._attention_kernels import OnlineSoftmax, Operands, Settings, forward
from ._matmul import accumulator
from ._targets import on_device, varying_alike

__all__ = ["flash_attention"]


type _Results = tuple[ir.Array, ir.Array]
type _Residuals = tuple[Operands, ir.Array, ir.Array]


@overload
def flash_attention(
    query: ir.ArrayLike,
    key: ir.ArrayLike,
    value: ir.ArrayLike,
    bias: ir.ArrayLike | None = None,
    mask: ir.ArrayLike | None = None,
    *,
    query_segment_ids: ir.ArrayLike | None = None,
    key_segment_ids: ir.ArrayLike | None = None,
    scale: float | None = None,
    is_causal: bool = False,
    local_window_size: int | tuple[int, int] | None = None,
    logits_soft_cap: float | None = None,
    block_sizes: tuple[int, int] | None = None,
    precision: lax.PrecisionLike = None,
    return_residual: Literal[False] = False,
    interpret: bool | None = None,
) -> ir.Array: ...


@overload
def flash_attention(
    query: ir.ArrayLike,
    key: ir.ArrayLike,
    value: ir.ArrayLike,
    bias: ir.ArrayLike | None = None,
    mask: ir.ArrayLike | None = None,
    *,
    query_segment_ids: ir.ArrayLike | None = None,
    key_segment_ids: ir.ArrayLike | None = None,
    scale: float | None = None,
    is_causal: bool = False,
    local_window_size: int | tuple[int, int] | None = None,
    logits_soft_cap: float | None = None,
    block_sizes: tuple[int, int] | None = None,
    precision: lax.PrecisionLike = None,
    return_residual: Literal[True],
    interpret: bool | None = None,
) -> tuple[ir.Array, ir.Array]: ...


@overload
def flash_attention(
    query: ir.ArrayLike,
    key: ir.ArrayLike,
    value: ir.ArrayLike,
    bias: ir.ArrayLike | None = None,
    mask: ir.ArrayLike | None = None,
    *,
    query_segment_ids: ir.ArrayLike | None = None,
    key_segment_ids: ir.ArrayLike | None = None,
    scale: float | None = None,
    is_causal: bool = False,
    local_window_size: int | tuple[int, int] | None = None,
    logits_soft_cap: float | None = None,
    block_sizes: tuple[int, int] | None = None,
    precision: lax.PrecisionLike = None,
    return_residual: bool,
    interpret: bool | None = None,
) -> ir.Array | tuple[ir.Array, ir.Array]: ...


def flash_attention(
    query: ir.ArrayLike,
    key: ir.ArrayLike,
    value: ir.ArrayLike,
    bias: ir.ArrayLike | None = None,
    mask: ir.ArrayLike | None = None,
    *,
    query_segment_ids: ir.ArrayLike | None = None,
    key_segment_ids: ir.ArrayLike | None = None,
    scale: float | None = None,
    is_causal: bool = False,
    local_window_size: int | tuple[int, int] | None = None,
    logits_soft_cap: float | None = None,
    block_sizes: tuple[int, int] | None = None,
    precision: lax.PrecisionLike = None,
    return_residual: bool = False,
    interpret: bool | None = None,
) -> ir.Array | tuple[ir.Array, ir.Array]:
    """Dot-product attention by kernels, whose memory grows linearly with the sequences.

    The sizes are B (batch), T and S (sequence lengths of queries and of keys), N and K (heads of
    queries and of keys), H (features). N must be a multiple of K. The result is that of
    ``nn.dot_product_attention``, except that it is 0 for queries without any key.

    Args:
      query: of shape (B, T, N, H).
      key, value: of shape (B, S, K, H), of the same dtype. Values may have another H.
      bias: added to the logits, of rank 4; each dimension is that of (B, N, T, S), or 1.
      mask: boolean, false where a query must not attend to a key, of such a shape.
      query_segment_ids, key_segment_ids: integers of shape (B, T) and (B, S). Queries attend only
        to keys of the same number.
      scale: the factor of the logits, by default 1 / sqrt(H).
      is_causal: whether queries attend only to keys at their own and earlier positions.
      local_window_size: the distances to the left and to the right up to which a query attends to
        keys, as a pair or as one int for both.
      logits_soft_cap: a bound ``c`` on the scaled products, ``c * tanh(x / c)``, before the bias.
      block_sizes: how many queries and keys one step takes; by default they suit the device.
      precision: of the products, see ``lax.dot_general``.
      return_residual: whether to return the ``logsumexp`` of the logits as well.
      interpret: ``True`` interprets the kernels, ``False`` compiles them; by default they are
        compiled for TPUs and NVIDIA GPUs, and interpreted elsewhere.

    Returns:
      An array of shape (B, T, N, H). With ``return_residual``, a pair of that and the residual, of
      shape (B, T, N), in float32 or float64. Both have gradients, by kernels too; there is no
      forward mode.

    Raises:
      ValueError: if shapes or dtypes do not fit.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental.pallas import ops
      >>> q, k, v = np.random.default_rng(0).standard_normal((3, 2, 16, 4, 8), np.float32)
      >>> result = ops.flash_attention(q, k, v, is_causal=True, block_sizes=(8, 8))
      >>> expected = ricci.nn.dot_product_attention(q, k, v, is_causal=True)
      >>> bool(ricci.numpy.allclose(result, expected, atol=1e-5))
      True

    Source: Dao et al., "FlashAttention", 2022; Dao, "FlashAttention-2", 2023; Rabe and Staats,
    "Self-attention does not need O(n²) memory", 2021.
    """
    q, k, v = jnp.asarray(query), jnp.asarray(key), jnp.asarray(value)
    _check(q, k, v)
    full = (q.shape[0], q.shape[2], q.shape[1], k.shape[1])
    window: Any = local_window_size
    left, right = (window, window) if window is None or isinstance(window, int) else window
    if is_causal:
        # A causal query sees no later key. A window that ends to the left of the query, with a
        # negative distance, already excludes more.
        right = 0 if right is None else min(right, 0)
    if (query_segment_ids is None) != (key_segment_ids is None):
        raise ValueError(
            "flash_attention takes query_segment_ids and key_segment_ids together: pass both."
        )
    # Kernels have a head as an axis of their grid, and its positions and features as the last two
    # dimensions of a block: those are the dimensions that devices tile.
    heads_first = lambda x: jnp.transpose(x, (0, 2, 1, 3))
    # The numbers of queries are a column and those of keys a row, so that comparing their blocks
    # gives the mask of a block of logits.
    segments = [
        None if x is None else jnp.reshape(_segments(x, name, shape), (shape[0], *order))
        for x, name, shape, order in (
            (query_segment_ids, "query_segment_ids", q.shape[:2], (-1, 1)),
            (key_segment_ids, "key_segment_ids", k.shape[:2], (1, -1)),
        )
    ]
    settings = Settings(
        max(q.shape[3], 1) ** -0.5 if scale is None else float(scale),
        logits_soft_cap,
        left,
        right,
        None if block_sizes is None else (int(block_sizes[0]), int(block_sizes[1])),
        precision,
        interpret,
    )
    mask_array = _of_full("mask", mask, full)
    arrays = [heads_first(q), heads_first(k), heads_first(v), _of_full("bias", bias, full)]
    # Booleans in a block on a TPU are int32: int8 is a quarter of that memory.
    arrays += [None if mask_array is None else mask_array.astype(np.int8), *segments]
    operands = Operands(*varying_alike(*arrays))
    out, sums = _attention(settings, operands)
    out = heads_first(out)
    return (out, jnp.transpose(sums[..., 0], (0, 2, 1))) if return_residual else out


def _check(q: ir.Array, k: ir.Array, v: ir.Array) -> None:
    shapes = f"{q.aval.str_short()}, {k.aval.str_short()} and {v.aval.str_short()}"
    if not q.ndim == k.ndim == v.ndim == 4 or not q.dtype == k.dtype == v.dtype:
        raise ValueError(
            "flash_attention takes a query, key and value of 4 dimensions and one dtype, got "
            f"{shapes}. Map over further dimensions with vmap."
        )
    fits = k.shape[:3] == v.shape[:3] and q.shape[0] == k.shape[0] and q.shape[3] == k.shape[3]
    if not fits or not k.shape[2] or q.shape[2] % k.shape[2]:
        raise ValueError(
            "flash_attention takes a query of shape (B, T, N, H) and a key and value of shape "
            f"(B, S, K, H), where N is a multiple of K, got {shapes}."
        )


def _of_full(name: str, x: ir.ArrayLike | None, full: tuple[int, ...]) -> ir.Array | None:
    """A bias or mask, whose dimensions are those of the logits or 1."""
    if x is None:
        return None
    x = jnp.asarray(x)
    if x.ndim != 4 or any(a not in (1, b) for a, b in zip(x.shape, full, strict=True)):
        raise ValueError(
            f"flash_attention: each dimension of {name} must be 1 or that of {full}, got {x.shape}."
        )
    return x


def _segments(x: ir.ArrayLike, name: str, shape: tuple[int, ...]) -> ir.Array:
    x = jnp.asarray(x)
    if x.shape != shape or not ir.issubdtype(x.dtype, np.integer):
        raise ValueError(
            f"flash_attention: {name} must be integers of shape {shape}, got {x.aval.str_short()}."
        )
    return x.astype(np.int32)


@partial(lax.custom_vjp, nondiff_argnums=(0,))
def _attention(settings: Settings, operands: Operands) -> _Results:
    query, value = operands.query, operands.value
    rows = query.shape[:3]
    if not query.size or not value.size:
        softmax = OnlineSoftmax(accumulator(query.dtype))
        # A grid without blocks is not a kernel. A query without keys has the logsumexp of one that
        # attends to none, the lowest number.
        sums = jnp.full((*rows, 1), softmax.lowest, softmax.dtype)
        return jnp.zeros((*rows, value.shape[3]), query.dtype), sums
    return on_device(partial(forward, settings), settings.interpret, operands)


def _forward(settings: Settings, operands: Operands) -> tuple[_Results, _Residuals]:
    out, sums = _attention(settings, operands)
    return (out, sums), (operands, out, sums)


def _backward(settings: Settings, residuals: _Residuals, cts: _Results) -> tuple[Operands]:
    operands, out, sums = residuals
    d_out, d_sums = cts
    if not operands.query.size or not operands.value.size:
        floats = [None if x is None else jnp.zeros_like(x) for x in operands[:4]]
        return (Operands(*floats),)
    # The cotangent of a softmax is w (dw − Σ w dw) for weights w. Here dw = ⟨d_out, value⟩, so that
    # the sum over keys is ⟨d_out, out⟩: one number for each query, without a pass over keys. The
    # derivative of logsumexp by a logit is w, too, so that its cotangent is a part of the same
    # number.
    wide = sums.dtype
    products = d_out.astype(wide) * out.astype(wide)
    deltas = jnp.sum(products, -1, keepdims=True) - d_sums
    call = lambda function: on_device(
        partial(function, settings), settings.interpret, operands, d_out, sums, deltas
    )
    d_key, d_value = call(backward_keys)
    d_bias = None if operands.bias is None else call(backward_bias)
    return (Operands(call(backward_queries), d_key, d_value, d_bias),)


_attention.defvjp(_forward, _backward)
