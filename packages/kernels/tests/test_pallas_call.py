"""``pallas_call``: blocks, grids, buffers, and the transformations of calls."""

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
from ricci_kernels import _absent_reasons as absent_reasons
from ricci_kernels import tpu as pltpu
from ricci_kernels import triton as plgpu

X = np.arange(8, dtype=np.float32)
HALVES = {
    "grid": (2,),
    "in_specs": [pl.BlockSpec((4,), lambda i: (i,))],
    "out_specs": pl.BlockSpec((4,), lambda i: (i,)),
}


def call(kernel, shape=(8,), dtype: type = np.float32, **options):
    return pl.pallas_call(kernel, ir.ShapeDtypeStruct(shape, dtype), interpret=True, **options)


def double(x, out):
    out[...] = x[...] * 2


def accumulate(x, out, total):
    @pl.when(pl.program_id(0) == 0)
    def _():
        total[...] = jnp.zeros_like(total)

    total[...] += x[...] * x[...]
    out[...] = total[...]


def squares():
    """The sum of the squares of two halves, accumulated in scratch."""
    return call(
        accumulate,
        (4,),
        grid=(2,),
        in_specs=[pl.BlockSpec((4,), lambda i: (i,))],
        out_specs=pl.BlockSpec((4,), lambda i: (0,)),
        scratch_shapes=[pltpu.VMEM((4,), np.float32)],
    )


def test_blocks_cover_an_array_that_they_do_not_divide():
    assert call(double, (6,), **HALVES)(X[:6]).tolist() == (X[:6] * 2).tolist()


@pytest.mark.parametrize("wide", [False, True])
def test_positions_are_int32(wide):
    def kernel(out):
        out[pl.program_id(0)] = pl.program_id(0) * pl.num_programs(0)

    with ir.enable_x64(wide):
        assert call(kernel, (3,), np.int32, grid=3)().tolist() == [0, 3, 6]


def test_a_captured_array_is_an_input():
    weights = jnp.arange(4.0)

    def kernel(x, out):
        out[...] = x[...] * weights[...]

    f = call(kernel, **HALVES)
    expected = (X * np.tile(np.arange(4), 2)).tolist()
    assert f(X).tolist() == expected
    assert xla.jit(lambda w: call(lambda x, o: o.__setitem__(..., x[...] * w), **HALVES)(X))(
        weights
    ).tolist() == (expected)


def test_a_captured_tracer_is_differentiated():
    def loss(w):
        return call(lambda x, o: o.__setitem__(..., x[...] * w), **HALVES)(X).sum()

    assert ad.grad(loss)(jnp.ones(4)).tolist() == [4.0, 6.0, 8.0, 10.0]


def test_gradient_through_scratch():
    grad = ad.grad(lambda x: squares()(x).sum())
    # Each of the last step's results holds both halves; the first step's are overwritten.
    np.testing.assert_allclose(grad(jnp.asarray(X)), 2 * X)
    np.testing.assert_allclose(xla.jit(grad)(X), 2 * X)
    second = ad.grad(lambda x: (grad(x) ** 2).sum())
    np.testing.assert_allclose(second(jnp.asarray(X)), 8 * X)


def test_gradient_of_a_batch():
    batch = jnp.stack([X, X + 1])
    grads = vmap(ad.grad(lambda x: squares()(x).sum()))(batch)
    np.testing.assert_allclose(grads, 2 * np.asarray(batch))
    grads = ad.grad(lambda b: vmap(squares())(b).sum())(batch)
    np.testing.assert_allclose(grads, 2 * np.asarray(batch))


def test_jvp_uses_the_position_in_the_grid():
    def kernel(x, out):
        out[...] = x[...] * pl.program_id(0)

    primal, tangent = ad.jvp(call(kernel, **HALVES), (X,), (np.ones(8, np.float32),))
    assert primal.tolist() == [0, 0, 0, 0, 4, 5, 6, 7]
    assert tangent.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


