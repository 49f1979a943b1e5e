"""Indices of interpreted kernels at run time: ``checkify`` and the option name each bad one."""

import re

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="kernels are run")

import ricci_ir as ir
import ricci_kernels as pl
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_autodiff import grad
from ricci_batching import vmap
from ricci_kernels import tpu as pltpu
from ricci_kernels import triton as plgpu
from ricci_kernels.tools import check
from ricci_lax import checkify
from ricci_xla import jit

F32 = np.float32
STEPS = 3


def read(i, x, out):
    out[0, :] = x[i, :]


def window(i, x, out):
    out[...] = x[pl.ds(i, 2), :]


def view(i, x, out):
    out[0, :] = x.at[pl.ds(1, 5)].at[i][...]


def rows(i, x, out):
    out[...] = x[jnp.stack([i, 0 * i]), :]


def store(i, x, out):
    out[i, :] = x[0, :]


def update(i, x, out):
    out[...] = jnp.zeros_like(out)
    plgpu.atomic_add(out, (i, pl.ds(0, 4)), x[0, :])


def masked_load(i, x, out):
    at = i + jnp.arange(2)
    out[0, :2] = plgpu.load(x.at[at, jnp.arange(2)], mask=at < 6, other=0.0)


def masked_store(i, x, out):
    at = i + jnp.arange(2)
    plgpu.store(out.at[at, jnp.arange(2)], x[0, :2], mask=at < 3)


def copy(i, x, out):
    pltpu.sync_copy(x.at[pl.ds(i, 2)], out)


def branch(i, x, out):
    @pl.when(pl.program_id(0) == 1)
    def _():
        out[0, :] = x[i, :]


def loop(i, x, out):
    def body(k, total):
        return total + x[i + k, :]

    out[0, :] = lax.fori_loop(0, 2, body, jnp.zeros(4, F32))


def scratch(i, x, out):
    def body(buffer):
        buffer[i, :] = x[0, :]
        out[0, :] = buffer[i, :]

    pl.run_scoped(body, pltpu.VMEM((6, 4), F32))


def value(i, x, out):
    out[0, :] = lax.dynamic_index_in_dim(x[...], i, 0, keepdims=False)


# By name: the kernel, an index within bounds, one that is not, the index, axis and size in the
# message, and the operand.
CASES = {
    "read": (read, 5, 6, "index 6 is out of bounds for axis 0 of size 6", "args[0]"),
    "negative": (read, 0, -1, "index -1 is out of bounds for axis 0 of size 6", "args[0]"),
    "window": (window, 4, 5, "a window of 2 elements from 5 is out of bounds", "args[0]"),
    "view": (view, 4, 5, "index 5 is out of bounds for axis 0 of size 5", "args[0]"),
    "rows": (rows, -6, 6, "index 6 is out of bounds for axis 0 of size 6", "args[0]"),
    "rows below": (rows, 5, -7, "index -1 is out of bounds for axis 0 of size 6", "args[0]"),
    "store": (store, 1, 2, "index 2 is out of bounds for axis 0 of size 2", "outputs"),
    "update": (update, 1, 2, "index 2 is out of bounds for axis 0 of size 2", "outputs"),
    "masked load": (masked_load, 6, -1, "index -1 is out of bounds for axis 0", "args[0]"),
    "masked store": (masked_store, 0, 1, "index 2 is out of bounds for axis 0", "outputs"),
    "copy": (copy, 4, 5, "a window of 2 elements from 5 is out of bounds", "args[0]"),
    "branch": (branch, 5, 7, "index 7 is out of bounds for axis 0 of size 6", "args[0]"),
    "loop": (loop, 4, 5, "index 6 is out of bounds for axis 0 of size 6", "args[0]"),
    "scratch": (scratch, 5, 6, "index 6 is out of bounds for axis 0", "a buffer of run_scoped"),
    "value": (value, 5, 6, "index 6 is out of bounds for axis 0 of size 6", "a value"),
}
X = np.arange(24, dtype=F32).reshape(6, 4)
behavior = ir.config.state("jax_error_checking_behavior_oob")


def call(kernel, steps=STEPS):
    """A call of a kernel, which gets the index of each step from a prefetched array."""

    def body(indices, x, out):
        kernel(indices[pl.program_id(0)], x, out)

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(steps,),
        in_specs=[pl.BlockSpec((6, 4), lambda i, _: (0, 0))],
        out_specs=pl.BlockSpec((2, 4), lambda i, _: (i, 0)),
    )
    shape = ir.ShapeDtypeStruct((2 * steps, 4), F32)
    return pl.pallas_call(body, shape, grid_spec=spec, interpret=True)


def checked(run, *args):
    error, out = checkify.checkify(run, errors=checkify.all_checks)(*args)
    return error.get(), out


