"""Tokamax's kernels, interpreted, with their gradients, beside its implementations by XLA.

A case has the results of a kernel, and of the same operation by XLA.
"""

import contextlib
from functools import partial
from importlib import import_module
from unittest import mock

import numpy as np
from tokamax._src.ops.op import Op

import jax
import jax._src.lax.lax  # tokamax looks the module up in sys.modules
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.sharding import AbstractDevice, AbstractMesh, use_abstract_mesh

# The figures of this device determine sizes of blocks.
DEVICE = AbstractMesh((), (), abstract_device=AbstractDevice("TPU v5e", 1, "tpu"))
NEWER_DEVICE = AbstractMesh((), (), abstract_device=AbstractDevice("TPU7x", 1, "tpu"))
SIZES = jnp.array([100, 0, 56, 100], "int32")


def normal(seed, *shape):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), "float32")


def module(name):
    """A module of tokamax's operations, which are to run on all devices."""
    loaded = import_module(f"tokamax._src.ops.{name}")
    for operation in vars(loaded).values():
        if isinstance(operation, type) and issubclass(operation, Op):
            operation.supported_on = lambda self, device: True
    return loaded


def slopes(f, *args):
    total = lambda *args: jnp.sum(jnp.sin(f(*args).astype("float32")))
    return jax.jit(jax.grad(total, argnums=tuple(range(len(args)))))(*args)


def both(kernel, by_xla, args, gradients=False):
    run = slopes if gradients else lambda f, *args: f(*args)
    return run(kernel, *args), run(by_xla, *args)


# The kernels for GPUs have no option for it.
def interpreted():
    return mock.patch.object(pl, "pallas_call", partial(pl.pallas_call, interpret=True))


@contextlib.contextmanager
def on_tpu(device=DEVICE):
    with pltpu.force_tpu_interpret_mode(), use_abstract_mesh(device):
        yield


def attention(gradients=False, **options):
    triton, base = module("attention.pallas_triton"), module("attention.base")
    backward = module("attention.pallas_triton_vjp")
    stages = {"num_stages": 2, "num_warps": 4}
    sizes = backward.Config(block_m1=32, block_n1=32, block_m2=32, block_n2=32, **stages)
    operation = triton.PallasTritonFlashAttention(
        config=triton.Config(block_q=32, block_k=32, **stages),
        vjp=backward.PallasTritonFlashAttentionVjp(config=sizes),
    )
    args = normal(1, 2, 64, 4, 32), normal(2, 2, 64, 2, 32), normal(3, 2, 64, 2, 32)
    by_xla = partial(base.DotProductAttention(), **options)
    with interpreted():
        return both(partial(operation, **options), by_xla, args, gradients)


def ragged(gradients=False):
    operation = module("ragged_dot.pallas_mosaic_tpu").PallasMosaicTpuRaggedDot(interpret=True)
    kernel = lambda x, w: operation(x, w, group_sizes=SIZES)
    by_xla = lambda x, w: jax.lax.ragged_dot(x, w, SIZES)
    with use_abstract_mesh(DEVICE):
        return both(kernel, by_xla, (normal(1, 256, 128), normal(2, 4, 128, 128)), gradients)


def grouped(bias=False, activation=None):
    """A grouped product by a pipeline over pytrees of references, by blocks of bounded size."""
    kernel = module("gmm_v2.gmm_v2").gmm_v2
    sizes = jnp.array([20, 14, 30], "int32")
    x, w = normal(1, 64, 256), normal(2, 3, 256, 512) * 0.1
    biases = normal(3, 3, 1, 512) if bias else None
    expected = jax.lax.ragged_dot(x, w, sizes)
    if bias:
        expected += jnp.repeat(biases[:, 0], sizes, axis=0, total_repeat_length=64)
    if activation:
        gate, up = jnp.split(expected, 2, -1)
        expected = jax.nn.silu(gate) * up
    with on_tpu(NEWER_DEVICE):
        return kernel(x, w, sizes, rhs_bias=biases, fuse_act=activation), expected


def grouped_transposed():
    kernel = module("gmm_v2.tgmm_v2").tgmm_v2
    x, y = normal(1, 64, 256), normal(2, 64, 256)
    ends = ((0, 20), (20, 34), (34, 64))
    sizes = jnp.array([b - a for a, b in ends], "int32")
    with on_tpu(NEWER_DEVICE):
        result = kernel(x, y, sizes, 3, preferred_element_type=jnp.float32)
    return result, jnp.stack([x[a:b].T @ y[a:b] for a, b in ends])


