"""The kernel of convolutions computes what XLA computes, in each geometry, and its derivatives."""

import numpy as np
import pytest

import ricci_ir as ir
import ricci_lax as lax
from ricci_autodiff import vjp
from ricci_batching import vmap
from ricci_xla import jit

pytestmark = pytest.mark.usefixtures("wide")

FIRST, LAST = ("NCHW", "OIHW", "NCHW"), ("NHWC", "HWIO", "NHWC")
# Shapes of the operand and the kernels, and the other parameters.
GEOMETRIES = {
    "plain": ((2, 3, 20, 41), (12, 3, 3, 5), {}),
    "one feature more than a block": ((1, 2, 24, 24), (11, 2, 2, 2), {}),
    "groups": ((3, 8, 19, 30), (12, 2, 3, 3), {"feature_group_count": 4}),
    "features last": (
        (3, 19, 30, 8),
        (3, 3, 2, 12),
        {"feature_group_count": 4, "dimension_numbers": LAST},
    ),
    "depthwise": ((2, 9, 25, 30), (9, 1, 3, 3), {"feature_group_count": 9}),
    "depthwise, 5×5, narrow": ((3, 30, 12, 7), (30, 1, 5, 5), {"feature_group_count": 30}),
    "depthwise, 2×4, two kernels": ((2, 5, 40, 9), (10, 1, 2, 4), {"feature_group_count": 5}),
    "depthwise, 3×3, bands, cropped": (
        (1, 3, 300, 67),
        (3, 1, 3, 3),
        {"feature_group_count": 3, "padding": ((-2, 4), (3, -5))},
    ),
    "steps": ((2, 4, 61, 64), (5, 4, 3, 4), {"window_strides": (2, 3)}),
    "dilated": ((2, 4, 30, 31), (5, 4, 3, 2), {"rhs_dilation": (2, 3)}),
    "steps and dilated": (
        (2, 4, 66, 64),
        (5, 4, 3, 3),
        {"rhs_dilation": (3, 2), "window_strides": (2, 2)},
    ),
    "cropped": ((2, 4, 30, 31), (5, 4, 3, 2), {"padding": ((-2, 3), (1, -1))}),
    "wide padding": ((2, 2, 20, 16), (6, 2, 2, 3), {"padding": ((5, 4), (7, 6))}),
    "transposed": ((2, 4, 30, 31), (5, 4, 3, 3), {"lhs_dilation": (2, 3)}),
    "in 1-D": ((3, 5, 700), (7, 5, 9), {"dimension_numbers": ("NCH", "OIH", "NCH")}),
    "in 3-D": (
        (2, 2, 9, 10, 18),
        (7, 2, 3, 2, 3),
        {"window_strides": (1, 2, 1), "dimension_numbers": None},
    ),
    "bands": ((1, 16, 96, 100), (8, 16, 3, 3), {}),
}


def case(name, dtype="float64"):
    shape, kernel, params = GEOMETRIES[name]
    random = np.random.default_rng(len(name))
    operands = [random.standard_normal(s).astype(dtype) for s in (shape, kernel)]
    ones = (1,) * (len(shape) - 2)
    params = {"window_strides": ones, "padding": ((1, 1),) * len(ones), **params}
    params.setdefault("dimension_numbers", FIRST if len(shape) == 4 else None)
    return operands, lambda x, y: lax.conv_general_dilated(x, y, **params)


def computed(enabled, function, *args):
    """Return the result with kernels, or without."""
    with ir.native_kernels(enabled):
        return np.asarray(jit(lambda *xs: function(*xs))(*args))


def both(function, *args):
    """Return the results with kernels and without."""
    return [computed(enabled, function, *args) for enabled in (True, False)]


@pytest.mark.parametrize("name", GEOMETRIES)
def test_results_and_derivatives_are_those_of_xla(comparison, name):
    operands, convolve = case(name)
    cotangent = np.random.default_rng(1).standard_normal(jit(convolve)(*operands).shape)

    def pulled_back(i):
        return lambda x, y, ct: vjp(convolve, x, y)[1](ct)[i]

    calls = comparison.calls_kernel
    assert calls(convolve, *operands) == (name != "transposed")
    assert calls(pulled_back(1), *operands, cotangent)
    for function, args in (
        (convolve, operands),
        (pulled_back(0), [*operands, cotangent]),
        (pulled_back(1), [*operands, cotangent]),
    ):
        ours, theirs = both(function, *args)
        np.testing.assert_allclose(ours, theirs, atol=1e-13 * np.abs(theirs).max(), rtol=0)


@pytest.mark.parametrize("name", ["plain", "groups", "depthwise, 3×3, bands, cropped", "in 1-D"])
def test_float32(name):
    operands, convolve = case(name, "float32")
    cotangent = np.ones(jit(convolve)(*operands).shape, np.float32)

    def pulled_back(i):
        return lambda x, y, ct: vjp(convolve, x, y)[1](ct)[i]

    for function, args in (
        (convolve, operands),
        (pulled_back(0), [*operands, cotangent]),
        (pulled_back(1), [*operands, cotangent]),
    ):
        ours = computed(True, function, *args)
        exact = computed(False, function, *(x.astype("float64") for x in args))
        assert ours.dtype == np.float32
        np.testing.assert_allclose(ours, exact, atol=2e-6 * np.abs(exact).max(), rtol=0)


@pytest.mark.parametrize("value", [np.inf, np.nan])
@pytest.mark.parametrize("name", ["plain", "groups", "depthwise", "steps and dilated", "in 3-D"])
def test_an_infinity_reaches_what_depends_on_it(name, value):
    operands, convolve = case(name)
    operands[0].flat[operands[0].size // 2 + 1] = value
    cotangent = np.ones(jit(convolve)(*operands).shape)
    derivative = lambda x, y: vjp(convolve, x, y)[1](cotangent)[1]
    for function in (convolve, derivative):
        ours, theirs = both(function, *operands)
        assert np.isfinite(ours).any()
        np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))
        np.testing.assert_array_equal(np.isinf(ours), np.isinf(theirs))


def test_batches(comparison):
    (x, y), convolve = case("groups")
    for axes, args in (((0, None), (np.stack([x, 2 * x]), y)), ((None, 0), (x, np.stack([y, -y])))):
        mapped = vmap(convolve, axes)
        assert comparison.calls_kernel(mapped, *args)
        ours, theirs = both(mapped, *args)
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
