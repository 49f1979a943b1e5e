"""JAX's own kernels, executed from the files of its wheel: interpreted, with their gradients.

`JAX_KERNELS` is the folder `jax/experimental/pallas/ops` of a wheel.
"""

import importlib.util
import os
import sys
from functools import partial
from pathlib import Path

import numpy as np

import jax
import jax.experimental.pallas
import jax.numpy as jnp
from jax.experimental.pallas import tpu as pltpu
from jax.sharding import AbstractDevice, AbstractMesh, use_abstract_mesh

FOLDER = Path(os.environ["JAX_KERNELS"])
PACKAGE = "jax.experimental.pallas.ops"


class WheelFinder:
    """Finder of JAX's kernels in the folder."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if not f"{name}.".startswith(f"{PACKAGE}."):
            return None
        place = FOLDER.joinpath(*name.split(".")[4:])
        if not place.is_dir():
            return importlib.util.spec_from_file_location(name, place.with_suffix(".py"))
        return importlib.util.spec_from_file_location(
            name, place / "__init__.py", submodule_search_locations=[str(place)]
        )


sys.meta_path.insert(0, WheelFinder)


def module(name):
    loaded = importlib.import_module(f"{PACKAGE}.{name}")
    assert loaded.__file__.startswith(str(FOLDER)), "the drop-in's own adapter was imported"
    return loaded


def normal(seed, *shape):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), "float32")


def slopes(f, *args):
    total = lambda *args: jnp.sum(jnp.sin(f(*args)))
    return jax.jit(jax.grad(total, argnums=tuple(range(len(args)))))(*args)


def on_tpu(f):
    with pltpu.force_tpu_interpret_mode():
        return f()


QUERY, KEY, VALUE = normal(1, 1, 2, 256, 128), normal(2, 1, 2, 256, 128), normal(3, 1, 2, 256, 128)
BIAS = normal(4, 1, 2, 256, 256)
SEGMENTS = jnp.asarray(np.repeat([0, 1], 128)[None], "int32")
ROWS, EXPERTS = normal(5, 256, 128), normal(6, 4, 128, 128)
SIZES = jnp.array([100, 0, 56, 100], "int32")
LENGTHS = jnp.array([37, 64], "int32")
PAGES = jnp.arange(16, dtype="int32").reshape(2, 8)[:, ::-1]
BATCH, SCALE, OFFSET = normal(7, 2, 64, 128), normal(8, 128), normal(9, 128)
WORDS = jnp.array([3, 5], "uint32")


def flash(bias=None, segments=False, gradients=False, **options):
    kernels = module("tpu.flash_attention")
    ids = kernels.SegmentIds(SEGMENTS, SEGMENTS) if segments else None
    sizes = kernels.BlockSizes(128, 128, 128, 1, *[128] * 7)
    f = lambda q, k, v: kernels.flash_attention(q, k, v, bias, ids, block_sizes=sizes, **options)
    run = partial(slopes, f) if gradients else f
    return on_tpu(lambda: run(QUERY, KEY, VALUE))


def splash(mask, gradients=False, shared=False, segments=False, fused=False, **options):
    kernels = module("tpu.splash_attention")
    names = "block_q block_kv block_kv_compute block_q_dkv block_kv_dkv block_kv_dkv_compute"
    names += "" if fused else " block_q_dq block_kv_dq"
    sizes = kernels.BlockSizes(**dict.fromkeys(names.split(), 128), use_fused_bwd_kernel=fused)
    kind = "mqa" if shared else "mha"
    kernel = getattr(kernels, f"make_splash_{kind}_single_device")(
        kernels.MultiHeadMask([mask(kernels)] * 2), block_sizes=sizes, interpret=True, **options
    )
    ids = kernels.SegmentIds(SEGMENTS[0], SEGMENTS[0]) if segments else None
    f = lambda q, k, v: kernel(q, k, v, segment_ids=ids)
    heads = 0 if shared else slice(None)
    args = QUERY[0] * 0.1, KEY[0][heads], VALUE[0][heads]
    return slopes(f, *args) if gradients else f(*args)


causal = lambda kernels: kernels.CausalMask((256, 256))
local = lambda kernels: kernels.LocalMask((256, 256), (64, 32), 0)
full = lambda kernels: kernels.FullMask((256, 256))
dense = lambda kernels: kernels.NumpyMask(np.random.default_rng(0).random((256, 256)) > 0.5)


def grouped(gradients=False, **options):
    f = lambda x, w: module("tpu.megablox").gmm(x, w, SIZES, interpret=True, **options)
    return slopes(f, ROWS, EXPERTS) if gradients else f(ROWS, EXPERTS)


def grouped_kernel(name, *args, **options):
    module("tpu.megablox")  # whose gmm is the function, not the module
    kernels = importlib.import_module(f"{PACKAGE}.tpu.megablox.gmm")
    return getattr(kernels, name)(*args, SIZES, interpret=True, **options)


def paged(quantized=False, **options):
    kernels = module("tpu.paged_attention")
    cast = module("tpu.paged_attention.quantization_utils").quantize_to_int8
    k, v = normal(1, 2, 16, 16, 128), normal(2, 2, 16, 16, 128)
    k, v = (cast(k), cast(v)) if quantized else (k, v)
    args = normal(3, 2, 4, 128), k, v, LENGTHS, PAGES
    return on_tpu(lambda: kernels.paged_attention(*args, pages_per_compute_block=4, **options))


def ragged_operands():
    return (
        normal(1, 16, 4, 128),
        normal(2, 16, 16, 4, 128),
        jnp.array([40, 20, 0, 0], "int32"),
        PAGES.reshape(4, 4),
        jnp.array([0, 9, 16, 16, 16], "int32"),
        jnp.array([2], "int32"),
    )


def ragged_pages():
    """The reference of the ragged paged attention."""
    kernels = module("tpu.ragged_paged_attention")
    return kernels.ref_ragged_paged_attention(*ragged_operands())


def ragged_kernel():
    """The reference, and the kernel, which JAX's interpreter does not run."""
    run = module("tpu.ragged_paged_attention").ragged_paged_attention
    sizes = {"num_kv_pages_per_block": 2, "num_queries_per_block": 8}
    device = AbstractMesh((), (), abstract_device=AbstractDevice("TPU v5e", 1, "tpu"))
    with use_abstract_mesh(device):
        return ragged_pages(), on_tpu(lambda: run(*ragged_operands(), **sizes))