def ragged_by_pipeline():
    operation = module("ragged_dot.pallas_mosaic_tpu_v2").PallasMosaicTpuV2RaggedDot()
    x, w, sizes = normal(1, 64, 256), normal(2, 3, 256, 256), jnp.array([20, 14, 30], "int32")
    with on_tpu(NEWER_DEVICE):
        return operation(x, w, group_sizes=sizes), jax.lax.ragged_dot(x, w, sizes)


def quantized_product():
    """A product of values that are quantized to 8 bits in the kernel."""
    folder = "experimental.fused_fp8_matmul"
    kernels, base = module(f"{folder}.pallas_mosaic_tpu"), module(f"{folder}.base")
    config = kernels.Config(block_m=128, block_k=512, block_n=128)
    args = module(f"{folder}.test_base").random_inputs(256, 512, 256, jnp.bfloat16)
    with on_tpu(NEWER_DEVICE):
        result = kernels.PallasMosaicTpuFusedFp8Matmul(config=config)(*args)
    return result, base.fused_fp8_matmul_reference(*args)[0]


def paged_attention():
    """Attention over pages, of which it copies parts of traced sizes."""
    by_xla, kernel = module("batched_rpa.base"), module("batched_rpa.pallas_mosaic_tpu")
    values = [normal(i, 4, heads, 128).astype("bfloat16") for i, heads in ((1, 4), (2, 2), (3, 2))]
    names = "queries keys values".split()
    operands = dict(zip(names, values, strict=True)) | {
        "kv_cache": normal(4, 4, 128, 4, 128).astype("bfloat16"),
        "kv_lens": jnp.full(4, 128, "int32"),
        "page_indices": jnp.arange(4, dtype="int32"),
        "cu_q_lens": jnp.arange(5, dtype="int32"),
        "distribution": jnp.array([4, 4, 4], "int32"),
    }
    expected, _ = by_xla.BatchedRpa()(**operands)
    with on_tpu(NEWER_DEVICE):
        result, _ = jax.jit(kernel.PallasTpuBatchedRpa())(**operands)
    return result, expected


def latent_attention(*lengths):
    """Attention over pages of latent keys, by scalars that steps write for later ones.

    Args:
      lengths: the numbers of queries and keys of each sequence.
    """
    folder = "experimental.mla"
    kernel, reference = module(f"{folder}.pallas_mosaic_tpu_kernel"), module(f"{folder}.reference")
    bf16 = jnp.bfloat16
    inputs = partial(
        module(f"{folder}.utils").generate_mla_inputs, lengths, 4, 128, 64, 16, bf16, bf16, 8
    )
    expected = reference.mla_attention(*inputs(rng=np.random.default_rng(0)))
    with on_tpu(NEWER_DEVICE):
        result = kernel.mla_ragged_paged_attention(
            *inputs(rng=np.random.default_rng(0)),
            num_kv_pages_per_block=2,
            num_queries_per_block=4,
            vmem_limit_bytes=64 << 20,
            s_dtype=jnp.float32,
        )
    return result, expected


def gated_convolution():
    """A causal convolution and a gated delta rule, one step of four sequences."""
    folder, heads, dim, width, count = "causal_conv1d_gated_delta_rule", 2, 128, 4, 4
    kernel, by_xla = module(f"{folder}.pallas_mosaic_tpu"), module(f"{folder}.base")
    operands = {
        "qkv": normal(1, count, 512),
        "b": normal(2, count, heads),
        "a": normal(3, count, heads),
        "conv_state": normal(4, count + 1, width - 1, 512),
        "recurrent_state": normal(5, count + 1, heads, dim, dim) * 0.1,
        "conv_weight": normal(6, 512, 1, width),
        "conv_bias": normal(7, 512),
        "a_log": normal(8, heads),
        "dt_bias": normal(9, heads),
        "query_start_loc": jnp.arange(count + 1, dtype="int32"),
        "state_indices": jnp.arange(1, count + 1, dtype="int32"),
        "distribution": jnp.full(3, count, "int32"),
        "seq_lens": jnp.full(count, 6, "int32"),
    }
    sizes = {"n_kq": 1, "n_v": heads, "d_k": dim, "d_v": dim, "kernel_size": width}
    expected = by_xla.CausalConv1dGatedDeltaRule()(**operands, **sizes)
    operation = kernel.PallasMosaicTpuCausalConv1dGatedDeltaRule()
    with on_tpu(NEWER_DEVICE):
        return jax.jit(lambda operands: operation(**operands, **sizes))(operands), expected


