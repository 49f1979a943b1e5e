"""Checks for debugging in interpreted kernels: where they are enabled, and under checkify."""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="kernels are run")

import ricci_ir as ir
import ricci_kernels as pl
import ricci_lax as lax
from ricci_autodiff import grad
from ricci_batching import vmap
from ricci_lax.checkify import checkify
from ricci_xla import jit

PAIRS = pl.BlockSpec((2,), lambda i: (i,))
GOOD = np.int32([1, 2, 3, 4, 5, 6])
BAD = np.int32([1, 2, -3, 4, -5, 6])  # at first in step 1
OUT = ir.ShapeDtypeStruct((6,), np.int32)


def call(body, dtype=np.int32):
    out = ir.ShapeDtypeStruct((6,), dtype)
    return pl.pallas_call(body, out, grid=3, in_specs=[PAIRS], out_specs=PAIRS, interpret=True)


def checked(x, out):
    pl.debug_check(x[0] > 0, "the {first} element is positive")
    out[...] = x[...]


copy = call(checked)


def run(f, *args):
    return np.asarray(f(*args))  # waits for the checks


@pytest.mark.parametrize("x64", [False, True])
def test_a_check_raises_where_it_is_enabled(x64):
    message = r"(?s)step \(1,\) of the grid: the \{first\} element is positive\nIt is at .*checked"
    with ir.enable_x64(x64):
        for f in (copy, jit(copy)):
            np.testing.assert_array_equal(run(f, BAD), BAD)
            with pl.enable_debug_checks(True):
                np.testing.assert_array_equal(run(f, GOOD), GOOD)
                with pytest.raises(ValueError, match=message):
                    run(f, BAD)
            ir.clear_caches()
            np.testing.assert_array_equal(run(f, BAD), BAD)


def test_checks_of_a_batch_and_of_a_derivative_raise():
    with pl.enable_debug_checks(True):
        np.testing.assert_array_equal(run(vmap(copy), np.stack([GOOD, GOOD])), [GOOD, GOOD])
        with pytest.raises(ValueError, match="is positive"):
            run(vmap(copy), np.stack([GOOD, BAD]))
        with pytest.raises(ValueError, match="is positive"):
            run(grad(lambda x: call(checked, np.float32)(x).sum()), BAD.astype(np.float32))


def in_branches(x, out):
    @pl.when(pl.program_id(0) == 2)
    def _():
        pl.debug_check(x[0] < 6, "in a branch")

    def turn(i, total):
        pl.debug_check(x[i] < 100, "in a loop")
        return total + x[i]

    out[...] = x[...] + lax.fori_loop(0, 2, turn, np.int32(0))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([9, 1, 1, 1, 1, 1], None),
        ([1, 1, 1, 1, 9, 1], "in a branch"),
        ([1, 1, 1, 100, 1, 1], "in a loop"),
        ([1, 1, 1, 100, 9, 1], "in a loop"),
    ],
)
def test_checks_in_branches_and_loops(values, message):
    x = np.int32(values)
    with pl.enable_debug_checks(True):
        if message is None:
            assert run(call(in_branches), x)[0] == 19
        else:
            with pytest.raises(ValueError, match=message):
                run(call(in_branches), x)


def test_an_index_out_of_bounds_and_a_check_are_both_reported():
    def kernel(x, out):
        pl.debug_check(x[1] != 4, "a check")
        out[...] = x[...] + x[x[0] - 1]

    with pl.enable_debug_checks(True):
        for values, message in [([1, 4, 9, 0, 1, 0], "a check"), ([9, 0, 1, 4, 1, 0], "index 8")]:
            with pytest.raises(ValueError, match=message):
                run(call(kernel), np.int32(values))


def test_checkify_finds_failed_checks():
    for f in (copy, jit(copy)):
        error, result = checkify(f)(BAD)
        assert error.get() == "the {first} element is positive (`check` failed)"
        np.testing.assert_array_equal(result, BAD)
        assert checkify(f)(GOOD)[0].get() is None


def test_a_condition_is_a_boolean_scalar():
    with pytest.raises(TypeError, match=r"boolean scalar, got bool\[2\]"):
        call(lambda x, out: pl.debug_check(x[...] > 0, "all"))(GOOD)
