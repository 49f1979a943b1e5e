"""Pointwise and complete convolutions equal sums over features and points, also as products.

The arrays are so large that they are lowered as products of matrices on CPUs.
"""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="the lowering of compiled programs is tested")

import ricci
import ricci.numpy as jnp
from ricci import lax

# The order of dimensions, sizes other than those below, and the sums in letters.
CASES = {
    "pointwise": ("NCHW OIHW NCHW", {}, "nchw,ocij->nohw"),
    "many features": ("NCHW OIHW NCHW", {"C": 400, "O": 300}, "nchw,ocij->nohw"),
    "features last": ("NHWC HWIO NHWC", {}, "nhwc,ijco->nhwo"),
    "one dimension": ("NCH OIH NCH", {"H": 160}, "nch,oci->noh"),
    "complete": ("NCHW OIHW NCHW", {"N": 30}, "nchw,ochw->no"),
    "complete, features last": ("NHWC HWIO NHWC", {"N": 30}, "nhwc,hwco->no"),
    "complete, mixed": ("CHNW WOHI CHWN", {"N": 30}, "chnw,wohc->on"),
}
SIZES = {"N": 4, "C": 24, "O": 12, "H": 9, "W": 8}


def convolution(name):
    """Return a convolution, its sums by NumPy, and its operands: small whole numbers."""
    orders, sizes, sums = CASES[name]
    orders, sizes = orders.split(), SIZES | sizes
    window = dict.fromkeys("HW", 1) if "complete" not in name else {d: sizes[d] for d in "HW"}
    rng = np.random.default_rng(0)
    x = rng.integers(-2, 3, [sizes[d] for d in orders[0]])
    of_kernel = {"O": sizes["O"], "I": sizes["C"], **window}
    kernel = rng.integers(-2, 3, [of_kernel[d] for d in orders[1]])

    def convolve(x, kernel, padding="VALID"):
        return lax.conv_general_dilated(
            x, kernel, (1,) * (x.ndim - 2), padding, dimension_numbers=tuple(orders)
        )

    result = {"N": sizes["N"], "O": sizes["O"], "C": sizes["O"]}
    result |= {d: 1 if "complete" in name else sizes[d] for d in "HW"}
    expected = np.einsum(sums, x, kernel).reshape([result[d] for d in orders[2]])
    return convolve, expected, x, kernel


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_values_are_exactly_the_sums(name, dtype):
    convolve, expected, x, kernel = convolution(name)
    with ricci.enable_x64(dtype == "float64"):
        operands = jnp.asarray(x, dtype), jnp.asarray(kernel, dtype)
        result = ricci.jit(convolve)(*operands)
        assert "stablehlo.convolution" not in ricci.jit(convolve).lower(*operands).as_text()
    np.testing.assert_array_equal(np.asarray(result), expected.astype(result.dtype))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", CASES)
def test_derivatives_are_exactly_those_of_the_sums(name, dtype):
    convolve, expected, x, kernel = convolution(name)
    cotangent = np.random.default_rng(1).integers(-2, 3, expected.shape)
    operands = jnp.asarray(x, dtype), jnp.asarray(kernel, dtype)
    _, pullback = ricci.vjp(convolve, *operands)
    results = ricci.jit(pullback)(jnp.asarray(cotangent, dtype))
    # The convolution is linear in each operand: its derivatives are sums of the cotangent.
    factors, result = CASES[name][2].split("->")
    of_x, of_kernel = factors.split(",")
    cotangent = np.squeeze(cotangent) if "complete" in name else cotangent
    for other, (letters, target), value in zip(
        (kernel, x), ((of_kernel, of_x), (of_x, of_kernel)), results, strict=True
    ):
        extra = set(target) - set(result + letters)  # dimensions of size one of the kernel
        kept = "".join(d for d in target if d not in extra)
        sums = np.einsum(f"{result},{letters}->{kept}", cotangent, other).reshape(value.shape)
        np.testing.assert_array_equal(np.asarray(value), sums.astype(value.dtype))


def test_batches_and_special_values_are_those_of_each_example():
    convolve, _, x, kernel = convolution("pointwise")
    x, kernel = x.astype("float32"), kernel.astype("float32")
    x[0, 0, 0, 0], x[1, 2, 3, 4], x[2, 3, 0, 0] = np.nan, np.inf, -np.inf
    kernels = np.stack([kernel, kernel + 1])
    results = ricci.jit(ricci.vmap(convolve, (None, 0)))(x, kernels)
    for result, each in zip(results, kernels, strict=True):
        expected = np.stack([np.einsum("chw,ocij->ohw", example, each) for example in x])
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("name", "padding"),
    [("pointwise", [(1, 0), (0, 0)]), ("complete", [(1, 1), (0, 0)]), ("complete", "SAME")],
)
def test_convolutions_with_padding_stay(name, padding):
    convolve, _, x, kernel = convolution(name)
    lowered = ricci.jit(lambda x, y: convolve(x, y, padding)).lower(x * 1.0, kernel * 1.0)
    assert "stablehlo.convolution" in lowered.as_text()


def test_other_platforms_get_the_convolution():
    convolve, _, x, kernel = convolution("pointwise")
    traced = ricci.jit(convolve).trace(x * 1.0, kernel * 1.0)
    text = traced.lower(lowering_platforms=("tpu",)).as_text()
    assert "stablehlo.convolution" in text