def test_a_batch_is_an_axis_of_the_grid():
    jaxpr = ir.trace_to_jaxpr(
        lambda x: [vmap(call(double, **HALVES))(x)], [ir.ShapedArray((3, 8), np.dtype("float32"))]
    )
    (eqn,) = jaxpr.eqns
    mapping = eqn.params["grid_mapping"]
    assert mapping.grid == (3, 2)
    assert mapping.block_mappings[0].block_shape == (pl.squeezed, pl.Blocked(4))


def test_a_function_in_kernels_of_two_grids_reads_the_size_of_each():
    shift = xla.jit(lambda x: x + pl.num_programs(0))

    def kernel(x, out):
        out[...] = shift(x[...])

    quarters = pl.BlockSpec((2,), lambda i: (i,))
    four = call(kernel, grid=4, in_specs=[quarters], out_specs=quarters)
    assert call(kernel, **HALVES)(X)[0] == 2 and four(X)[0] == 4


def test_a_call_traces_its_kernel_once():
    traces = []

    def kernel(x, out):
        traces.append(1)
        out[...] = x[...]

    f = call(kernel, **HALVES)
    for _ in range(3):
        f(X)
    assert len(traces) == 1
    ir.clear_caches()
    assert f(X).tolist() == X.tolist()


def test_a_step_does_not_copy_arrays():
    size = 512
    spec = pl.BlockSpec((8, 8), lambda i, j: (i, j))
    f = call(double, (size, size), grid=(64, 64), in_specs=[spec], out_specs=spec)
    text = xla.jit(f).lower(np.zeros((size, size), np.float32)).compile().as_text()
    copies = [line for line in text.splitlines() if " copy(" in line and f"[{size}," in line]
    assert len(copies) <= 1


def test_the_callers_array_is_unchanged_by_an_alias():
    x = jnp.asarray(X)

    def kernel(x, out):
        out[0] = 9.0

    assert call(kernel, input_output_aliases={0: 0})(x).tolist() == [9, *range(1, 8)]
    assert x.tolist() == X.tolist()


def test_empty_arrays():
    assert call(double, (0,))(X[:0]).shape == (0,)
    assert call(double, (2, 0))(np.zeros((2, 0), np.float32)).shape == (2, 0)


def test_complex_padding_is_nan():
    x = np.arange(6, dtype=np.complex64)
    out = call(lambda x, o: o.__setitem__(..., x[...]), dtype=np.complex64, **HALVES)(x)
    assert out[:6].tolist() == x.tolist() and np.isnan(out[6:]).all()


def test_atomic_addition_adds_to_a_position_repeatedly():
    def kernel(x, out):
        out[...] = jnp.zeros(8, np.float32)
        plgpu.atomic_add(out, (jnp.zeros(4, np.int32),), x[2:6])
        plgpu.atomic_xchg(out, 1, x[3])
        plgpu.atomic_cas(out.at[2], 0, 7)

    assert call(kernel)(X).tolist() == [14, 3, 7, 0, 0, 0, 0, 0]


def test_a_pipeline_over_partial_blocks():
    def body(x, out):
        out[...] = x[...] * 2

    spec = pl.BlockSpec((4,), lambda i: (i,))

    def kernel(x, out):
        pltpu.emit_pipeline(body, grid=(2,), in_specs=[spec], out_specs=[spec])(x, out)

    assert call(kernel, (6,))(X[:6]).tolist() == (X[:6] * 2).tolist()


def test_a_pipeline_of_bounded_slices():
    def body(x, out):
        out[...] = x[...] + pl.program_id(0)

    def kernel(x, out):
        out[...] = jnp.zeros(8, np.float32)
        spec = pl.BlockSpec((pl.BoundedSlice(4),), lambda i: (pl.ds(i * 3, i + 2),))
        pltpu.emit_pipeline(body, grid=(2,), in_specs=[spec], out_specs=[spec])(x, out)

    assert call(kernel)(X).tolist() == [0, 1, 0, 4, 5, 6, 0, 0]


def test_debug_print_in_each_step(capfd):
    def kernel(x, out):
        pl.debug_print("step {} begins with {}", pl.program_id(0), x[0])
        out[...] = x[...]

    xla.block_until_ready(call(kernel, **HALVES)(X))
    xla.effects_barrier()
    assert sorted(capfd.readouterr().out.splitlines()) == [
        "step 0 begins with 0.0",
        "step 1 begins with 4.0",
    ]


