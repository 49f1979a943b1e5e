"""Convolutions of CPUs have their features last, in loops and branches too, with equal values."""

import re
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="the lowering of compiled programs is tested")

import ricci
import ricci.numpy as jnp
from ricci import lax

FIRST = ("NCHW", "OIHW", "NCHW")
# The order of dimensions, and options.
CASES: dict[str, tuple[tuple[str, str, str], dict[str, Any]]] = {
    "features last": (("NHWC", "HWIO", "NHWC"), {}),
    "features first": (FIRST, {"window_strides": (2, 3), "padding": [(2, 1), (-1, 2)]}),
    "mixed": (("CHNW", "WIOH", "HNCW"), {"lhs_dilation": (2, 1), "rhs_dilation": (1, 2)}),
    "one dimension": (("NCX", "OIX", "NCX"), {"window_strides": (2,)}),
}
SIZES = {"N": 3, "C": 8, "I": 8, "O": 5, "H": 24, "W": 17, "X": 400}
WINDOW = {**SIZES, "H": 3, "W": 2, "X": 3}


def operands(numbers, dtype):
    rng = np.random.default_rng(0)
    shapes = [SIZES[c] for c in numbers[0]], [WINDOW[c] for c in numbers[1]]
    return [jnp.asarray(rng.standard_normal(shape), dtype) for shape in shapes]


def loss_of(numbers, options):
    rank = len(numbers[0]) - 2
    options = {"window_strides": (1,) * rank, "padding": [(0, 0)] * rank, **options}

    def loss(x, kernel):
        out = lax.conv_general_dilated(x, kernel, **options, dimension_numbers=numbers)
        return jnp.sum(jnp.sin(out)), out

    return loss


def in_loop(f):
    def run(*args):
        first = ricci.tree.map(jnp.zeros_like, ricci.eval_shape(f, *args))
        return lax.fori_loop(0, 2, lambda _, __: f(*args), first)

    return run


def in_branch(f):
    return lambda *args: lax.cond(jnp.sum(args[0]) > 1e9, lambda *args: f(*args), f, *args)


def orders(f, *args):
    """The orders of the dimensions of a module's convolutions."""
    text = ricci.jit(f).lower(*args).as_text()
    return {*re.findall(r"dim_numbers = (.*?), window", text)}


LAST = {4: "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", 3: "[b, 0, f]x[0, i, o]->[b, 0, f]"}


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives_in_loops_are_those_outside(name):
    numbers, options = CASES[name]
    args = operands(numbers, np.float32)
    step = ricci.value_and_grad(loss_of(numbers, options), (0, 1), has_aux=True)
    assert orders(in_loop(step), *args) == {LAST[len(numbers[0])]}
    with ricci.enable_x64(True):
        exact = step(*(a.astype(np.float64) for a in args))
    for run in (in_loop(step), in_branch(step)):
        for result, value in zip(
            ricci.tree.leaves(ricci.jit(run)(*args)), ricci.tree.leaves(exact), strict=True
        ):
            scale = float(jnp.max(jnp.abs(value)))
            np.testing.assert_allclose(result, value, rtol=1e-4, atol=1e-5 * scale)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, np.float16])
def test_narrow_floats(dtype):
    x, kernel = operands(FIRST, dtype)
    conv = lambda x, kernel: lax.conv(x, kernel, (1, 1), "SAME")
    assert orders(conv, x, kernel) == {LAST[4]}
    result = ricci.jit(in_loop(conv))(x, kernel)
    assert result.dtype == dtype
    exact = conv(x.astype(np.float32), kernel.astype(np.float32))
    np.testing.assert_allclose(result, exact, rtol=0.05, atol=0.3)


@pytest.mark.parametrize("shape", [(1, 2, 4, 4), (1, 0, 64, 64)])
def test_few_elements_are_left_as_they_are(shape):
    x, kernel = np.ones(shape, np.float32), np.ones((2, shape[1], 3, 3), np.float32)
    conv = lambda x, kernel: lax.conv(x, kernel, (1, 1), "SAME")
    assert LAST[4] not in orders(conv, x, kernel)
    assert float(jnp.max(ricci.jit(conv)(x, kernel))) == 9 * shape[1]


def test_integers_and_wide_floats_are_left_as_they_are():
    conv = lambda x, kernel: lax.conv(x, kernel, (1, 1), "SAME")
    with ricci.enable_x64(True):
        for dtype in (np.int32, np.float64):
            x, kernel = operands(FIRST, dtype)
            assert LAST[4] not in orders(conv, x, kernel)