def router():
    scores = normal(1, 32, 64)
    select = module("router_topk.pallas_mosaic_tpu_kernel").select
    return select(scores, 4, interpret=True, block_rows=8), jax.lax.top_k(scores, 4)


def router_of_experts():
    scores = normal(1, 32, 64)
    select = module("experimental.fused_moe.router_ops").pallas_select
    return select(scores, 4, 8, interpret=True), jax.lax.top_k(scores, 4)


def splash(mask, gradients=False):
    kernels = module("experimental.tpu.splash_attention.splash_attention_kernel")
    masks = module("experimental.tpu.splash_attention.splash_attention_mask")
    names = "block_q block_kv block_kv_compute block_q_dkv block_kv_dkv block_kv_dkv_compute"
    sizes = dict.fromkeys(names.split(), 128)
    config = kernels.SplashConfig(**sizes, use_base2_exp=False, interpret=True)
    selected = mask(masks)
    dense = jnp.asarray(np.asarray(selected[:, :]))

    def by_xla(q, k, v):
        logits = jnp.where(dense, jnp.einsum("hqd,hkd->hqk", q, k), -1e30)
        return jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(logits), v)

    args = normal(1, 2, 256, 128) * 0.1, normal(2, 2, 256, 128), normal(3, 2, 256, 128)
    kernel = kernels.make_splash_mha_single_device(selected, config=config)
    return both(kernel, by_xla, args, gradients)


def loss(gradients=False):
    name = "LinearSoftmaxCrossEntropyLoss"
    folder = "linear_softmax_cross_entropy_loss"
    kernel = getattr(module(f"{folder}.pallas_mosaic_tpu"), f"PallasMosaicTpu{name}")()
    by_xla = getattr(module(f"{folder}.base"), name)()
    labels = jnp.arange(1024, dtype="int32") * 7 % 1024
    applied = lambda f: lambda x, w: f(x, labels, w, reduction="sum")
    with on_tpu():
        args = normal(1, 1024, 256), normal(2, 256, 1024) * 0.1
        return both(applied(kernel), applied(by_xla), args, gradients)


def streams(name, make, by_xla, gated):
    """A step of hyper-connections, whose values are bfloat16."""
    kernels, reference = module("mhc.pallas_mosaic_tpu"), module("mhc.reference")
    inputs = module("mhc.test_base")
    args = [*getattr(inputs, make)(6, 32, 256), *(inputs.gate_constants() if gated else ())]
    operation = getattr(kernels, name)(config=kernels.Config(token_block_size=16))
    with on_tpu():
        return operation(*args), getattr(reference, by_xla)(*args)


def positions_and_angles(count=32):
    angles = normal(8, 64, 64)
    return jnp.asarray(np.random.default_rng(7).integers(0, 64, count), "int32"), angles


def rotary(name, inverse=False):
    """Rotary embeddings, whose angles a subclass of BufferedRef gathers."""
    kernels = module("deepseek_rope.pallas_mosaic_tpu_kernel")
    by_xla = module("deepseek_rope.deepseek_rope_test").rope_ref_impl
    x = normal(1, 32, 4, 128)
    positions, angles = positions_and_angles()
    expected = x
    if name == "qnorm_rope":
        expected = x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)
    expected = by_xla(expected, positions, angles, inverse)
    with on_tpu(NEWER_DEVICE):
        result = getattr(kernels, name)(x, positions, angles, inverse=inverse, tile_n=8)
    if name == "rope_quant":
        values, scales = result
        # Within the rounding of 8 bits.
        result = values.astype("float32") * scales[..., None]
        return result, jnp.where(jnp.abs(result - expected) < 0.3, result, expected)
    return result, expected


