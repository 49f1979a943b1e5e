"""Convolutions in 3-D, which CPUs compute by planes, equal sums of products by NumPy."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="the lowering of compiled programs is tested")

import ricci
from ricci import lax

CHANNELS_FIRST = ("NCDHW", "OIDHW", "NCDHW")
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "strides": {"window_strides": (2, 3, 1)},
    "padding": {"padding": [(2, 1), (-1, 2), (0, 3)]},
    "dilated kernels": {"rhs_dilation": (2, 1, 3)},
    "dilated operands": {"lhs_dilation": (3, 2, 1)},
    "all": {
        "window_strides": (2, 1, 2),
        "padding": [(-1, 2), (1, 1), (2, -1)],
        "lhs_dilation": (2, 1, 2),
        "rhs_dilation": (2, 2, 1),
    },
    "channels last": {"numbers": ("NDHWC", "DHWIO", "NDHWC")},
    "mixed": {"numbers": ("DCHNW", "WIODH", "HNCWD")},
}
SIZES = {"N": 2, "C": 4, "I": 4, "O": 5, "D": 9, "H": 13, "W": 11}
WINDOW = {**SIZES, "D": 3, "H": 2, "W": 4}


def spatial_dims(text: str) -> int:
    """The number of spatial dimensions of a module's convolution."""
    dims = re.search(r"dim_numbers = \[(.*?)\]", text)
    assert dims is not None
    return len(dims[1].split(",")) - 2


def exact(x: np.ndarray, kernel: np.ndarray, numbers: Sequence[str], options: Any) -> np.ndarray:
    """The convolution in float64, position by position of the kernel."""
    x = np.einsum(f"{numbers[0]}->NCDHW", x.astype(np.float64))
    kernel = np.einsum(f"{numbers[1]}->OIDHW", kernel.astype(np.float64))
    ones = (1, 1, 1)
    spread = options.get("lhs_dilation", ones)
    sizes = [(n - 1) * gap + 1 for n, gap in zip(x.shape[2:], spread, strict=True)]
    wide = np.zeros((*x.shape[:2], *sizes))
    wide[(..., *(slice(None, None, gap) for gap in spread))] = x
    padding = options.get("padding", [(0, 0)] * 3)
    wide = np.pad(wide, [(0, 0)] * 2 + [(max(a, 0), max(b, 0)) for a, b in padding])
    cut = [
        slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(wide.shape[2:], padding, strict=True)
    ]
    wide = wide[(..., *cut)]
    gaps, strides = options.get("rhs_dilation", ones), options.get("window_strides", ones)
    counts = [
        (n - (k - 1) * gap - 1) // step + 1
        for n, k, gap, step in zip(wide.shape[2:], kernel.shape[2:], gaps, strides, strict=True)
    ]
    total = np.zeros((x.shape[0], kernel.shape[0], *counts))
    for position in np.ndindex(*kernel.shape[2:]):
        places = [
            slice(i * gap, i * gap + (n - 1) * step + 1, step)
            for i, gap, n, step in zip(position, gaps, counts, strides, strict=True)
        ]
        element = kernel[(..., *position)]
        total += np.einsum("ncdhw,oc->nodhw", wide[(..., *places)], element)
    return np.einsum(f"NCDHW->{numbers[2]}", total)


def operands(numbers: Sequence[str], dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = [SIZES[c] for c in numbers[0]], [WINDOW[c] for c in numbers[1]]
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", OPTIONS)
def test_convolution_of_volumes_is_the_sum_of_products(name, dtype):
    options = {"window_strides": (1, 1, 1), "padding": [(0, 0)] * 3, **OPTIONS[name]}
    numbers = options.pop("numbers", CHANNELS_FIRST)
    with ricci.enable_x64(dtype == "float64"):
        x, kernel = operands(numbers, dtype)
        conv: Any = ricci.jit(
            lambda x, kernel: lax.conv_general_dilated(
                x, kernel, **options, dimension_numbers=numbers
            )
        )
        assert spatial_dims(conv.lower(x, kernel).as_text()) == 2
        tolerance = 1e-5 if dtype == "float32" else 1e-13
        np.testing.assert_allclose(
            conv(x, kernel), exact(x, kernel, numbers, options), rtol=tolerance, atol=tolerance
        )


def test_derivatives_are_the_transposes():
    with ricci.enable_x64(True):
        x, kernel = operands(CHANNELS_FIRST, "float64")
        conv = lambda x, kernel: lax.conv(x, kernel, (1, 1, 2), "SAME")
        result, pull_back = ricci.vjp(conv, x, kernel)
        cotangent = np.random.default_rng(1).standard_normal(result.shape)
        of_x, of_kernel = pull_back(cotangent)
        expected = np.vdot(cotangent, result)
        np.testing.assert_allclose(np.vdot(of_x, x), expected, rtol=1e-12)
        np.testing.assert_allclose(np.vdot(of_kernel, kernel), expected, rtol=1e-12)


def test_examples_and_groups():
    x, kernel = operands(CHANNELS_FIRST, "float32")
    conv = lambda x, kernel: lax.conv(x, kernel, (1, 1, 1), "VALID")
    both = np.stack([kernel, 2 * kernel])
    results = ricci.vmap(conv, (None, 0))(x, both)
    for result, one in zip(results, both, strict=True):
        np.testing.assert_allclose(result, conv(x, one), rtol=1e-5, atol=1e-5)


def test_few_elements_and_many_planes_are_the_compiler_s():
    def dims(*shapes: tuple[int, ...]) -> int:
        conv: Any = ricci.jit(lambda x, kernel: lax.conv(x, kernel, (1, 1, 1), "SAME"))
        text = conv.lower(*(np.zeros(shape, np.float32) for shape in shapes)).as_text()
        return spatial_dims(text)

    assert dims((1, 1, 4, 4, 4), (1, 1, 3, 3, 3)) == 3
    assert dims((1, 1, 32, 32, 32), (1, 1, 9, 3, 3)) == 3
    assert dims((1, 1, 32, 32, 32), (1, 1, 3, 3, 3)) == 2
