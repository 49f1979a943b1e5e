"""Kernels lowered for NVIDIA GPUs: the custom call, its text, and the errors before it."""

import re
from typing import Any

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
from ricci_kernels import triton as plgpu
from ricci_kernels.mosaic._writer import Writer as MosaicWriter
from ricci_kernels.triton_ir import triton_rules
from ricci_kernels.triton_ir._rules import evaluate
from ricci_kernels.triton_ir._writer import Writer

X = np.arange(8, dtype=np.float32)
ROWS = pl.BlockSpec((4,), lambda i: (i,))
HALVES = {"grid": 2, "in_specs": [ROWS], "out_specs": ROWS}


def double(x, out):
    out[...] = x[...] * 2


def call(kernel, shape=(8,), dtype: type = np.float32, **options):
    return pl.pallas_call(kernel, ir.ShapeDtypeStruct(shape, dtype), **options)


def lowered(function, *args) -> str:
    return (
        xla.jit(lambda *xs: function(*xs))
        .trace(*args)
        .lower(lowering_platforms=("cuda",))
        .as_text()
    )


def kernel_text(function, *args) -> str:
    """The Triton IR in a lowered module."""
    (text,) = re.findall(r' ir = "((?:[^"\\]|\\.)*)"', lowered(function, *args))
    return re.sub(r"\\([0-9A-F]{2})", lambda m: chr(int(m[1], 16)), text)


def operations(function, *args) -> list[str]:
    return re.findall(r'"((?:tt|arith|math|scf)\.[\w.]+)"', kernel_text(function, *args))


def test_a_call_is_a_custom_call_with_its_grid_and_warps():
    params = plgpu.CompilerParams(num_warps=8, num_stages=2)
    text = lowered(call(double, name="twice", compiler_params=params, **HALVES), X)
    assert text.count("__gpu$xla.gpu.triton") == 1
    config = dict(re.findall(r"(\w+) = (\d+) : i32", text))
    assert {k: config[k] for k in ("grid_x", "grid_y", "num_warps", "num_stages")} == {
        "grid_x": "2",
        "grid_y": "1",
        "num_warps": "8",
        "num_stages": "2",
    }
    assert 'name = "twice"' in text


def test_the_text_of_a_small_kernel():
    assert operations(call(double, **HALVES), X) == [
        *("tt.get_program_id", *("arith.constant", "arith.muli", "tt.addptr") * 2),
        *("tt.make_range", "tt.splat", "tt.addptr", "tt.load"),
        *("arith.constant", "tt.splat", "arith.mulf"),
        *("tt.make_range", "tt.splat", "tt.addptr", "tt.store"),
    ]


def test_names_of_values_are_stable():
    assert kernel_text(call(double, **HALVES), X) == kernel_text(call(double, **HALVES), X)


@pytest.mark.parametrize(("length", "count"), [(8, 1), (7, 3)])
def test_blocks_that_reach_over_the_end_are_masked(length, count):
    f = call(double, (length,), **HALVES)
    (operands,) = re.findall(r'"tt.load"\((.*?)\)', kernel_text(f, X[:length]))
    assert len(operands.split(", ")) == count


def test_a_counting_loop_is_a_for_loop_over_its_index():
    def kernel(x, out):
        def body(i, total):
            return total + x[i]

        out[...] = jnp.full(8, lax.fori_loop(0, pl.program_id(0) + 2, body, np.float32(0)))

    text = kernel_text(call(kernel, grid=2, out_specs=pl.BlockSpec((8,), lambda i: (0,))), X)
    # The index is the loop's own, and the sum alone is carried.
    assert re.search(r'"scf.for"\(.*\) \(\{\n +\^bb0\(%\w+: i32, %\w+: f32\):', text)
    assert "scf.while" not in text


@pytest.mark.parametrize(("highest", "number"), [(False, 0), (True, 2)])
def test_the_precision_of_a_product_is_that_of_its_operands(highest, number):
    def kernel(x, out):
        out[...] = plgpu.dot(x[...], x[...], allow_tf32=not highest)

    text = kernel_text(call(kernel, (16, 16)), np.ones((16, 16), np.float32))
    assert f"inputPrecision = {number} : i32" in text


@pytest.mark.parametrize("size", [8, 16])
def test_products_under_16_are_sums_of_products(size):
    def kernel(x, out):
        out[...] = x[...] @ x[...]

    names = operations(call(kernel, (size, size)), np.ones((size, size), np.float32))
    assert ("tt.dot" in names) is (size == 16)