def projection():
    """A grouped projection of rotated heads."""
    kernels = module("grouped_lowrank_proj.pallas_mosaic_tpu_kernel")
    rotated = module("deepseek_rope.deepseek_rope_test").rope_ref_impl
    x, weights = normal(1, 16, 16, 128).astype("bfloat16"), normal(2, 1024, 256) * 0.1
    positions, angles = positions_and_angles(16)
    weights, scales = weights.astype("float8_e4m3fn"), jnp.ones(256, "float32")
    with on_tpu(NEWER_DEVICE):
        result = kernels.fused_reverse_rope_wo_a_projection(
            x, positions, angles, weights, scales, head_dim=128, quantize_activations=False
        )
    parts = rotated(x, positions, angles, inverse=True).reshape(16, 2, 1024).astype("float32")
    weights = weights.astype("float32").reshape(1024, 2, 128)
    return result, jnp.einsum("tgd,dgr->tgr", parts, weights).reshape(16, 256).astype("bfloat16")


def compressor(case):
    """A cache of compressed keys, which JAX's interpreter refuses to write by bytes."""
    inputs_of = module("dsv4_compressor.test_base")
    kernel = module("dsv4_compressor.pallas_mosaic_tpu").PallasTpuDsv4Compressor()
    inputs = inputs_of.make_case_inputs(case)
    copies = inputs.with_cache_copies()
    with on_tpu(NEWER_DEVICE):
        result = kernel(*copies.args, **copies.kwargs)
    inputs_of.assert_matches_reference(inputs, result)
    return result


def delta_attention():
    """Kimi delta attention, and its last state."""
    inputs_of = module("kda.base_test")
    module("kda.pallas_mosaic_tpu")
    operation = module("kda.api").kimi_delta_attention
    sizes = {"heads": 2, "batch": 1, "seq_len": 128, "key_dim": 128, "value_dim": 128}
    q, k, v, gates, beta, state = inputs_of._make_inputs(jnp.float32, **sizes)
    q, k = inputs_of._l2_normalize(q), inputs_of._l2_normalize(k)
    options = {"output_final_state": True, "use_gate_in_kernel": False}
    run = lambda by: operation(
        q, k, v, gates, beta, initial_state=0.1 * state, implementation=by, **options
    )
    expected = run("xla")
    with on_tpu(NEWER_DEVICE):
        return run("mosaic"), expected


CASES = {
    "attention for GPUs": attention,
    "attention for GPUs, causal": lambda: attention(is_causal=True),
    "attention for GPUs, soft cap": lambda: attention(logits_soft_cap=5.0),
    "attention for GPUs, gradients": lambda: attention(True),
    "splash attention, causal": lambda: splash(lambda m: m.CausalMask((256, 256))),
    "splash attention, local": lambda: splash(lambda m: m.LocalMask((256, 256), (64, 32), 0)),
    "splash attention, full": lambda: splash(lambda m: m.FullMask((256, 256))),
    "splash attention, gradients": lambda: splash(lambda m: m.CausalMask((256, 256)), True),
    "ragged product": ragged,
    "ragged product, gradients": lambda: ragged(True),
    "grouped product": grouped,
    "grouped product, bias": lambda: grouped(bias=True),
    "grouped product, activation": lambda: grouped(activation="silu"),
    "grouped product, transposed": grouped_transposed,
    "ragged product by a pipeline": ragged_by_pipeline,
    "product of quantized values": quantized_product,
    "paged attention": paged_attention,
    "latent attention, decoding": lambda: latent_attention((1, 40), (1, 24)),
    "latent attention, prefilling": lambda: latent_attention((8, 40), (8, 24)),
    "gated convolution, decoding": gated_convolution,
    "router": router,
    "router of experts": router_of_experts,
    "loss": loss,
    "loss, gradients": lambda: loss(True),
    "hyper-connections, before": lambda: streams(
        "PallasTpuMhcPre", "make_pre_inputs", "mhc_pre", True
    ),
    "hyper-connections, after": lambda: streams(
        "PallasTpuMhcPost", "make_post_inputs", "mhc_post", False
    ),
    "hyper-connections, fused": lambda: streams(
        "PallasTpuMhcFusedPostPre", "make_fused_inputs", "mhc_fused_post_pre", True
    ),
    "rotary embedding": lambda: rotary("rope"),
    "rotary embedding, inverse": lambda: rotary("rope", True),
    "rotary embedding of normalized heads": lambda: rotary("qnorm_rope"),
    "rotary embedding, quantized": lambda: rotary("rope_quant"),
    "projection of rotated heads": projection,
    "delta attention": delta_attention,
    "compressor, decoding": lambda: compressor("csa_decode_batch_mixed"),
    "compressor of long windows": lambda: compressor("hca_decode_batch_mixed"),
    "compressor with an indexer": lambda: compressor("csa_indexer_decode"),
}
