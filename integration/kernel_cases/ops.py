"""Ready-made kernels (``pallas.ops``) with their gradients, each with the types of its operands.

``OPS`` has realistic sizes, to be compiled; ``SMALL`` small ones, to be evaluated.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import ricci
import ricci.numpy as jnp
from ricci import ShapeDtypeStruct
from ricci.experimental.pallas import ops

type Case = tuple[Callable[..., Any], tuple[Any, ...]]

F32, BF16 = np.float32, jnp.bfloat16


def array(*shape: int, dtype: Any = F32) -> Any:
    return ShapeDtypeStruct(shape, dtype)


def with_gradients(function: Callable[..., Any], *operands: Any, integers: int = 0) -> Case:
    """The result of a function, and its gradients by all operands but the last, integers.

    Options are passed on to the function.
    """
    places = tuple(range(len(operands) - integers))

    def both(*xs: Any, **options: Any) -> Any:
        def total(*ys: Any) -> Any:
            out = function(*ys, **options)
            return (out.astype(F32) ** 2).sum(), out

        (_, out), gradients = ricci.value_and_grad(total, places, has_aux=True)(*xs)
        return out, gradients

    return both, operands


def attention_operands(
    b: int, t: int, s: int, n: int, k: int, h: int, dtype: Any
) -> tuple[Any, ...]:
    return (array(b, t, n, h, dtype=dtype), *[array(b, s, k, h, dtype=dtype)] * 2)


def attention(*operands: Any, **options: Any) -> Case:
    return with_gradients(partial(ops.flash_attention, **options), *operands)


def masked_attention(b: int, t: int, heads: int, h: int, dtype: Any, **options: Any) -> Case:
    """Attention with a bias, a mask and segments."""

    def function(q: Any, k: Any, v: Any, bias: Any, mask: Any, segments: Any, **more: Any) -> Any:
        ids = {"query_segment_ids": segments, "key_segment_ids": segments}
        return ops.flash_attention(q, k, v, bias, mask > 0, **ids, **options, **more)

    operands = attention_operands(b, t, t, heads, heads // 2, h, dtype)
    integers = array(b, 1, t, t, dtype=np.int32), array(b, t, dtype=np.int32)
    return with_gradients(function, *operands, array(1, heads, t, t), *integers, integers=2)


def paged(pages: int, page: int, heads: int, h: int, dtype: Any) -> Case:
    cache = array(2, pages, page, h, dtype=dtype)
    integers = array(4, dtype=np.int32), array(4, 4, dtype=np.int32)
    call = partial(ops.paged_attention, logits_soft_cap=30.0)
    return call, (array(4, heads, h, dtype=dtype), cache, cache, *integers)


def grouped(m: int, k: int, n: int, dtype: Any, **options: Any) -> Case:
    operands = array(m, k, dtype=dtype), array(4, k, n, dtype=dtype), array(4, dtype=np.int32)
    return with_gradients(partial(ops.grouped_matmul, **options), *operands, integers=1)


def batched(function: Callable[..., Any], operands: tuple[Any, ...]) -> Case:
    """A batch of three, over all operands."""
    return ricci.vmap(function), tuple([array(3, *x.shape, dtype=x.dtype) for x in operands])


def rows(function: Any, m: int, n: int, dtype: Any, vectors: int) -> Case:
    return with_gradients(function, array(m, n, dtype=dtype), *[array(n)] * vectors)


OPS: dict[str, Case] = {
    "flash attention": attention(*attention_operands(2, 1024, 1024, 4, 2, 128, BF16)),
    "flash attention, causal": attention(
        *attention_operands(1, 1024, 1024, 4, 4, 64, BF16), is_causal=True
    ),
    "flash attention, odd sizes": attention(
        *attention_operands(1, 1000, 900, 4, 2, 80, F32),
        local_window_size=(256, 0),
        logits_soft_cap=20.0,
    ),
    "flash attention, bias, mask, segments": masked_attention(2, 700, 4, 64, BF16),
    "paged attention": paged(64, 16, 16, 128, BF16),
    "matmul": with_gradients(ops.matmul, *[array(1024, 1024, dtype=BF16)] * 2),
    "matmul, odd sizes": with_gradients(ops.matmul, array(1000, 700), array(700, 600)),
    "grouped matmul": grouped(2048, 1024, 768, BF16),
    "grouped matmul, odd sizes": grouped(1000, 500, 700, F32),
    "vmap of grouped matmul": batched(*grouped(512, 256, 256, F32)),
    "vmap of paged attention": batched(*paged(64, 16, 16, 128, BF16)),
    "layer norm": rows(ops.layer_norm, 512, 4096, F32, 2),
    "layer norm, odd sizes": rows(ops.layer_norm, 300, 1000, BF16, 2),
    "RMS norm": rows(ops.rms_norm, 4096, 1024, BF16, 1),
    "softmax": rows(ops.softmax, 300, 1000, BF16, 0),
}

SMALL: dict[str, Case] = {
    "flash attention": attention(
        *attention_operands(1, 24, 200, 4, 2, 16, F32),
        local_window_size=(8, 100),
        logits_soft_cap=2.0,
        block_sizes=(16, 128),
    ),
    "flash attention, bias, mask, segments": masked_attention(
        1, 150, 2, 16, F32, block_sizes=(64, 128)
    ),
    "paged attention": paged(6, 16, 4, 16, F32),
    "matmul": with_gradients(
        partial(ops.matmul, block_sizes=(128, 128, 128)), array(200, 150), array(150, 130)
    ),
    "grouped matmul": grouped(60, 40, 130, F32, block_sizes=(16, 128, 128)),
    "layer norm": rows(partial(ops.layer_norm, block_rows=8), 20, 40, F32, 2),
    "softmax": rows(partial(ops.softmax, block_rows=8), 20, 40, BF16, 0),
}
