"""Copies of parts whose sizes are traced, and pipelines of such parts, interpreted."""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="kernels are compiled")

import ricci_numpy as jnp
from ricci_ir import ShapeDtypeStruct, enable_x64
from ricci_kernels import ANY, BlockSpec, BoundedSlice, ds, pallas_call, semaphore_read
from ricci_kernels import tpu as pltpu
from ricci_lax.checkify import checkify, index_checks
from ricci_pytree import register_pytree_node
from ricci_xla import jit

X = np.arange(16 * 8, dtype=np.float32).reshape(16, 8)
SCALARS = BlockSpec(memory_space=pltpu.SMEM)


def copy_kernel(numbers, x, old, out, sem):
    first, place, count = numbers[0], numbers[1], numbers[2]
    copy = pltpu.make_async_copy(x.at[ds(first, count)], out.at[ds(place, count)], sem)
    copy.start()
    copy.wait()


def copied(numbers, x, old, kernel=copy_kernel, interpret=True):
    return pallas_call(
        kernel,
        ShapeDtypeStruct(old.shape, old.dtype),
        in_specs=[SCALARS, BlockSpec(memory_space=ANY), BlockSpec(memory_space=ANY)],
        out_specs=BlockSpec(memory_space=ANY),
        scratch_shapes=[pltpu.SemaphoreType.DMA],
        input_output_aliases={2: 0},
        interpret=interpret,
    )(jnp.asarray(numbers, np.int32), x, old)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize(
    "numbers", [(0, 0, 3), (2, 5, 4), (13, 0, 3), (0, 7, 3), (15, 9, 1), (4, 2, 0), (6, 0, 10)]
)
def test_a_copy_of_traced_size_writes_these_rows_alone(numbers, wide):
    first, place, count = numbers
    old = -np.ones((10, 8), np.float32)
    expected = old.copy()
    expected[place : place + count] = X[first : first + count]
    with enable_x64(wide):
        np.testing.assert_array_equal(copied(numbers, X, old), expected)
        np.testing.assert_array_equal(jit(copied)(np.int32(numbers), X, old), expected)


@pytest.mark.parametrize("dtype", ["int8", "bool", "bfloat16", "uint32"])
def test_a_copy_of_traced_size_copies_any_dtype(dtype):
    x = jnp.asarray(X % 5).astype(dtype)
    old = jnp.zeros((10, 8), dtype)
    expected = np.asarray(old).copy()
    expected[1:5] = np.asarray(x)[3:7]
    np.testing.assert_array_equal(copied((3, 1, 4), x, old), expected)


def test_the_columns_of_rows_of_traced_size_are_copied():
    def kernel(numbers, x, old, out, sem):
        rows = x.at[ds(numbers[0], numbers[2])]
        target = out.at[:, ds(2, 3)].at[ds(numbers[1], numbers[2])]
        pltpu.async_copy(rows.at[:, ds(4, 3)], target, sem).wait()

    old = np.zeros((6, 8), np.float32)
    expected = old.copy()
    expected[3:5, 2:5] = X[1:3, 4:7]
    np.testing.assert_array_equal(copied((1, 3, 2), X, old, kernel), expected)


def test_both_sizes_of_a_copy_are_traced():
    def kernel(numbers, x, old, out, sem):
        rows, columns = ds(numbers[0], numbers[2]), ds(numbers[1], numbers[2])
        pltpu.async_copy(x.at[rows, columns], out.at[columns, rows], sem).wait()

    old = np.zeros((10, 9), np.float32)
    expected = old.copy()
    expected[5:8, 2:5] = X[2:5, 5:8]
    np.testing.assert_array_equal(copied((2, 5, 3), X, old, kernel), expected)


def test_a_sum_of_traced_size_is_added():
    def kernel(numbers, x, old, out, sem):
        part = ds(numbers[1], numbers[2])
        pltpu.async_copy(x.at[ds(numbers[0], numbers[2])], out.at[part], sem, add=True).wait()

    old = np.ones((10, 8), np.float32)
    expected = old.copy()
    expected[4:7] += X[2:5]
    np.testing.assert_array_equal(copied((2, 4, 3), X, old, kernel), expected)


