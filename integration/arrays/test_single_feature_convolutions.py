"""Convolutions of one feature, which CPUs compute by matrix products, equal NumPy's in float64."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="the lowering of compiled programs is tested")

import ricci
import ricci.numpy as jnp
from ricci import lax

RANDOM = np.random.default_rng(0)
MODES = ["full", "same", "valid"]


@pytest.mark.parametrize("taps", [8, 33, 64, 101])
@pytest.mark.parametrize("mode", MODES)
def test_convolution_is_numpy_s(mode, taps):
    x, kernel = (RANDOM.standard_normal(n).astype(np.float32) for n in (17001, taps))
    result = np.asarray(jnp.convolve(x, kernel, mode))
    x, kernel = x.astype(np.float64), kernel.astype(np.float64)
    error = np.abs(result - np.convolve(x, kernel, mode))
    # The rounding errors of a sum are bounded by the sum of the sizes.
    assert np.max(error / np.convolve(np.abs(x), np.abs(kernel), mode)) < 4 * 2.0**-24


def test_examples_padding_and_dimensions_in_other_orders():
    x, kernel = RANDOM.standard_normal((3, 9000)), RANDOM.standard_normal(20)
    numbers = ("WCN", "OWI", "CNW")
    with ricci.enable_x64(True):
        result = lax.conv_general_dilated(
            x.T[:, None], kernel[None, :, None], (1,), [(25, -5)], dimension_numbers=numbers
        )
        wide = np.pad(x, ((0, 0), (25, 0)))[:, :-5]
        for row, one in zip(result[0], wide, strict=True):
            np.testing.assert_allclose(row, np.correlate(one, kernel), rtol=1e-12, atol=1e-12)


def test_derivatives_are_the_transposes():
    with ricci.enable_x64(True):
        x, kernel = RANDOM.standard_normal(20000), RANDOM.standard_normal(40)
        result, pull_back = ricci.vjp(jnp.convolve, x, kernel)
        cotangent = RANDOM.standard_normal(result.shape)
        expected = np.vdot(cotangent, result)
        for slope, operand in zip(pull_back(cotangent), (x, kernel), strict=True):
            np.testing.assert_allclose(np.vdot(slope, operand), expected, rtol=1e-11)


def test_other_convolutions_are_the_compiler_s():
    def operation(size: int, taps: int) -> str:
        compiled: Any = ricci.jit(jnp.convolve)
        operands = (np.zeros(n, np.float32) for n in (size, taps))
        text = compiled.lower(*operands).as_text()
        return "convolution" if "stablehlo.convolution" in text else "products"

    assert operation(20000, 100) == "products"
    assert operation(16000, 100) == "convolution"
    assert operation(20000, 7) == "convolution"
    assert operation(20000, 600) == "convolution"
