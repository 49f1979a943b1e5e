"""Trigonometric functions of large arrays on CPUs, beside NumPy's in float64."""

from typing import Any

import numpy as np
import pytest

import ricci
from ricci import lax

SIZE = 16384  # the least that the formulas are used for
RANDOM = np.random.default_rng(0)
# Beside zeros: numbers without bits behind the point, where the reduction changes its parts.
CORNERS = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    3.4e38,
    1.6478e31,
    2.0**47,
    2.0**71,
    2.0**95,
    2.0**119,
]
CIRCULAR = {"sin": np.sin, "cos": np.cos, "tan": np.tan}
INVERSE = {"asin": np.arcsin, "acos": np.arccos}


def filled(*parts) -> np.ndarray:
    """Join parts to one array of float32 that is large enough for the formulas."""
    return np.resize(np.concatenate([np.asarray(part, "float32") for part in parts]), 2 * SIZE)


def all_floats() -> np.ndarray:
    bits = RANDOM.integers(0, 2**32, SIZE, dtype=np.uint32).view(np.float32)
    near = RANDOM.integers(1, 2**26, SIZE // 2) * (np.pi / 2)
    ordinary = RANDOM.uniform(-20, 20, SIZE // 2)
    normal = bits[~(np.abs(bits) < np.finfo(np.float32).tiny)]  # the others count as 0
    return filled(normal, near, ordinary, CORNERS)


def compiled(name: str) -> Any:
    return ricci.jit(getattr(lax, name))


def last_places(result: np.ndarray, exact: np.ndarray) -> float:
    """The greatest error in units of the last place; NaNs must be at the same elements."""
    np.testing.assert_array_equal(np.isnan(result), np.isnan(exact))
    normal = np.abs(exact) >= np.finfo(np.float32).tiny
    rounded = np.abs(exact[normal]).astype(np.float32)
    return float(np.max(np.abs(result[normal] - exact[normal]) / np.spacing(rounded)))


def ranges(name: str) -> np.ndarray:
    if name in CIRCULAR:
        return all_floats()
    tail = 1 - 2.0 ** -RANDOM.uniform(0, 24, SIZE // 2)
    tiny = 2.0 ** -RANDOM.uniform(0, 120, SIZE // 2)
    return filled(RANDOM.uniform(-1, 1, SIZE // 2), tail, -tail, tiny, [1, -1, 0, -0.0, 2, np.nan])


@pytest.mark.parametrize("name", [*CIRCULAR, *INVERSE])
def test_result_is_the_exact_one_rounded(name):
    x = ranges(name)
    with np.errstate(all="ignore"):
        exact = {**CIRCULAR, **INVERSE}[name](x.astype(np.float64))
    result = np.asarray(compiled(name)(x))
    assert result.dtype == np.float32
    assert last_places(result, exact) < 0.51
    if name != "acos":
        np.testing.assert_array_equal(np.signbit(result[x == 0]), np.signbit(exact[x == 0]))


def test_atan2_knows_zeros_and_infinities():
    values = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 3e38], np.float32)
    y, x = map(np.ravel, np.meshgrid(values, values))
    scale = 10.0 ** RANDOM.integers(-15, 15, SIZE)
    y, x = filled(y, RANDOM.normal(size=SIZE) * scale), filled(x, RANDOM.normal(size=SIZE))
    exact = np.arctan2(y.astype(np.float64), x.astype(np.float64))
    result = np.asarray(compiled("atan2")(y, x))
    assert last_places(result, exact) < 0.51
    numbers = ~np.isnan(exact)
    np.testing.assert_array_equal(np.signbit(result[numbers]), np.signbit(exact[numbers]))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", [*CIRCULAR, *INVERSE])
def test_narrow_floats_are_rounded_once(name, dtype):
    x = lax.convert_element_type(
        ranges(name) if name in INVERSE else filled(np.arange(-99, 99, 0.01)), dtype
    )
    wide = lax.convert_element_type(x, "float32")
    expected = lax.convert_element_type(compiled(name)(wide), dtype)
    result = compiled(name)(x)
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(np.asarray(result, "float32"), np.asarray(expected, "float32"))


def lowered(name: str, size: int, dtype: str, **params: object) -> str:
    x = np.zeros(size, dtype)
    return ricci.jit(lambda x: getattr(lax, name)(x, **params)).lower(x).as_text()


def test_small_arrays_and_demanded_accuracies_call_the_compiler_s_function():
    assert "stablehlo.sine" in lowered("sin", SIZE - 1, "float32")
    assert "stablehlo.sine" not in lowered("sin", SIZE, "float32")
    assert "stablehlo.sine" in lowered("sin", SIZE, "float32", accuracy=lax.AccuracyMode.HIGHEST)
    assert "stablehlo.sine" not in lowered(
        "sin", SIZE, "float32", accuracy=lax.AccuracyMode.DEFAULT
    )
