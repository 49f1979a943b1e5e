"""References that a traced number selects, as sources and targets of copies and of accesses."""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="kernels are run")

import ricci_ir as ir
import ricci_kernels as pl
from ricci_autodiff import grad
from ricci_batching import vmap
from ricci_kernels import tpu as pltpu
from ricci_xla import jit

ANY = pl.BlockSpec(memory_space=pl.ANY)
SMEM = pl.BlockSpec(memory_space=pltpu.SMEM)
X = np.arange(12, dtype=np.float32).reshape(4, 3)
Y = -X - 1
OUT = ir.ShapeDtypeStruct(X.shape, X.dtype)


def selection(body, count=2, outputs=1):
    """A call with numbers, some arrays of one shape, and outputs of that shape."""
    return pl.pallas_call(
        body,
        [OUT] * outputs,
        in_specs=[SMEM, *[ANY] * count],
        out_specs=[ANY] * outputs,
        interpret=True,
    )


def copied(which, *arrays):
    def body(which, *refs):
        *sources, out = refs
        pltpu.sync_copy(pl.select_ref(which[0], *sources), out)

    return selection(body, len(arrays))(which, *arrays)[0]


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("index", [0, 1, 2])
def test_a_copy_reads_the_selected_reference(index, x64):
    arrays = [X, Y, X * 2]
    with ir.enable_x64(x64):
        for f in (copied, jit(copied), copied):
            np.testing.assert_array_equal(f(np.int32([index]), *arrays), arrays[index])


@pytest.mark.parametrize(("index", "expected"), [(-3, X), (7, Y)])
def test_an_index_out_of_bounds_is_clamped(index, expected):
    np.testing.assert_array_equal(copied(np.int32([index]), X, Y), expected)


def test_a_copy_writes_the_selected_reference():
    def body(which, x, first, second):
        pltpu.sync_copy(x, first)
        pltpu.sync_copy(x, second)
        target = pl.select_ref(which[1], first, second).at[pl.ds(0, 2)]
        source = pl.select_ref(which[0], x.at[pl.ds(0, 2)], x.at[pl.ds(2, 2)])
        pltpu.sync_copy(source, target)

    first, second = selection(body, 1, 2)(np.int32([1, 1]), X)
    np.testing.assert_array_equal(first, X)
    np.testing.assert_array_equal(second, X[[2, 3, 2, 3]])


def test_a_started_copy_of_a_selected_reference_is_waited_for():
    def body(which, x, y, out, sem):
        copy = pltpu.make_async_copy(pl.select_ref(which[0], x, y), out, sem)
        copy.start()
        copy.wait()

    f = pl.pallas_call(
        body,
        OUT,
        in_specs=[SMEM, ANY, ANY],
        out_specs=ANY,
        scratch_shapes=[pltpu.SemaphoreType.DMA],
        interpret=True,
    )
    np.testing.assert_array_equal(jit(f)(np.int32([1]), X, Y), Y)


def test_selected_references_are_read_and_written():
    def body(which, x, y, out):
        out[...] = pl.select_ref(which[0], x, y)[...]
        pl.select_ref(which[1], out.at[0], out.at[3])[1:] = x[2, 1:]

    expected = Y.copy()
    expected[3, 1:] = X[2, 1:]
    np.testing.assert_array_equal(selection(body)(np.int32([1, 1]), X, Y)[0], expected)


def test_selections_differ_in_a_batch_and_have_derivatives():
    numbers = np.int32([[0], [1], [0]])
    results = vmap(lambda n: copied(n, X, Y))(numbers)
    np.testing.assert_array_equal(results, [X, Y, X])
    gradients = grad(lambda x, y: (copied(np.int32([1]), x, y) * X).sum(), (0, 1))(X, Y)
    np.testing.assert_array_equal(gradients[0], np.zeros_like(X))
    np.testing.assert_array_equal(gradients[1], X)


def test_wrong_selections_are_refused():
    with pytest.raises(ValueError, match="At least two refs"):
        selection(lambda which, x, y, out: pl.select_ref(0, x))(np.int32([0]), X, Y)
    message = r"float32\[4, 3\], float32\[2, 3\]. All have one shape"
    with pytest.raises(ValueError, match=message):
        selection(lambda which, x, y, out: pl.select_ref(0, x, y.at[:2]))(np.int32([0]), X, Y)
