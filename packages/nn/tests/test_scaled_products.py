"""Products of operands that are quantized in blocks."""

import numpy as np
import pytest

import ricci_nn as nn

pytest.importorskip("ricci_xla", reason="values are computed by a backend")


@pytest.mark.parametrize(("mode", "error"), [("mxfp8", 0.05), ("mxfp4", 0.2)])
def test_quantized_product_is_near_the_exact_one(mode, error):
    x = np.random.RandomState(0).randn(1, 8, 64).astype(np.float32)
    config = nn.get_scaled_dot_general_config(mode)
    assert config.block_size == 32
    product = nn.scaled_dot_general(
        x, x, (((2,), (2,)), ((0,), (0,))), configs=[config] * 3, preferred_element_type="float32"
    )
    exact = x @ np.swapaxes(x, 1, 2)
    assert np.abs(product - exact).max() < error * np.abs(exact).max()


def test_numbers_that_float4_holds_are_exact_under_mxfp4():
    x = np.tile(np.float32([0.5, 1, 1.5, 2, 3, 4, 6, -6]), (1, 2, 4))
    config = nn.get_scaled_dot_general_config("mxfp4")
    product = nn.scaled_dot_general(
        x, x, (((2,), (2,)), ((0,), (0,))), configs=[config] * 3, preferred_element_type="float32"
    )
    np.testing.assert_array_equal(product, x @ np.swapaxes(x, 1, 2))


def test_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="mxfp4"):
        nn.get_scaled_dot_general_config("mxfp2")