def test_the_semaphore_of_copies_of_traced_sizes_counts_their_elements():
    def kernel(numbers, x, old, out, sem):
        for i in range(2):
            rows = ds(numbers[i], numbers[2])
            pltpu.make_async_copy(x.at[rows], out.at[rows], sem).start()
        both = ds(0, 2 * numbers[2])
        pltpu.make_async_copy(x.at[both], out.at[both], sem).wait()
        out[9, 0] = semaphore_read(sem).astype("float32")

    result = copied((0, 4, 3), X, np.zeros((10, 8), np.float32), kernel)
    assert result[9, 0] == 0


def test_a_part_of_traced_size_is_neither_read_nor_reshaped():
    def read(numbers, x, old, out, sem):
        out[...] = x[ds(0, numbers[0])]

    def reshaped(numbers, x, old, out, sem):
        x.at[ds(0, numbers[0])].reshape(-1)

    for kernel in (read, reshaped):
        with pytest.raises(NotImplementedError, match=r"dimension 0 .* traced size, int32\[\]"):
            copied((1, 1, 1), X, X, kernel)


def test_a_copy_between_a_static_and_a_traced_size_is_refused():
    def kernel(numbers, x, old, out, sem):
        pltpu.async_copy(x.at[ds(0, numbers[0])], out.at[ds(0, 3)], sem)

    with pytest.raises(ValueError, match="must be the same"):
        copied((1, 1, 1), X, X, kernel)


@pytest.mark.parametrize("numbers", [(14, 0, 3), (0, 8, 3)])
def test_checkify_finds_a_copy_of_traced_size_out_of_bounds(numbers):
    checked = checkify(lambda n: copied(n, X, np.zeros((10, 8), np.float32)), errors=index_checks)
    error, _ = checked(np.array(numbers, np.int32))
    assert "out of bounds" in str(error.get())
    error, _ = checked(np.array((13, 7, 3), np.int32))
    assert error.get() is None


def test_a_step_of_zero_repeats_a_row():
    def kernel(x, out):
        out[...] = x[ds(2, 4, 0), :]

    call = pallas_call(kernel, ShapeDtypeStruct((4, 8), np.float32), interpret=True)
    np.testing.assert_array_equal(call(X), np.broadcast_to(X[2], (4, 8)))


class Pair(tuple):
    """A pytree of two references, as libraries pass to pipelines."""


register_pytree_node(Pair, lambda pair: (tuple(pair), None), lambda _, leaves: Pair(leaves))


def test_a_pipeline_takes_pytrees_of_references():
    def body(pair, weight, out):
        assert weight is None
        out[...] = pair[0][...] * pair[1][...]

    def kernel(x, y, out):
        block = BlockSpec((4, 8), lambda i: (i, 0))
        pipeline = pltpu.emit_pipeline(
            body, grid=(4,), in_specs=(Pair([block, block]), None), out_specs=block
        )
        pipeline(Pair([x, y]), None, out)

    anywhere = BlockSpec(memory_space=ANY)
    call = pallas_call(
        kernel,
        ShapeDtypeStruct(X.shape, X.dtype),
        in_specs=[anywhere] * 2,
        out_specs=anywhere,
        interpret=True,
    )
    np.testing.assert_array_equal(call(X, X + 1), X * (X + 1))


@pytest.mark.parametrize("rows", [3, 4, 7])
def test_a_pipeline_copies_blocks_that_reach_over_the_end(rows):
    def body(x, out):
        out[...] = x[...] + 1

    def kernel(x, out):
        block = BlockSpec((rows, 8), lambda i: (i, 0))
        steps = -(-16 // rows)
        pltpu.emit_pipeline(body, grid=(steps,), in_specs=[block], out_specs=[block])(x, out)

    anywhere = BlockSpec(memory_space=ANY)
    call = pallas_call(
        kernel,
        ShapeDtypeStruct(X.shape, X.dtype),
        in_specs=[anywhere],
        out_specs=anywhere,
        interpret=True,
    )
    np.testing.assert_array_equal(call(X), X + 1)


def test_a_pipeline_copies_slices_of_bounded_size():
    def body(x, out):
        out[...] = x[...] + 1

    def kernel(numbers, x, old, out, sem):
        def part(i):
            return (ds(numbers[i], numbers[i + 1] - numbers[i]), 0)

        block = BlockSpec((BoundedSlice(6), 8), part)
        pltpu.emit_pipeline(body, grid=(2,), in_specs=[block], out_specs=[block])(x, out)

    old = np.zeros((16, 8), np.float32)
    expected = old.copy()
    expected[2:9] = X[2:9] + 1
    np.testing.assert_array_equal(copied((2, 5, 9), X, old, kernel), expected)