@pytest.mark.sampled(17)  # of 30, among them every case
@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "jitted"])
@pytest.mark.parametrize("name", CASES)
def test_an_index_out_of_bounds_is_named_with_operand_step_and_line(name, wrap):
    kernel, inside, outside, message, operand = CASES[name]
    run = call(kernel)
    right, wrong = np.full(STEPS, inside, np.int32), np.full(STEPS, inside, np.int32)
    wrong[1] = outside
    error, out = checked(wrap(run), right, X)
    assert error is None
    np.testing.assert_array_equal(out, run(right, X))
    error, out = checked(wrap(run), wrong, X)
    assert error is not None
    assert message in error
    line = kernel.__code__.co_firstlineno
    place = re.escape(f"{operand} of the kernel body at ")
    match = re.search(place + r".*, at .*test_index_checks.py:(\d+):.*in step \(1,\)", error)
    assert match, error
    assert 0 < int(match[1]) - line < 7
    with behavior("ignore"):
        np.testing.assert_array_equal(out, run(wrong, X))


@pytest.mark.parametrize("name", CASES)
def test_kernels_check_runs_a_kernel_and_reports_its_index(name):
    kernel, inside, outside, message, operand = CASES[name]
    indices = np.full(STEPS, inside, np.int32)
    assert check(call(kernel), indices, X) == []
    indices[1] = outside
    (finding,) = check(call(kernel), indices, X)
    assert (finding.kind, finding.operand, finding.step) == ("index out of bounds", operand, (1,))
    assert message in str(finding)
    # Without data nothing is known of the index.
    assert check(call(kernel), ir.ShapeDtypeStruct((STEPS,), np.int32), X) == []


def test_the_first_step_with_an_error_is_reported():
    error, _ = checked(call(read), np.int32([0, 8, 7]), X)
    assert error is not None and "index 8" in error


def test_the_option_raises_the_error():
    run, wrong = jit(call(read)), np.int32([0, 1, 6])
    with behavior("ignore"):
        assert run(wrong, X).shape == (6, 4)
    with behavior("raise"):
        assert run(np.int32([0, 1, 5]), X).shape == (6, 4)
        with pytest.raises(ValueError, match=r"index 6 .*args\[0\] of the kernel.*step \(2,\)"):
            run(wrong, X)


@pytest.mark.parametrize("name", ["read", "window", "branch", "copy"])
def test_indices_are_checked_with_64_bit_types(name):
    kernel, _, outside, message, _ = CASES[name]
    with ir.enable_x64(True):
        error, _ = checked(call(kernel), np.full(STEPS, outside, np.int64), X.astype(F32))
    assert error is not None and message in error


def test_checked_kernels_are_mapped_and_differentiated():
    run = call(read)
    batch = np.int32([[0, 1, 2], [0, 9, 2]])
    error, _ = checked(vmap(run, in_axes=(0, None)), batch, X)
    assert error is not None and "index 9" in error and "in step (1,)" in error
    error, _ = checkify.checkify(vmap(run, in_axes=(0, None)), errors=checkify.index_checks)(
        batch % 6, X
    )
    assert error.get() is None
    total = lambda x, indices: checked(run, indices, x)[1][::2].sum()
    slope = grad(lambda x: call(read)(np.int32([1, 1, 2]), x)[::2].sum())(X)
    np.testing.assert_array_equal(grad(total)(X, np.int32([1, 1, 2])), slope)
    np.testing.assert_array_equal(slope[:, 0], [0, 2, 1, 0, 0, 0])


def test_nan_of_padding_is_not_an_error():
    def kernel(x, out):
        out[...] = x[...] * 2

    blocks = pl.BlockSpec((4,), lambda i: (i,))
    shape = ir.ShapeDtypeStruct((6,), F32)
    run = pl.pallas_call(kernel, shape, grid=2, in_specs=[blocks], out_specs=blocks, interpret=True)
    error, out = checked(run, np.ones(6, F32))
    assert error is None
    np.testing.assert_array_equal(out, np.full(6, 2, F32))


def test_checks_of_users_in_kernels_are_absorbed():
    def kernel(i, x, out):
        checkify.check(i < 2, "{i} is too large", i=i)
        out[...] = x[:2, :]

    assert checked(call(kernel), np.int32([0, 1, 0]), X)[0] is None
    error, _ = checked(call(kernel), np.int32([0, 1, 5]), X)
    assert error == "5 is too large (`check` failed)"


@pytest.mark.parametrize("steps", [0, 1])
def test_small_grids(steps):
    error, out = checked(call(read, steps), np.full(4, 9, np.int32), X)
    assert out.shape == (2 * steps, 4)
    assert (error is None) == (steps == 0)


def test_a_kernel_without_a_grid_and_an_empty_array():
    def kernel(i, x, out):
        out[...] = x[pl.ds(i[...], 0)]

    shape = ir.ShapeDtypeStruct((0,), F32)
    run = pl.pallas_call(kernel, shape, interpret=True)
    assert checked(run, np.int32(7), np.ones(3, F32))[0] is None

    def one(i, x, out):
        out[...] = x[i[...]]

    run = pl.pallas_call(one, ir.ShapeDtypeStruct((), F32), interpret=True)
    error, _ = checked(run, np.int32(7), np.ones(3, F32))
    assert error is not None and "args[1] of the kernel one" in error and "step ()" in error
