"""Ready-made kernels under JAX's names: its layouts of operands, factors and residuals."""

from functools import partial

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax.experimental.pallas.ops.gpu import attention, layer_norm, rms_norm, softmax
from jax.experimental.pallas.ops.tpu import flash_attention, matmul, megablox, paged_attention

RANDOM = np.random.default_rng(0)
CAUSAL = np.tri(8, dtype=bool)


def normal(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def logits(q, k):
    return np.where(CAUSAL, np.einsum("bnth,bnsh->bnts", q, k) * 0.5, -np.inf)


close = partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-5)


def test_attention_for_tpus_has_heads_before_positions_and_scales_the_bias():
    q, k, v, bias = normal(1, 2, 8, 4), normal(1, 2, 8, 4), normal(1, 2, 8, 4), normal(1, 2, 8, 8)
    ids = flash_attention.SegmentIds(*[np.zeros((1, 8), np.int32)] * 2)
    sizes = flash_attention.BlockSizes(block_q=8, block_k_major=8, block_k=8, block_b=1)
    out = flash_attention.flash_attention(
        q, k, v, bias, ids, causal=True, sm_scale=0.5, block_sizes=sizes
    )
    close(out, jax.nn.softmax(logits(q, k) + bias * 0.5) @ v)


def test_attention_for_gpus_has_residuals_to_the_base_two():
    q, k, v = normal(3, 1, 2, 8, 4)
    swap = lambda x: np.swapaxes(x, 1, 2)
    out, sums = attention.mha(
        swap(q), swap(k), swap(v), None, 0.5, True, return_residuals=True, num_warps=4
    )
    close(out, swap(jax.nn.softmax(logits(q, k)) @ v))
    close(sums, jax.nn.logsumexp(logits(q, k), axis=-1) / np.log(2))


def test_products_take_jax_s_tiles():
    x, y, groups = normal(8, 6), normal(6, 4), np.array([5, 3], np.int32)
    close(matmul.matmul(x, y, block_shape=(8, 4), block_k=6), x @ y)
    stack = np.stack([y, 2 * y])
    expected = np.concatenate([x[:5] @ y, 2 * x[5:] @ y])
    close(megablox.gmm(x, stack, groups), expected)
    turned = np.swapaxes(stack, 1, 2)
    close(megablox.gmm(x, turned, groups, tiling=lambda *_: None, transpose_rhs=True), expected)
    with pytest.raises(NotImplementedError, match="existing_out"):
        megablox.gmm(x, stack, groups, existing_out=expected)


def test_rows_are_normalized():
    x, weight, bias = normal(4, 8), normal(8), normal(8)
    centered = x - x.mean(1, keepdims=True)
    close(
        layer_norm.layer_norm(x, weight, bias),
        centered / np.sqrt(x.var(1, keepdims=True) + 1e-5) * weight + bias,
    )
    unit = x / np.sqrt((x**2).mean(1, keepdims=True) + 1e-5)
    close(rms_norm.rms_norm(x, weight, bias, interpret=True), unit * weight + bias)
    close(softmax.softmax(x, axis=0, num_warps=2), jax.nn.softmax(x, axis=0))


def test_queries_of_paged_attention_are_scaled_already():
    pages = normal(1, 3, 4, 8)
    query, table = normal(1, 1, 8), np.array([[2, 0]], np.int32)
    out = paged_attention.paged_attention(
        query, pages, pages, np.array([6], np.int32), table, pages_per_compute_block=1
    )
    keys = jnp.concatenate([pages[0, 2], pages[0, 0, :2]])
    close(out[0], jax.nn.softmax(query[0] @ keys.T) @ keys)
