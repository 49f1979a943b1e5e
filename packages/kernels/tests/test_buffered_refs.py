"""``BufferedRef``: pipelines that a kernel writes out, with one and several slots."""

from dataclasses import dataclass, field, fields

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="kernels are interpreted")

import ricci_ir as ir
import ricci_kernels as pl
import ricci_numpy as jnp
import ricci_xla as xla
from ricci_kernels import tpu as pltpu
from ricci_pytree import register_dataclass, tree_leaves

X = np.arange(64, dtype=np.float32).reshape(16, 4)
ROWS = pl.BlockSpec((4, 4), lambda i: (i, 0))
WHOLE = pl.BlockSpec(memory_space=pl.ANY)


def call(kernel, inputs=1, **options):
    shape = ir.ShapeDtypeStruct(X.shape, X.dtype)
    specs = {"in_specs": [WHOLE] * inputs, "out_specs": WHOLE}
    return pl.pallas_call(kernel, shape, interpret=True, **specs, **options)


def doubled(x, out, buffers, results):
    """Copies a block ahead of the one that is computed with; a loop carries the slots."""
    buffers, results = buffers.initialize_slots(), results.initialize_slots()
    buffers.copy_in(x, (0,))
    buffers = buffers.advance_copy_in_slot()

    def step(i, slots):
        ahead, now, done = slots
        source = buffers.with_slot_index(copy_in_slot=ahead, wait_in_slot=now)
        target = results.with_slot_index(copy_out_slot=done, wait_out_slot=done)

        @pl.when(i + 1 < 4)
        def _():
            source.copy_in(x, (i + 1,))

        source = source.advance_copy_in_slot(i + 1 < 4)
        source.wait_in(x, (i,))
        target.current_ref[...] = source.current_ref[...] * 2
        target.copy_out(out, (i,))
        target.wait_out(out, (i,))
        source, target = source.advance_wait_in_slot(), target.advance_copy_out_slot()
        return source.copy_in_slot, source.wait_in_slot, target.copy_out_slot

    first = (buffers.copy_in_slot, buffers.wait_in_slot, results.copy_out_slot)
    pl.loop(0, 4, init_carry=first)(step)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_pipeline_copies_blocks_ahead(count):
    def kernel(x, out):
        dtype = np.float32
        buffers = pltpu.BufferedRef.input(ROWS, dtype, max(count, 2), grid_rank=1)
        results = pltpu.BufferedRef.output(ROWS, ir.ShapeDtypeStruct((1,), dtype), count)
        pl.run_scoped(lambda a, b: doubled(x, out, a, b), buffers, results)

    for _ in range(2):
        np.testing.assert_array_equal(call(kernel)(X), X * 2)
        ir.clear_caches()


def test_a_block_is_read_and_written_back():
    def kernel(x, out):
        def run(buffer):
            buffer = buffer.initialize_slots()
            for i in range(4):
                buffer.copy_in(x, (i,))
                buffer.wait_in(x, (i,))
                buffer.window_ref[0] = buffer.window_ref[0] + 1
                buffer.copy_out(out, (3 - i,))
                buffer.wait_out(out, (3 - i,))

        pl.run_scoped(run, pltpu.BufferedRef.input_output(ROWS, np.float32))

    expected = X.reshape(4, 4, 4)[::-1].reshape(16, 4) + 1
    np.testing.assert_array_equal(call(kernel)(X), expected)


@pytest.mark.parametrize(
    ("kind", "leaves", "counts"),
    [("input", 2, (2, 0)), ("output", 2, (0, 2)), ("input_output", 3, (2, 1))],
)
def test_descriptions_have_the_leaves_of_jax(kind, leaves, counts):
    ref = getattr(pltpu.BufferedRef, kind)(ROWS, np.float32)
    shapes = [leaf.shape for leaf in tree_leaves(ref)]
    assert shapes == [(2, 4, 4), *[(2,)] * (leaves - 1)]
    assert (ref.in_buffer_count, ref.out_buffer_count) == counts
    assert (ref.is_input, ref.is_output) == (counts[0] > 0, counts[1] > 0)
    assert ref.is_buffered
    assert ref.block_shape == (4, 4)