def test_grids_of_any_rank_become_one_axis():
    spec = pl.BlockSpec((None, None, None, 4), lambda a, b, c, d: (a, b, c, d))
    f = call(double, (2, 3, 1, 8), grid=(2, 3, 1, 2), in_specs=[spec], out_specs=spec)
    assert "grid_x = 12 : i32, grid_y = 1 : i32" in lowered(f, np.ones((2, 3, 1, 8), np.float32))


def test_a_long_second_axis_moves_to_the_first():
    spec = pl.BlockSpec((None, 1), lambda i, j: (i, j))
    f = call(double, (1, 70000), grid=(1, 70000), in_specs=[spec], out_specs=spec)
    assert "grid_x = 70000 : i32, grid_y = 1 : i32" in lowered(f, np.ones((1, 70000), np.float32))


def test_an_alias_is_one_of_the_custom_call():
    f = call(lambda x, out: double(x, out), input_output_aliases={0: 0}, **HALVES)
    assert "output_operand_alias<output_tuple_indices = [], operand_index = 0" in lowered(f, X)


def test_a_batch_is_an_axis_of_the_grid():
    assert "grid_x = 3 : i32, grid_y = 2 : i32" in lowered(
        vmap(call(double, **HALVES)), np.ones((3, 8), np.float32)
    )


def test_prefetched_scalars_of_a_batch_are_of_any_number():
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=2,
        in_specs=[pl.BlockSpec((4,), lambda i, order: (order[i + 1],))],
        out_specs=pl.BlockSpec((4,), lambda i, order: (i,)),
    )
    f = call(lambda order, x, out: double(x, out), grid_spec=spec)
    order = np.int32([[0, 1, 0], [1, 0, 1]])
    assert "grid_x = 2 : i32, grid_y = 2 : i32" in lowered(vmap(f, in_axes=(0, None)), order, X)


def test_bools_are_bytes_in_memory():
    def kernel(x, out):
        out[...] = ~x[...]

    text = kernel_text(call(kernel, (8,), np.bool_), X > 1)
    assert "!tt.ptr<i8>" in text
    assert "!tt.ptr<i1>" not in text


def test_scoped_buffers_are_values():
    def kernel(x, out):
        def body(total):
            total[...] = jnp.zeros(8)

            @pl.loop(0, 3)
            def _(i):
                total[...] += x[...] * i

            out[...] = total[...]

        pl.run_scoped(body, pltpu.VMEM((8,), np.float32))

    names = operations(call(kernel), X)
    assert names.count("tt.store") == 1
    assert "scf.for" in names


def test_references_that_a_kernel_makes_are_values():
    def kernel(x, out):
        out[...] = pl.run_state(lambda ref: ref.addupdate(x[...]))(x[...])

    assert operations(call(kernel), X).count("tt.store") == 1


CONSTANTS = {"2.0": [2.0, 2.0], "-0.0": [-0.0, -0.0], "0x7FC00000": [np.nan, np.nan]}


def constant_texts(elements) -> list[str]:
    """An array constant as each compiler's writer writes it."""
    x = np.float32(elements)
    jaxpr = ir.trace_to_jaxpr(lambda: [x], [])
    triton, mosaic = Writer(), MosaicWriter()
    evaluate(triton, jaxpr, [])
    mosaic.apply(jaxpr, [])
    return ["\n".join(writer.lines) for writer in (triton, mosaic)]


@pytest.mark.parametrize("literal", CONSTANTS)
def test_a_constant_of_equal_elements_keeps_its_bits(literal):
    for text in constant_texts(CONSTANTS[literal]):
        assert re.search(rf"arith.constant.*[<= ]{literal}[> :]", text)


def test_a_constant_of_zeros_of_both_signs_is_refused():
    with pytest.raises(NotImplementedError, match="Pass it as an input"):
        constant_texts([0.0, -0.0])


def test_a_barrier_is_between_the_accesses_before_and_after_it():
    def kernel(x, out):
        out[...] = x[...]
        plgpu.debug_barrier()
        out[...] += 1

    text = kernel_text(call(kernel), X)
    accesses = re.findall(r"tt\.load|tt\.store|gpu\.barrier", text)
    assert accesses == ["tt.load", "tt.store", "gpu.barrier", "tt.load", "tt.store"]
    f = call(kernel, interpret=True)
    np.testing.assert_array_equal(f(X), X + 1)
    np.testing.assert_array_equal(xla.jit(vmap(f))(X[None]), X[None] + 1)


def test_interpreted_and_compiled_masks_agree_with_a_plain_index():
    def kernel(x, out):
        places = jnp.arange(8)
        row = plgpu.load(x.at[places], mask=places < 5, other=-1.0)
        plgpu.store(out.at[places], row, mask=places < 6)
        plgpu.atomic_add(out, 0, 1.0)
        plgpu.atomic_max(out, (pl.ds(0, 8),), row, mask=places > 6)

    assert call(kernel, interpret=True)(X)[:6].tolist() == [1, 1, 2, 3, 4, -1]
    names = operations(call(kernel), X)
    assert [names.count(n) for n in ("tt.load", "tt.store", "tt.atomic_rmw")] == [1, 1, 3]


