"""Derivatives of pooling by extrema, which CPUs compute by positions for large arrays.

They equal those of small arrays, which XLA computes one window at a time, to the bit.
"""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="the lowering of compiled programs is tested")

import ricci
from ricci import lax

NONE = ((0, 0), (0, 0))
# The window's sizes, its strides, and the padding.
WINDOWS = {
    "apart": ((2, 2), (2, 2), NONE),
    "overlapping": ((3, 3), (2, 2), NONE),
    "padded": ((3, 3), (2, 2), ((1, 1), (1, 1))),
    "unevenly padded": ((5, 2), (3, 1), ((2, 1), (0, 2))),
    "strides of 1": ((3, 2), (1, 1), ((1, 1), (0, 0))),
    "gaps": ((2, 1), (3, 2), NONE),
    "in one dimension": ((1, 4), (1, 2), NONE),
}
EXTREMA = {"max": (lax.max, -np.inf), "min": (lax.min, np.inf)}


def image(dtype: str) -> np.ndarray:
    """Few different numbers, so that many are equal, and rows of NaNs and infinities."""
    x = np.random.default_rng(0).integers(-3, 4, (4, 4, 37, 33)).astype("float32")
    x[0, 0, 3:8, 3:9] = np.nan
    x[1, 1, :9, :9], x[1, 2, :9, :9] = -np.inf, np.inf
    return np.asarray(x, dtype)


def derivative(name: str, window: Any) -> Any:
    """The derivative by an image, of weights of the pooled elements."""
    sizes, strides, padding = window
    combine, start = EXTREMA[name]

    def pull_back(x: Any, weights: Any) -> Any:
        full = (1, 1, *sizes), (1, 1, *strides), (*NONE, *padding)
        first = np.asarray(start, x.dtype)[()]
        result, transposed = ricci.vjp(lambda x: lax.reduce_window(x, first, combine, *full), x)
        cotangents = weights[: result.shape[2], : result.shape[3]]
        return transposed(lax.broadcast(cotangents, result.shape[:2]))[0]

    return ricci.jit(pull_back)


CASES = [(window, "max", "float32") for window in WINDOWS]
CASES += [("apart", "min", "float64"), ("padded", "min", "float32")]


@pytest.mark.parametrize(("window", "name", "dtype"), CASES)
def test_derivative_is_that_of_each_plane(window, name, dtype):
    with ricci.enable_x64(dtype == "float64"):
        x = image(dtype)
        weights = np.random.default_rng(1).standard_normal((40, 40)).astype(dtype)
        pull_back = derivative(name, WINDOWS[window])
        large = pull_back(x, weights)
        for i, j in ((0, 0), (1, 1), (1, 2), (3, 3)):
            plane = pull_back(x[i : i + 1, j : j + 1], weights)
            np.testing.assert_array_equal(large[i, j], plane[0, 0])


def test_derivative_of_each_example_and_of_the_derivative():
    x = np.random.default_rng(0).standard_normal((3, 2, 2, 64, 64)).astype(np.float32)
    pooled = lambda x: lax.reduce_window(x, -np.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    cube = lambda x: (pooled(x) ** 3).sum()
    slopes = ricci.vmap(ricci.grad(cube))(x)
    for slope, one in zip(slopes, x, strict=True):
        np.testing.assert_array_equal(slope, ricci.grad(cube)(one))
    direction = np.ones_like(x[0])
    _, curvature = ricci.jvp(ricci.grad(cube), (x[0],), (direction,))
    selected = np.asarray(slopes[0]) != 0
    np.testing.assert_allclose(curvature, np.where(selected, 6 * x[0], 0), rtol=1e-5)


def test_small_arrays_and_large_windows_are_the_compiler_s():
    def lowered(size: int, window: int) -> str:
        full = (1, 1, window, window), (1, 1, window, window), "VALID"
        pooled = lambda x: lax.reduce_window(x, -np.inf, lax.max, *full).sum()
        compiled: Any = ricci.jit(ricci.grad(pooled))
        return compiled.lower(np.zeros((1, 1, size, size), np.float32)).as_text()

    assert "select_and_scatter" in lowered(64, 2)
    assert "select_and_scatter" in lowered(256, 6)
    assert "select_and_scatter" not in lowered(256, 2)
