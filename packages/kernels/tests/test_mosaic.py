"""Kernels in the text of Mosaic's dialects, which is written without a TPU and without libtpu."""

import base64
import json
import re

import numpy as np
import pytest

import ricci_autodiff as ad
import ricci_ir as ir
import ricci_kernels as pl
import ricci_lax as lax
import ricci_numpy as jnp
import ricci_xla as xla
from ricci_batching import vmap
from ricci_kernels import tpu as pltpu
from ricci_kernels.calls._compiled_calls import kernel_call
from ricci_kernels.mosaic import plan

F32 = np.float32
ROWS = pl.BlockSpec((8, 128), lambda i: (i, 0))
ANY = pl.BlockSpec(memory_space=pl.ANY)


def described(shape, dtype=F32):
    return ir.ShapeDtypeStruct(shape, dtype)


def call(kernel, shape=(32, 128), dtype=F32, **options):
    return pl.pallas_call(kernel, described(shape, dtype), **options)


def lower(function, *operands):
    traced = xla.jit(function).trace(*operands)
    return traced.lower(lowering_platforms=("tpu",)).as_text()


def configs_of(text):
    """The configuration of each kernel of a module."""
    configs = re.findall(r'backend_config = "((?:[^"\\]|\\.)*)"', text)
    return [json.loads(config.replace("\\22", '"')) for config in configs]


def body_of(function, *operands):
    """The Mosaic module of the only kernel of a function."""
    (config,) = configs_of(lower(function, *operands))
    return base64.b64decode(config["custom_call_config"]["body"]).decode()


def add(x, y, out):
    out[...] = x[...] + y[...]


def copy(x, out):
    out[...] = x[...]


def added(**options):
    return call(add, grid=4, in_specs=[ROWS, ROWS], out_specs=ROWS, **options)


X = described((32, 128))


def test_a_kernel_is_a_custom_call_of_a_module_in_stable_names():
    text = lower(added(), X, X)
    assert "tpu_custom_call" in text and 'kernel_name = "add"' in text
    body = body_of(added(), X, X)
    assert body.startswith("module attributes {stable_mosaic.version = 15 : i64} {")
    operations = re.findall(r'"([\w.]+)"', body)
    assert all(name.startswith("stable_mosaic.") for name in operations if "." in name)
    assert "iteration_bounds = array<i64: 4>" in body
    assert body.count("window_bounds = array<i64: 8, 128>") == 3
    assert body.count('"stable_mosaic.arith.addf"') == 1


def test_a_kernel_of_whole_arrays_has_no_windows():
    body = body_of(call(copy), X)
    assert "window_params" not in body and "memref<32x128xf32" in body


def test_parameters_of_the_compiler_are_its_configuration():
    params = pltpu.CompilerParams(
        dimension_semantics=("parallel",), vmem_limit_bytes=1 << 22, disable_bounds_checks=True
    )
    f = added(compiler_params=params, cost_estimate=pl.CostEstimate(1, 2, 3))
    (config,) = configs_of(lower(f, X, X))
    call_config = config["custom_call_config"]
    assert config["scoped_memory_configs"] == [{"memory_space": 1, "offset": 0, "size": 1 << 22}]
    assert call_config["cost_estimate"]["bytes_accessed"] == 3
    assert call_config["disable_bounds_checks"] is True
    assert "#tpu.dimension_semantics<parallel>" in body_of(f, X, X)


def test_aliases_count_the_sizes_of_dynamic_axes():
    f = lambda n, x: call(
        copy, grid=(n,), in_specs=[ROWS], out_specs=ROWS, input_output_aliases={0: 0}
    )(x)
    text = lower(f, described((), np.int32), X)
    assert "operand_index = 1" in text
    assert "iteration_bounds = array<i64: -9223372036854775808>" in body_of(
        f, described((), np.int32), X
    )


def test_booleans_are_integers_in_memory():
    f = call(lambda x, out: out.__setitem__(..., ~x[...]), (8, 128), np.bool_)
    text, body = lower(f, described((8, 128), np.bool_)), body_of(f, described((8, 128), np.bool_))
    assert "memref<8x128xi32" in body and "memref<8x128xi1" not in body
    assert "(tensor<8x128xi1>) -> tensor<8x128xi32>" in text