def test_forced_interpretation():
    f = pl.pallas_call(double, ir.ShapeDtypeStruct((8,), np.float32))
    with pltpu.force_tpu_interpret_mode():
        assert f(X).tolist() == (X * 2).tolist()
    with pytest.raises(ValueError, match="Only interpret mode"):
        f(X)


def test_old_names_work_with_a_warning():
    def kernel(x, out):
        with pytest.warns(DeprecationWarning, match="plgpu.load"):
            value = pl.load(x, (pl.ds(0, 8),), mask=np.arange(8) < 4, other=0.0)
        with pytest.warns(DeprecationWarning, match="plgpu.store"):
            pl.store(out, (slice(None),), value)

    assert call(kernel)(X).tolist() == [0, 1, 2, 3, 0, 0, 0, 0]
    with pytest.warns(DeprecationWarning, match="pltpu.CompilerParams"):
        assert pltpu.TPUCompilerParams is pltpu.CompilerParams


ABSENT = {
    f"{module.__name__}.{name}": (module, name, reason)
    for module, table in ((pl, absent_reasons.PALLAS), (pltpu, absent_reasons.TPU))
    for name, reason in table.items()
}


@pytest.mark.parametrize("key", ABSENT)
def test_absent_names_may_be_imported_and_say_why_they_are_not_called(key):
    module, name, reason = ABSENT[key]
    assert name not in dir(module)
    with pytest.raises(NotImplementedError) as caught:
        getattr(module, name)()
    assert str(caught.value) == f"{name} is not supported: {reason}"
    assert reason.endswith(".") and reason[0].islower()
    with pytest.raises(NotImplementedError, match="part is not supported: "):
        getattr(module, name).part()


def test_other_names_do_not_exist():
    with pytest.raises(AttributeError, match="nothing"):
        pltpu.nothing  # noqa: B018


@pytest.mark.parametrize("grid", [(2,), (2, 3)])
def test_a_kernel_in_loops_and_branches(grid):
    spec = pl.BlockSpec((4,), lambda i, *_: (i,))
    f = call(double, grid=grid, in_specs=[spec], out_specs=spec)
    assert lax.fori_loop(0, 3, lambda i, x: f(x), jnp.asarray(X)).tolist() == (X * 8).tolist()
    assert lax.cond(True, f, lambda x: x, X).tolist() == (X * 2).tolist()


MISTAKES = {
    "rank": (
        lambda: call(double, in_specs=[pl.BlockSpec((4, 4), lambda: (0, 0))])(X),
        ValueError,
        r"args\[0\].*same number of dimensions as the array shape \(8,\)",
    ),
    "output rank": (
        lambda: call(double, out_specs=pl.BlockSpec((4, 4), lambda: (0, 0)))(X),
        ValueError,
        r"outputs .*same number of dimensions",
    ),
    "arity": (
        lambda: call(double, grid=2, in_specs=[pl.BlockSpec((4,), lambda: (0,))])(X),
        TypeError,
        r"test_pallas_call.py:\d+ for args\[0\] is called with 1 indices of the grid",
    ),
    "results": (
        lambda: call(double, grid=2, in_specs=[pl.BlockSpec((4,), lambda i: (i, 0))])(X),
        ValueError,
        r"test_pallas_call.py:\d+ for args\[0\] must return 1 values",
    ),
    "floats": (
        lambda: call(double, grid=2, in_specs=[pl.BlockSpec((4,), lambda i: (i / 2,))])(X),
        ValueError,
        "must return integer scalars.*float32",
    ),
    "specs": (lambda: call(double, in_specs=[])(X), ValueError, "in_specs.*0 specs.*1 arrays"),
    "spec": (lambda: call(double, in_specs=[3])(X), ValueError, "not a BlockSpec"),
    "returned": (lambda: call(lambda x, o: x[...])(X), ValueError, "should return None"),
    "aliases": (
        lambda: call(lambda x, o: None, (4,), input_output_aliases={0: 0})(X),
        ValueError,
        r"'0:0'.*float32\[8\].*float32\[4\]",
    ),
    "axis": (
        lambda: call(lambda x, o: pl.program_id(1), grid=2)(X),
        ValueError,
        r"Axis 1 is out of bounds for grid \(2,\)",
    ),
    "outside": (lambda: pl.program_id(0), ValueError, "outside of a kernel"),
    "write": (
        lambda: call(lambda x, o: o.__setitem__(..., x[0]))(X),
        ValueError,
        r"shape \(\) is written to a part of shape \(8,\)",
    ),
    "reference": (
        lambda: call(lambda x, o: o.__setitem__(..., x + 1))(X),
        TypeError,
        "Read it first",
    ),
    "operand": (
        lambda: call(double)(lax.refs.new_ref(X)),
        TypeError,
        "operand of pallas_call is a reference",
    ),
    "captured reference": (
        lambda: call(lambda x, o: o.__setitem__(..., CAPTURED[...]))(X),
        ValueError,
        "captures references",
    ),
    "index map": (lambda: pl.BlockSpec(*WRONG_ORDER), TypeError, "not a function"),
    "scratch": (lambda: call(double, scratch_shapes=[3])(X), TypeError, r"scratch_shapes\[0\]"),
    "prefetch": (
        lambda: call(double, grid_spec=pltpu.PrefetchScalarGridSpec(2, grid=1))(X),
        ValueError,
        "prefetches 2 scalars",
    ),
}
WRONG_ORDER: tuple[Any, ...] = (lambda i: i, (4,))
CAPTURED = lax.refs.new_ref(X)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named(name):
    program, error, message = MISTAKES[name]
    with pytest.raises(error, match=message):
        program()
    assert call(double)(X).tolist() == (X * 2).tolist()


