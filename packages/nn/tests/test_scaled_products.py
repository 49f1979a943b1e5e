"""Products of operands that are quantized in blocks."""

import numpy as np
import pytest

import ricci_nn as nn
from ricci_autodiff import grad
from ricci_batching import vmap

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


def test_gradient_of_nvfp4_is_that_of_the_product_without_quantization():
    a, b = (np.random.RandomState(i).randn(1, 16, 32).astype(np.float32) for i in (0, 1))
    a[0, 0, 0] = 3000.0  # beyond what the format holds
    configs = [nn.get_scaled_dot_general_config("nvfp4")] * 3
    numbers = (((2,), (2,)), ((0,), (0,)))
    total = lambda a, b: nn.scaled_dot_general(a, b, numbers, configs=configs).sum()
    by_a, by_b = grad(total, argnums=(0, 1))(a, b)
    expected = np.broadcast_to(b.sum(1, keepdims=True), a.shape).copy()
    expected[0, 0, 0] = 0
    np.testing.assert_allclose(by_a, expected, rtol=1e-5)
    np.testing.assert_allclose(by_b, np.broadcast_to(a.sum(1, keepdims=True), b.shape), rtol=1e-5)


def test_scaled_matmul_has_a_derivative_and_a_batch():
    x, scale = np.ones((1, 4, 32), np.float32), np.full((1, 4, 1), 2.0, np.float32)
    gradient = grad(lambda x: nn.scaled_matmul(x, x, scale, scale).sum())(x)
    assert np.asarray(gradient).tolist() == np.full((1, 4, 32), 32.0).tolist()
    product = lambda x: nn.scaled_matmul(x, x, scale, scale)
    stack = np.stack([x, 2 * x])
    np.testing.assert_array_equal(vmap(product)(stack), np.stack([product(x) for x in stack]))