def test_prefetched_scalars_are_arguments_of_index_maps():
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=4,
        in_specs=[pl.BlockSpec((8, 128), lambda i, s: (s[i], 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i, s: (i, 0)),
    )
    f = call(lambda s, x, out: copy(x, out), grid_spec=spec)
    body = body_of(f, described((4,), np.int32), X)
    assert "scalar_prefetch = 1 : i64" in body
    assert "(i32, memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32)" in body


def test_when_is_a_branch_and_a_loop_is_a_loop():
    def kernel(x, out):
        @pl.when(pl.program_id(0) == 0)
        def _():
            out[...] = jnp.zeros_like(out)

        out[...] = lax.fori_loop(0, 5, lambda i, y: y + 1, x[...])

    f = call(kernel, grid=4, in_specs=[ROWS], out_specs=ROWS)
    body = body_of(f, X)
    assert body.count('"stable_mosaic.scf.if"') == 1
    assert body.count('"stable_mosaic.scf.for"') == 1


def test_copies_and_semaphores_are_recorded():
    def kernel(x, out, buffer, sem):
        pltpu.make_async_copy(x.at[pl.ds(8, 8)], buffer, sem).start()
        pltpu.make_async_copy(x.at[pl.ds(8, 8)], buffer, sem).wait()
        out[...] = buffer[...]

    f = call(
        kernel,
        (8, 128),
        in_specs=[ANY],
        scratch_shapes=[pltpu.VMEM((8, 128), F32), pltpu.SemaphoreType.DMA],
    )
    body = body_of(f, X)
    for name in ("tpu.memref_slice", "tpu.enqueue_dma", "tpu.wait_dma"):
        assert f'"stable_mosaic.{name}"' in body
    assert "!tpu.dma_semaphore" in body


@pytest.mark.parametrize(
    ("decrement", "operations"),
    [(True, ["sem_signal", "sem_wait"]), (False, ["sem_signal", "sem_wait", "sem_signal"])],
)
def test_a_wait_that_does_not_subtract_waits_and_adds_again(decrement, operations):
    def kernel(out, sem):
        pl.semaphore_signal(sem, 3)
        pl.semaphore_wait(sem, 2, decrement=decrement)
        out[...] = jnp.full((8, 128), pl.semaphore_read(sem))

    options = {"scratch_shapes": [pltpu.SemaphoreType.REGULAR]}
    body = body_of(call(kernel, (8, 128), np.int32, **options))
    assert re.findall(r"tpu\.(sem_signal|sem_wait)", body) == operations
    with ir.config.state("jax_error_checking_behavior_oob")("ignore"):
        counts = call(kernel, (8, 128), np.int32, interpret=True, **options)()
    assert (counts == (1 if decrement else 3)).all()


def test_a_call_on_the_cpu_is_an_error():
    with pytest.raises(ValueError, match="Only interpret mode is supported on CPU backend"):
        added()(np.zeros((32, 128), F32), np.zeros((32, 128), F32))


def test_interpreted_calls_are_not_compiled_for_tpus():
    assert "tpu_custom_call" not in lower(added(interpret=True), X, X)


def test_the_plan_counts_two_buffers_of_each_block_and_one_of_scratch():
    def kernel(x, y, out, total):
        out[...] = x[...]

    spec = pl.BlockSpec((256, 256), lambda i: (i, 0))
    same = pl.BlockSpec((256, 256), lambda i: (0, 0), pipeline_mode=pl.Buffered(1))
    f = call(
        kernel,
        (1024, 256),
        np.dtype("bfloat16"),
        grid=4,
        in_specs=[spec, same],
        out_specs=spec,
        scratch_shapes=[pltpu.VMEM((250, 100), F32)],
    )
    x = described((1024, 256), np.dtype("bfloat16"))
    buffers = planned(f, x, x)
    block = 256 * 256 * 2
    assert [b.copies for b in buffers] == [2, 1, 2, 1]
    assert [b.size for b in buffers] == [2 * block, block, 2 * block, 256 * 128 * 4]


def planned(function, *operands):
    (eqn,) = xla.jit(function).trace(*operands).jaxpr.eqns
    while eqn.primitive.name != "compiled_kernel":
        (eqn,) = ir.program_rules[eqn.primitive](**eqn.params)[0].eqns
    return plan(kernel_call(eqn.params))


def block_of(*shape, index=None, **options):
    count = len(shape)
    spec = pl.BlockSpec(shape, index or (lambda i: (i,) + (0,) * (count - 1)), **options)
    return lambda x: call(copy, x.shape, x.dtype, grid=4, in_specs=[spec], out_specs=spec)(x)


def body_with(function, shape=(8, 128), dtype=F32, **options):
    def kernel(x, out):
        out[...] = function(x)

    return lambda x: call(kernel, shape, dtype, **options)(x)


REFUSED = {
    "rows": (
        block_of(5, 128),
        described((20, 128)),
        ValueError,
        r"args\[0\] in the kernel copy has the shape \(5, 128\).*write \(8, 128\)",
    ),
    "lanes": (
        block_of(8, 100),
        described((32, 200)),
        ValueError,
        r"divisible by 8 and 128.*write \(8, 128\)",
    ),
    "squeezed rows": (
        block_of(8, None, 128, index=lambda i: (0, i, 0)),
        described((8, 4, 128)),
        ValueError,
        "Dimension 1 is squeezed",
    ),
    "rank 1": (block_of(100), described((400,)), ValueError, r"rank 1.*write \(1024,\)"),
    "float16": (
        block_of(8, 128),
        described((32, 128), np.float16),
        NotImplementedError,
        r"args\[0\].*float16.*Use bfloat16",
    ),
    "float16 inside": (
        body_with(lambda x: x[...].astype(np.float16).astype(F32)),
        described((8, 128)),
        NotImplementedError,
        "convert_element_type.*float16.*Use bfloat16",
    ),
    "complex": (
        block_of(8, 128),
        described((32, 128), np.complex64),
        NotImplementedError,
        "two arrays of float32",
    ),
    "three buffers": (
        block_of(8, 128, pipeline_mode=pl.Buffered(3)),
        X,
        NotImplementedError,
        r"Only single \(1\) and double \(2\) buffering",
    ),
    "padding before": (
        lambda x: call(
            copy,
            (40, 128),
            grid=5,
            in_specs=[pl.BlockSpec((pl.Element(8, (8, 0)), pl.Element(128)), lambda i: (i * 8, 0))],
            out_specs=ROWS,
        )(x),
        X,
        NotImplementedError,
        "pad it before the call",
    ),
    "main memory": (
        body_with(lambda x: x[...], (32, 128), in_specs=[ANY]),
        X,
        NotImplementedError,
        "Only references in VMEM and SMEM.*make_async_copy",
    ),
    "a part of main memory as a block": (
        block_of(8, 128, memory_space=pl.ANY),
        X,
        ValueError,
        "leave out block_shape",
    ),
    "a vector in scalar memory": (
        body_with(lambda x: x[0:4], (4,), in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM)]),
        described((8,)),
        NotImplementedError,
        "read one by one",
    ),
    "an operation": (
        body_with(lambda x: lax.linalg.cholesky(x[...]), (8, 8)),
        described((8, 8)),
        NotImplementedError,
        r"cholesky\(float32\[8,8\]\) in a kernel compiled for TPUs.*\n.*test_mosaic.py:\d+",
    ),
    "positions in an array": (
        body_with(lambda x: x[np.array([1, 0, 3, 2, 5, 4, 7, 6])]),
        described((8, 128)),
        NotImplementedError,
        "array of positions",
    ),
    "semantics": (
        lambda x: added(
            compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",) * 2)
        )(x, x),
        X,
        ValueError,
        "2 entries, and its grid 1 axes",
    ),
    "memory": (
        lambda x: call(
            copy, (4096, 4096), compiler_params=pltpu.CompilerParams(vmem_limit_bytes=1 << 24)
        )(x),
        described((4096, 4096)),
        ValueError,
        r"need 128.00 MiB of vector memory, and it has 16.00 MiB:\n  args\[0\]: float32",
    ),
    "a semaphore of the wrong kind": (
        lambda x: call(
            lambda x, out, sem: pl.semaphore_signal(sem), scratch_shapes=[pltpu.SemaphoreType.DMA]
        )(x),
        X,
        NotImplementedError,
        "SemaphoreType.REGULAR",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_kernel_that_no_tpu_runs_is_refused_before_it_is_compiled(name):
    function, operand, error, message = REFUSED[name]
    with pytest.raises(error, match=re.compile(message, re.DOTALL)):
        lower(function, operand)
    assert "tpu_custom_call" in lower(added(), X, X)


def test_the_derivative_of_a_compiled_kernel_is_a_loop():
    f = lambda x: (added()(x, x) ** 2).sum()
    with pytest.warns(UserWarning, match="give the function that calls the kernel a custom_vjp"):
        text = lower(ad.grad(f), X)
    assert "tpu_custom_call" in text
    assert "stablehlo.while" in text


def test_one_text_for_the_same_kernel():
    first, second = (body_of(added(), X, X) for _ in range(2))
    ir.clear_caches()
    assert first == second == body_of(added(), X, X)


@pytest.mark.parametrize("wide", [False, True])
def test_loops_count_in_32_bits(wide):
    def kernel(x, out):
        out[...] = lax.fori_loop(0, 3, lambda i, y: y * i.astype(F32), x[...])

    with ir.enable_x64(wide):
        body = body_of(call(kernel), X)
    assert "scf.for" in body and "i64" not in body.replace(" : i64", "").replace("array<i64", "")


def transposed_in(space):
    """A batch along the last dimension of an operand in a memory space."""
    f = call(copy, (16, 128), in_specs=[pl.BlockSpec(memory_space=space)])
    return lambda x: vmap(f, in_axes=-1)(x)


def test_an_example_of_an_array_that_is_not_fetched_is_a_part_of_it():
    def kernel(x, out):
        pltpu.sync_copy(x, out)

    f = call(kernel, (16, 128), in_specs=[ANY], out_specs=ANY)
    body = body_of(vmap(f), described((3, 16, 128)))
    assert "%1: memref<3x16x128xf32, #tpu.memory_space<any>>" in body
    assert body.count('"stable_mosaic.tpu.memref_squeeze"') == 2
    with pytest.raises(ValueError, match=r"args\[0\].*last dimension.*\(16, 128, 3\)"):
        lower(transposed_in(pl.ANY), described((16, 128, 3)))


def test_blocks_of_scalars_that_are_not_whole_tiles_are_parts_of_the_array():
    def kernel(x, out):
        out[...] = jnp.full((8, 128), x[0, 2])

    def windows(shape, block):
        spec = pl.BlockSpec(block, lambda i: (i, 0), memory_space=pltpu.SMEM)
        f = call(kernel, grid=4, in_specs=[spec], out_specs=ROWS)
        return re.findall(r"window_bounds = array<i64: ([\d, ]+)>", body_of(f, described(shape)))[0]

    assert windows((4, 4), (1, 4)) == "4, 4"
    assert windows((32, 4), (8, 4)) == "8, 4"


def test_a_copy_may_add_to_a_regular_semaphore():
    def kernel(x, out, sem):
        pltpu.make_async_copy(x, out, sem).start()
        pl.semaphore_wait(sem, 1)

    options = {"in_specs": [ANY], "out_specs": ANY, "scratch_shapes": [pltpu.SemaphoreType.REGULAR]}
    body = body_of(call(kernel, (8, 128), **options), described((8, 128)))
    assert re.search(r"enqueue_dma.*!tpu.semaphore,", body)
    x = np.arange(1024, dtype=F32).reshape(8, 128)
    assert (call(kernel, (8, 128), interpret=True, **options)(x) == x).all()
    waits = lambda x, out, sem: pltpu.async_copy(x, out, sem).wait()
    with pytest.raises(ValueError, match=r"got a regular semaphore.*Use pl.semaphore_wait"):
        lower(call(waits, (8, 128), **options), described((8, 128)))


def test_bits_along_lanes_are_refused():
    def kernel(x, out):
        out[...] = pltpu.bitcast(x[...], np.int8, -1)

    with pytest.raises(NotImplementedError, match="along the last dimension"):
        lower(call(kernel, (8, 512), np.int8), described((8, 128), np.int32))
