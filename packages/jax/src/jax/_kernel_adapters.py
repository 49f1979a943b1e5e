"""Ready-made kernels under the names and signatures of JAX's own: ``jax.experimental.pallas.ops``.

The kernels are those of ``ricci_kernels.ops``, which run on all devices. Parameters that tune JAX's
kernels for one kind of device are of no effect.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import ricci
from ricci import Array
from ricci.typing import ArrayLike, DTypeLike
from ricci_kernels import ops

# Finite, so that the difference of two masked scores is 0, and not NaN.
DEFAULT_MASK_VALUE: float = -0.7 * 3.4028234663852886e38

type Tiling = tuple[int, int, int] | Callable[..., tuple[int, int, int] | None] | None


@dataclass(frozen=True)
class BlockSizes:
    """The sizes of blocks of attention on GPUs; ``block_q`` and ``block_k`` are of effect."""

    block_q: int
    block_k: int
    block_q_dkv: int | None = None
    block_kv_dkv: int | None = None
    block_q_dq: int | None = None
    block_kv_dq: int | None = None


@dataclass(frozen=True)
class BlockSizesOfTPU:
    """The sizes of blocks of attention on TPUs; ``block_q`` and ``block_k`` are of effect."""

    block_q: int
    block_k_major: int
    block_k: int
    block_b: int
    block_q_major_dkv: int | None = None
    block_k_major_dkv: int | None = None
    block_k_dkv: int | None = None
    block_q_dkv: int | None = None
    block_k_major_dq: int | None = None
    block_k_dq: int | None = None
    block_q_dq: int | None = None


class SegmentIds(NamedTuple):
    """The numbers of the segments of queries and of keys, of shape (batch, length)."""

    q: Any
    kv: Any


def flash_attention(
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    ab: ArrayLike | None = None,
    segment_ids: SegmentIds | None = None,
    *,
    causal: bool = False,
    sm_scale: float = 1.0,
    block_sizes: BlockSizesOfTPU | None = None,
    debug: bool = False,
) -> Array:
    """Attention by ``ops.flash_attention``, of arrays with heads before positions.

    Args:
      q, k, v: of shape (batch, heads, length, features).
      ab: a bias, added to the products before they are scaled.
      segment_ids: queries attend only to keys of the same number.
      causal: whether queries attend only to their own and earlier positions.
      sm_scale: the factor of the products of queries and keys.
      block_sizes: see ``BlockSizesOfTPU``.
      debug: of no effect.
    """
    del debug
    swap = lambda x: ricci.numpy.swapaxes(x, 1, 2)
    sizes = block_sizes and (block_sizes.block_q, block_sizes.block_k)
    out = ops.flash_attention(
        swap(q),
        swap(k),
        swap(v),
        None if ab is None else ab * sm_scale,
        query_segment_ids=segment_ids and segment_ids.q,
        key_segment_ids=segment_ids and segment_ids.kv,
        scale=sm_scale,
        is_causal=causal,
        block_sizes=sizes,
    )
    return swap(out)


def mha(
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    segment_ids: ArrayLike | None,
    sm_scale: float = 1.0,
    causal: bool = False,
    block_sizes: BlockSizes | None = None,
    interpret: bool = False,
    return_residuals: bool = False,
    **tuning: object,
) -> Array | tuple[Array, Array]:
    """Attention by ``ops.flash_attention``, of arrays with positions before heads.

    Args:
      q, k, v: of shape (batch, length, heads, features).
      segment_ids: of queries and keys, of shape (batch, length).
      sm_scale, causal: see ``flash_attention``.
      block_sizes: see ``BlockSizes``.
      interpret: whether to interpret the kernels on all devices.
      return_residuals: whether to return the ``logsumexp`` of the logits to the base 2, too.
      tuning: of no effect.
    """
    del tuning
    result = ops.flash_attention(
        q,
        k,
        v,
        query_segment_ids=segment_ids,
        key_segment_ids=segment_ids,
        scale=sm_scale,
        is_causal=causal,
        block_sizes=block_sizes and (block_sizes.block_q, block_sizes.block_k),
        interpret=interpret or None,
        return_residual=return_residuals,
    )
    if not return_residuals:
        return result
    return result[0], ricci.numpy.swapaxes(result[1], 1, 2) * math.log2(math.e)


def softmax(x: ArrayLike, *, axis: int = -1, interpret: bool = False, **tuning: object) -> Array:
    """Softmax by ``ops.softmax``.

    Args:
      x: an array of floats.
      axis: the axis.
      interpret: whether to interpret the kernel on all devices.
      tuning: of no effect.
    """
    del tuning
    return ops.softmax(x, axis=axis, interpret=interpret or None)


def layer_norm(
    x: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike,
    num_warps: int | None = None,
    num_stages: int | None = 3,
    eps: float = 1e-5,
    backward_pass_impl: str = "triton",
    interpret: bool = False,
) -> Array:
    """Layer norm by ``ops.layer_norm``.

    Args:
      x: an array of shape (..., n).
      weight, bias: of shape (n,).
      eps: added to the variance.
      interpret: whether to interpret the kernel on all devices.
      num_warps, num_stages, backward_pass_impl: of no effect.
    """
    return ops.layer_norm(x, weight, bias, eps=eps, interpret=interpret or None)


def rms_norm(
    x: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike,
    num_warps: int | None = None,
    num_stages: int | None = 3,
    eps: float = 1e-5,
    backward_pass_impl: str = "triton",
    interpret: bool = False,
) -> Array:
    """RMS norm by ``ops.rms_norm``; the arguments are those of ``layer_norm``."""
    return ops.rms_norm(x, weight, bias, eps=eps, interpret=interpret or None)


def matmul(
    x: ArrayLike,
    y: ArrayLike,
    *,
    block_shape: tuple[int, int],
    block_k: int = 256,
    out_dtype: DTypeLike | None = None,
    debug: bool = False,
) -> Array:
    """The product of two matrices by ``ops.matmul``.

    Args:
      x, y: the matrices.
      block_shape: of a tile of the result.
      block_k: how much of the contracted dimension one step adds.
      out_dtype: of the result.
      debug: of no effect.
    """
    del debug
    return ops.matmul(x, y, block_sizes=(*block_shape, block_k), preferred_element_type=out_dtype)


def gmm(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    preferred_element_type: DTypeLike = ricci.numpy.float32,
    tiling: Tiling = (128, 128, 128),
    group_offset: ArrayLike | None = None,
    existing_out: ArrayLike | None = None,
    transpose_rhs: bool = False,
    interpret: bool = False,
) -> Array:
    """The products of groups of rows by ``ops.grouped_matmul``.

    Args:
      lhs: of shape (m, k).
      rhs: of shape (groups, k, n).
      group_sizes: of shape (groups,).
      preferred_element_type: of the result.
      tiling: the sizes of blocks of m, k and n, or a function of these.
      group_offset, existing_out: not supported.
      transpose_rhs: whether ``rhs`` is of shape (groups, n, k).
      interpret: whether to interpret the kernel on all devices.

    Raises:
      NotImplementedError: for ``group_offset`` or ``existing_out``.
    """
    if group_offset is not None or existing_out is not None:
        raise NotImplementedError(
            "gmm: group_offset and existing_out are not supported. Multiply the groups that are "
            "there, and add or select the other rows with jnp.where."
        )
    if transpose_rhs:
        rhs = ricci.numpy.swapaxes(rhs, 1, 2)
    shape = (*ricci.numpy.shape(lhs), ricci.numpy.shape(rhs)[2])
    tiles = tiling(*shape) if callable(tiling) else tiling
    return ops.grouped_matmul(
        lhs,
        rhs,
        group_sizes,
        block_sizes=None if tiles is None else (tiles[0], tiles[2], tiles[1]),
        preferred_element_type=preferred_element_type,
        interpret=interpret or None,
    )


def paged_attention(
    q: ArrayLike,
    k_pages: ArrayLike,
    v_pages: ArrayLike,
    lengths: ArrayLike,
    page_indices: ArrayLike,
    *,
    attn_logits_soft_cap: float | None = None,
    **tuning: object,
) -> Array:
    """Attention to pages of a cache by ``ops.paged_attention``; queries are scaled already.

    Args:
      q: of shape (batch, heads, features).
      k_pages, v_pages: of shape (key heads, pages, page size, features).
      lengths: of shape (batch,).
      page_indices: of shape (batch, pages of a sequence).
      attn_logits_soft_cap: a bound on the products of queries and keys.
      tuning: of no effect.
    """
    del tuning
    return ops.paged_attention(
        q, k_pages, v_pages, lengths, page_indices, scale=1.0, logits_soft_cap=attn_logits_soft_cap
    )