def test_copies_within_a_buffer_and_an_array_of_semaphores():
    """One reference may be the source and the target, or hold both semaphores."""

    def kernel(x, out, slots, semaphores):
        slots[0] = x[...]
        first = pltpu.make_async_copy(slots.at[0], slots.at[1], semaphores.at[0])
        first.start()
        first.wait()
        last = pltpu.make_async_copy(slots.at[1], out, semaphores.at[1])
        last.start()
        last.wait()

    call = pl.pallas_call(
        kernel,
        ir.ShapeDtypeStruct((8,), np.float32),
        scratch_shapes=[pltpu.VMEM((2, 8), np.float32), pltpu.SemaphoreType.DMA((2,))],
        interpret=True,
    )
    np.testing.assert_array_equal(call(X), X)


def test_the_reference_backend_evaluates_kernels():
    reference = pytest.importorskip("ricci_reference", reason="another backend")
    with ir.use_backend(reference.reference_backend):
        np.testing.assert_array_equal(call(double, **HALVES)(X), X * 2)


def test_keywords_of_an_estimated_function_are_static():
    f = lambda x, *, power, negative=False: -x if negative else lax.integer_pow(x, power)
    assert pl.estimate_cost(f, X, power=4).flops == 3 * X.size
    assert pl.estimate_cost(f, X, power=4, negative=True).flops == X.size


def test_index_maps_get_absent_scalars():
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=2,
        grid=(2,),
        in_specs=[pl.BlockSpec((4,), lambda i, first, second: (1 - i if first is None else i,))],
        out_specs=pl.BlockSpec((4,), lambda i, *_: (i,)),
    )

    def kernel(first, second, x, out):
        assert first is None and second is None
        double(x, out)

    result = call(kernel, grid_spec=spec)(None, None, X)
    np.testing.assert_array_equal(result, 2 * np.roll(X, 4))


def test_views_of_references_show_their_indices():
    def kernel(x, out):
        view = x.at[pl.ds(pl.program_id(0), 4, 2), 1]
        (indexer,) = view.transforms
        rows, column = indexer.indices
        assert (rows.size, rows.stride, column) == (4, 2, 1)
        assert isinstance(rows, pl.Slice)
        assert pl.Slice.from_slice(slice(1, None, 3), 8) == pl.Slice(1, 3, 3)
        out[...] = view[...] + rows.start.astype(np.float32)

    x = X.repeat(2).reshape(8, 2)
    np.testing.assert_array_equal(call(kernel, (4,), grid=(1,))(x), x[::2, 1])