def test_squeezed_dimensions_are_left_out():
    spec = pl.BlockSpec((None, 4), lambda i: (i, 0))

    def kernel(x, out):
        def run(buffer):
            buffer = buffer.initialize_slots()
            buffer.copy_in(x, (3,))
            buffer.wait_in(x, (3,))
            out[...] = jnp.broadcast_to(buffer.current_ref[...], (16, 4))

        pl.run_scoped(run, pltpu.BufferedRef.input(spec, np.float32))

    np.testing.assert_array_equal(call(kernel)(X), np.broadcast_to(X[3], (16, 4)))


def scoped(spec, run):
    def kernel(x, out):
        del out
        pl.run_scoped(lambda b: run(b, x), pltpu.BufferedRef.input(spec, np.float32))

    return call(kernel)


def test_wrong_uses_are_refused():
    with pytest.raises(ValueError, match=r"copy_in_slot is not set\. Call initialize_slots"):
        scoped(ROWS, lambda b, x: b.copy_in(x, (0,)))(X)
    with pytest.raises(ValueError, match="copy_out_slot is not set"):
        scoped(ROWS, lambda b, x: b.initialize_slots().copy_out(x, (0,)))(X)
    uneven = pl.BlockSpec((5, 4), lambda i: (i, 0))
    with pytest.raises(NotImplementedError, match="do not divide an array of shape"):
        scoped(uneven, lambda b, x: b.initialize_slots().copy_in(x, (0,)))(X)
    bounded = pl.BlockSpec((pl.BoundedSlice(4), 4), lambda i: (pl.ds(i * 4, i), 0))
    with pytest.raises(NotImplementedError, match="Let emit_pipeline copy them"):
        scoped(bounded, lambda b, x: b.initialize_slots().copy_in(x, (0,)))(X)
    with pytest.raises(NotImplementedError, match=r"dimension Element\(block_size=4"):
        pltpu.BufferedRef.input(pl.BlockSpec((pl.Element(4),), lambda i: (i,)), np.float32)


@pytest.mark.parametrize("dtype", [np.float32, np.dtype("float32"), "float32", jnp.float32])
def test_the_dtype_of_a_block_is_any_dtype(dtype):
    assert tree_leaves(pltpu.BufferedRef.input(ROWS, dtype))[0].dtype == np.float32


def test_buffers_of_bounded_slices_in_a_pipeline():
    """They have room for the largest slice; ``emit_pipeline`` copies the part in the index."""
    rows = pl.BlockSpec((pl.BoundedSlice(8), 4), lambda i: (pl.ds(i * 6, 6), 0))
    double = lambda x, out: out.__setitem__(..., x[...] * 2)
    pipeline, allocations = pltpu.emit_pipeline_with_allocations(
        double, grid=(2,), in_specs=[rows], out_specs=[rows]
    )

    def kernel(x, out):
        buffers = allocations(x, out)
        assert [b.window_ref.shape for b in buffers] == [(2, 8, 4)] * 2
        assert buffers[0].compute_slice((1,))[0] == pl.ds(6, 6)
        out[...] = jnp.zeros_like(out)
        pl.run_scoped(lambda b: pipeline(x, out, allocations=b), buffers)

    expected = np.where(np.arange(16)[:, None] < 12, X * 2, 0)
    np.testing.assert_array_equal(call(kernel)(X), expected)