def gathered():
    """An array in shards, and what each device gathers; JAX's interpreter leaves NaNs."""
    jax.config.update("jax_num_cpu_devices", 8)
    mesh = jax.make_mesh((8,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    x = normal(1, 64, 128)
    return x, on_tpu(lambda: module("tpu.all_gather").all_gather(x, mesh=mesh, axis_name="x"))


def attention(gradients=False, segments=False, **options):
    f = lambda q, k, v: module("gpu.attention").mha(
        q, k, v, SEGMENTS if segments else None, 0.3, interpret=True, **options
    )
    args = [x.swapaxes(1, 2)[..., :64] for x in (QUERY, KEY, VALUE)]
    return slopes(f, *args) if gradients else f(*args)


def decode(name, **options):
    heads = (2,) if name == "gqa" else ()
    args = normal(1, 2, 32, 64), normal(2, 2, 512, *heads, 64), normal(3, 2, 512, *heads, 64)
    kernel = getattr(module("gpu.decode_attention"), name)
    return kernel(*args, k_splits=2, block_k=64, interpret=True, **options)


def paged_on_gpu(**options):
    args = normal(1, 2, 4, 64), normal(2, 2, 16, 16, 64), normal(3, 2, 16, 16, 64), PAGES, LENGTHS
    sizes = {"pages_per_compute_block": 2, "k_splits": 2}
    return module("gpu.paged_attention").paged_attention(*args, interpret=True, **sizes, **options)


def norm(name, gradients=False):
    f = partial(getattr(module(f"gpu.{name}"), name), interpret=True)
    return slopes(f, BATCH, SCALE, OFFSET) if gradients else f(BATCH, SCALE, OFFSET)


def softmax(x):
    return module("gpu.softmax").softmax(x, interpret=True)


CASES = {
    "tpu.flash_attention": flash,
    "tpu.flash_attention, causal": lambda: flash(causal=True, sm_scale=0.1),
    "tpu.flash_attention, bias and segments": lambda: flash(BIAS, True),
    "tpu.flash_attention, gradients": lambda: flash(gradients=True, sm_scale=0.1),
    "tpu.flash_attention, gradients, causal, segments": lambda: flash(
        segments=True, gradients=True, causal=True, sm_scale=0.1
    ),
    "tpu.splash_attention, causal": lambda: splash(causal),
    "tpu.splash_attention, local": lambda: splash(local),
    "tpu.splash_attention, full": lambda: splash(full),
    "tpu.splash_attention, dense": lambda: splash(dense),
    "tpu.splash_attention, segments, soft cap": lambda: splash(
        causal, segments=True, attn_logits_soft_cap=5.0
    ),
    "tpu.splash_attention, shared keys": lambda: splash(causal, shared=True),
    "tpu.splash_attention, residuals": lambda: splash(causal, save_residuals=True),
    "tpu.splash_attention, gradients": lambda: splash(causal, True),
    "tpu.splash_attention, gradients, dense": lambda: splash(dense, True),
    "tpu.splash_attention, gradients, fused": lambda: splash(causal, True, fused=True),
    "tpu.megablox": grouped,
    "tpu.megablox, gradients": lambda: grouped(True),
    "tpu.megablox, transposed": lambda: grouped(transpose_rhs=True),
    "tpu.megablox.gmm": lambda: grouped_kernel("gmm", ROWS, EXPERTS, tiling=(64, 128, 128)),
    "tpu.megablox.gmm, offset": lambda: grouped_kernel(
        "gmm", ROWS, EXPERTS, group_offset=jnp.array(1, "int32")
    ),
    "tpu.megablox.tgmm": lambda: grouped_kernel("tgmm", ROWS.T, ROWS),
    "tpu.paged_attention": paged,
    "tpu.paged_attention, int8": lambda: paged(True),
    "tpu.paged_attention, soft cap": lambda: paged(attn_logits_soft_cap=5.0),
    "tpu.paged_attention, one sequence at a time": lambda: paged(inline_seq_dim=False),
    "tpu.ragged_paged_attention, reference": ragged_pages,
    "tpu.matmul": lambda: on_tpu(
        lambda: module("tpu.matmul").matmul(ROWS, ROWS.T, block_shape=(128, 128), block_k=128)
    ),
    "tpu.example_kernel": lambda: on_tpu(lambda: module("tpu.example_kernel").double(BATCH)),
    "tpu.random.threefry": lambda: on_tpu(
        lambda: module("tpu.random.threefry").plthreefry_random_bits(WORDS, 32, (512, 512))
    ),
    "tpu.random.philox": lambda: on_tpu(
        lambda: module("tpu.random.philox").philox_random_bits(WORDS, 32, (512, 512))
    ),
    "tpu.random.philox, keys": lambda: on_tpu(
        lambda: (
            module("tpu.random.philox").philox_split(WORDS, (4,)),
            module("tpu.random.philox").philox_fold_in(WORDS, jnp.uint32(7)),
        )
    ),
    "gpu.attention": attention,
    "gpu.attention, causal, segments": lambda: attention(segments=True, causal=True),
    "gpu.attention, gradients": lambda: attention(True),
    "gpu.attention, gradients, causal": lambda: attention(True, True, causal=True),
    "gpu.attention, gradients by XLA": lambda: attention(True, backward_pass_impl="xla"),
    "gpu.decode_attention.mqa": lambda: decode("mqa"),
    "gpu.decode_attention.gqa": lambda: decode("gqa"),
    "gpu.decode_attention.gqa, lengths": lambda: decode(
        "gqa", start_idx=jnp.array([3, 100]), kv_seq_len=jnp.array([77, 512])
    ),
    "gpu.decode_attention.gqa, residuals": lambda: decode("gqa", return_residuals=True),
    "gpu.paged_attention": paged_on_gpu,
    "gpu.paged_attention, soft cap": lambda: paged_on_gpu(attn_logits_soft_cap=5.0),
    "gpu.layer_norm": lambda: norm("layer_norm"),
    "gpu.layer_norm, gradients": lambda: norm("layer_norm", True),
    "gpu.rms_norm": lambda: norm("rms_norm"),
    "gpu.rms_norm, gradients": lambda: norm("rms_norm", True),
    "gpu.softmax": lambda: softmax(BATCH),
    "gpu.softmax, odd rows": lambda: softmax(BATCH[..., :100]),
}