def test_without_interpret_a_cpu_refuses():
    with pytest.raises(ValueError, match="Only interpret mode is supported on CPU backend"):
        call(double, **HALVES)(X)


def test_the_derivative_of_a_compiled_kernel_is_a_loop():
    square = call(lambda x, out: out.__setitem__(..., x[...] ** 2), **HALVES)
    with pytest.warns(UserWarning, match="give the function that calls the kernel a custom_vjp"):
        text = lowered(ad.grad(lambda x: (square(x) ** 2).sum()), X)
    assert "__gpu$xla.gpu.triton" in text
    assert "stablehlo.while" in text


def test_rules_are_keyed_by_primitives():
    lowered(call(double), X)  # the first kernel imports the rules
    assert triton_rules.kind == "triton"
    assert {lax.exp_p, lax.refs.get_p, lax.dot_general_p} <= triton_rules.keys()


# Each by name: the call, its operands, the error, and its message.


def accumulating(x, out):
    out[...] += x[...]


def writing_input(x, out):
    x[...] = x[...] * 2
    out[...] = x[...]


def stacking(x, out):
    out[...] = lax.scan(lambda c, v: (c, v), 0.0, x[...])[1]


MANY = np.ones((1024, 128), np.float32)
ODD: Any = {"in_specs": [pl.BlockSpec((6,), lambda i: (i,))], "grid": 1}

REFUSED: dict[str, tuple[Any, Any, type, str]] = {
    **{
        f"num_warps={n}": (
            call(double, compiler_params=plgpu.CompilerParams(num_warps=n)),
            X,
            ValueError,
            rf"num_warps={n}\. A power of 2 from 1 to 32",
        )
        for n in (0, 3, 64)
    },
    "num_stages": (
        call(double, compiler_params=plgpu.CompilerParams(num_stages=0)),
        X,
        ValueError,
        "num_stages=0",
    ),
    "parameters of a TPU": (
        call(double, compiler_params=pltpu.CompilerParams()),
        X,
        ValueError,
        "plgpu.CompilerParams",
    ),
    "a size that is not a power of 2": (
        call(double, (6,)),
        X[:6],
        NotImplementedError,
        r"get\(.*shape \(6,\).*Take 8 in place of 6(.|\n)*test_triton_ir.py",
    ),
    "a tile of a million elements": (
        call(double, MANY.shape),
        MANY,
        NotImplementedError,
        r"131072 elements.*at most 65536 elements",
    ),
    "steps that add up": (
        call(
            accumulating,
            (4,),
            grid=2,
            in_specs=[ROWS],
            out_specs=pl.BlockSpec((4,), lambda i: (0,)),
        ),
        X,
        ValueError,
        "same block of outputs in each step along axis 0.*lax.fori_loop.*atomic_add",
    ),
    "a write to an input": (
        call(writing_input),
        X,
        NotImplementedError,
        r"writes to the input args\[0\].*input_output_aliases",
    ),
    "scratch through the grid": (
        call(lambda x, o, s: double(x, o), scratch_shapes=[pltpu.VMEM((4,), np.float32)], **HALVES),
        X,
        ValueError,
        "scratch_shapes.*pl.run_scoped",
    ),
    "a semaphore": (
        call(lambda x, o: pl.run_scoped(lambda s: double(x, o), pltpu.SemaphoreType.DMA)),
        X,
        NotImplementedError,
        "semaphore",
    ),
    "complex numbers": (
        call(double, dtype=np.complex64),
        X.astype(np.complex64),
        NotImplementedError,
        "complex64",
    ),
    "stacked results of a loop": (call(stacking), X, NotImplementedError, "stacks or takes apart"),
    "an operation without a rule": (
        call(lambda x, o: o.__setitem__(..., lax.digamma(x[...]))),
        X,
        NotImplementedError,
        r"digamma\(float32\[8\]\) in a kernel compiled for NVIDIA GPUs",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_gpu_cannot_do_is_refused_before_compiling(name):
    function, operand, error, message = REFUSED[name]
    with pytest.raises(error, match=message) as caught:
        lowered(function, operand)
    assert len(str(caught.value).splitlines()) <= 12
    assert "tt.store" in operations(call(double), X)


def test_a_traced_size_of_the_grid_is_refused():
    with pytest.raises(ValueError, match=r"grid \(None,\).*pass the size as an int"):
        lowered(lambda n: call(lambda o: None, grid=(n,))(), np.int32(3))