@register_dataclass
@dataclass(frozen=True, kw_only=True)
class RowsByPlace(pltpu.BufferedRef):
    """Blocks of rows that are gathered, or scattered, one by one."""

    count: int = field(metadata={"static": True})

    @classmethod
    def made(cls, kind, count=4):
        plain = pltpu.BufferedRef.create(ROWS, X.dtype, kind, 2, grid_rank=1)
        return cls(count=count, **{f.name: getattr(plain, f.name) for f in fields(plain)})

    def _rows(self, operand, position, slot):
        places, array = operand
        for i in range(self.count):
            place = places[position[0] * self.count + i]
            yield array.at[place], self.window_ref.at[slot, i]

    def copy_in(self, src_ref, grid_indices):
        slot = self.current_copy_in_slot
        for row, buffer in self._rows(src_ref, grid_indices, slot):
            pltpu.make_async_copy(row, buffer, self.sem_recvs.at[slot]).start()

    def copy_out(self, dst_ref, grid_indices):
        slot = self.current_copy_out_slot
        for row, buffer in self._rows(dst_ref, grid_indices, slot):
            pltpu.make_async_copy(buffer, row, self.sem_sends.at[slot]).start()

    def wait_in(self, src_ref, grid_indices):
        window = self.window_ref.at[self.current_wait_in_slot]
        pltpu.make_async_copy(window, window, self.sem_recvs.at[0]).wait()

    def wait_out(self, dst_ref, grid_indices):
        window = self.window_ref.at[self.current_wait_out_slot]
        pltpu.make_async_copy(window, window, self.sem_sends.at[0]).wait()


ORDER = np.random.default_rng(0).permutation(16).astype(np.int32)


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("is_scattered", [False, True])
def test_a_pipeline_copies_by_the_methods_of_a_subclass(is_scattered, x64):
    kinds = (pltpu.BufferType.INPUT, pltpu.BufferType.OUTPUT)

    def body(x, absent, out):
        assert absent is None
        out[...] = x[...] * 2

    def kernel(places, x, out):
        pipeline = pltpu.emit_pipeline(body, grid=(4,), in_specs=[ROWS, None], out_specs=[ROWS])
        rows = RowsByPlace.made(kinds[is_scattered])
        plain = pltpu.BufferedRef.create(ROWS, X.dtype, kinds[not is_scattered], 2)
        buffers = (plain, None, rows) if is_scattered else (rows, None, plain)
        refs = (x, None, (places, out)) if is_scattered else ((places, x), None, out)
        pl.run_scoped(lambda allocations: pipeline(*refs, allocations=allocations), buffers)

    specs = [pl.BlockSpec(memory_space=pltpu.SMEM), WHOLE]
    shape = ir.ShapeDtypeStruct(X.shape, X.dtype)
    run = pl.pallas_call(kernel, shape, in_specs=specs, out_specs=WHOLE, interpret=True)
    expected = np.zeros_like(X)
    if is_scattered:
        expected[ORDER] = X * 2
    else:
        expected = X[ORDER] * 2
    with ir.enable_x64(x64):
        for f in (run, xla.jit(run)):
            np.testing.assert_array_equal(f(ORDER, X), expected)


def test_a_pipeline_writes_inputs_that_are_allocated_for_both():
    def body(x):
        x[...] = x[...] * 2

    def kernel(x, out):
        buffers = (pltpu.BufferedRef.input_output(ROWS, X.dtype),)
        pipeline = pltpu.emit_pipeline(body, grid=(2,), in_specs=[ROWS])
        pl.run_scoped(lambda b: pipeline(out, allocations=b), buffers)

    result = call(kernel, input_output_aliases={0: 0})(X)
    np.testing.assert_array_equal(result, np.concatenate([X[:8] * 2, X[8:]]))


def test_buffers_of_pipelines_have_a_base():
    buffer = pltpu.BufferedRef.input(pl.BlockSpec((2,), lambda i: (i,)), np.float32)
    assert isinstance(buffer, pltpu.BufferedRefBase)
    assert buffer.block_shape == (2,)
    assert buffer.compute_index(3) == (3,)
