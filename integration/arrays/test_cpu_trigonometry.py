"""Trigonometric functions of large arrays on CPUs, beside NumPy's in wider floats."""

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
# In units of the last place; those of XLA's own are 2.5, 2.3 and 1.5.
BOUNDS = {"asin": 1.4, "acos": 1.1, "atan2": 1.5}


@pytest.fixture(autouse=True)
def _without_kernels():
    """Call the formulas, also where ricci-native is installed."""
    with ricci.native_kernels(False):
        yield


def filled(*parts) -> np.ndarray:
    """Join parts to one array of float32 that is large enough for the formulas."""
    return np.resize(np.concatenate([np.asarray(part, "float32") for part in parts]), 2 * SIZE)


def all_floats() -> np.ndarray:
    bits = RANDOM.integers(0, 2**32, SIZE, dtype=np.uint32).view(np.float32)
    near = RANDOM.integers(1, 2**26, SIZE // 2) * (np.pi / 2)
    ordinary = RANDOM.uniform(-20, 20, SIZE // 2)
    normal = bits[~(np.abs(bits) < np.finfo(np.float32).tiny)]  # the others count as 0
    return filled(normal, near, ordinary, CORNERS)


def moderate_floats() -> np.ndarray:
    """Angles of all sizes below 2²², few of them large, and next to multiples of a quarter turn."""
    small = RANDOM.choice([-1, 1], SIZE) * 2.0 ** RANDOM.uniform(-120, 6, SIZE)
    near = RANDOM.integers(-2000, 2000, SIZE // 2) * (np.pi / 2)
    large = RANDOM.integers(1, 2**16, 999) * (np.pi / 2)
    return filled(small, near, large, [2.0**21, 0.0, -0.0])


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
def test_result_is_nearly_the_rounded_one(name):
    x = ranges(name)
    with np.errstate(all="ignore"):
        exact = {**CIRCULAR, **INVERSE}[name](x.astype(np.float64))
    result = np.asarray(compiled(name)(x))
    assert result.dtype == np.float32
    assert last_places(result, exact) < BOUNDS.get(name, 0.51)
    if name != "acos":
        np.testing.assert_array_equal(np.signbit(result[x == 0]), np.signbit(exact[x == 0]))


@pytest.mark.parametrize("name", CIRCULAR)
def test_moderate_angles_have_the_exact_result_rounded(name):
    x = moderate_floats()
    assert np.sum(np.square(x.astype(np.float64))) < 2.0**44  # else that of large ones is taken
    exact = CIRCULAR[name](x.astype(np.float64))
    result = np.asarray(compiled(name)(x))
    assert last_places(result, exact) < 0.51
    zeros = x == 0
    np.testing.assert_array_equal(np.signbit(result[zeros]), np.signbit(exact[zeros]))


@pytest.mark.parametrize("name", CIRCULAR)
def test_one_large_angle_does_not_change_the_others(name):
    x = moderate_floats()
    alone = np.asarray(compiled(name)(x))
    for large in (3e38, np.inf, np.nan):
        x[0] = large
        beside = np.asarray(compiled(name)(x))
        np.testing.assert_array_max_ulp(beside[1:], alone[1:], 1)
        assert np.isnan(beside[0]) == (not np.isfinite(large))


def test_atan2_knows_zeros_and_infinities():
    values = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 3e38], np.float32)
    y, x = map(np.ravel, np.meshgrid(values, values))
    scale = 10.0 ** RANDOM.integers(-15, 15, SIZE)
    y, x = filled(y, RANDOM.normal(size=SIZE) * scale), filled(x, RANDOM.normal(size=SIZE))
    exact = np.arctan2(y.astype(np.float64), x.astype(np.float64))
    result = np.asarray(compiled("atan2")(y, x))
    assert last_places(result, exact) < BOUNDS["atan2"]
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


# float64

TURN = np.longdouble("1.57079632679489661923132169163975144")
has_long_doubles = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 60, reason="no wider floats to compare with"
)


def near_and_far() -> np.ndarray:
    """Floats up to 6,000: of all sizes, and next to the multiples of a quarter turn."""
    turns = (RANDOM.integers(1, 3800, SIZE) * TURN).astype(np.float64)
    moved = turns * (1 + RANDOM.uniform(-1, 1, SIZE) * 2.0 ** -RANDOM.integers(10, 52, SIZE))
    small = RANDOM.choice([-1, 1], SIZE) * 2.0 ** RANDOM.uniform(-300, 0, SIZE)
    x = np.concatenate([turns, moved, small, RANDOM.uniform(-1, 1, SIZE), [0.0, -0.0]])
    return np.concatenate([x, RANDOM.uniform(-6000, 6000, SIZE)])


def of_wide_floats(name: str, x: np.ndarray) -> np.ndarray:
    with ricci.enable_x64(True):
        result = np.asarray(compiled(name)(x))
    assert result.dtype == np.float64
    return result


@has_long_doubles
@pytest.mark.parametrize("name", CIRCULAR)
def test_float64_is_the_exact_result_rounded(name):
    x = near_and_far()
    result = of_wide_floats(name, x)
    exact = CIRCULAR[name](x.astype(np.longdouble))
    error = np.abs(result - exact) / np.spacing(np.abs(exact).astype(np.float64))
    assert np.max(error) < (0.52 if name == "tan" else 0.51)
    np.testing.assert_array_equal(np.signbit(result[x == 0]), np.signbit(CIRCULAR[name](x[x == 0])))


@pytest.mark.parametrize("name", CIRCULAR)
def test_float64_without_a_quarter_turn_is_nan(name):
    corners = np.array([np.inf, -np.inf, np.nan])
    result = of_wide_floats(name, np.resize([*corners, 1.0, 2.0], SIZE))
    expected = np.resize([*corners * np.nan, *CIRCULAR[name]([1.0, 2.0])], SIZE)
    np.testing.assert_allclose(result, expected, rtol=1e-15)


@pytest.mark.parametrize("name", CIRCULAR)
def test_large_and_subnormal_float64(name):
    corners = np.array([1e22, -6001.0, 3e-310, -3e-310, 1e300])
    x = np.resize(corners, SIZE)
    expected = CIRCULAR[name](x)
    np.testing.assert_allclose(of_wide_floats(name, x), expected, rtol=1e-15, atol=4e-310)
    x = np.resize(corners[2:4], SIZE)
    np.testing.assert_array_equal(of_wide_floats(name, x), CIRCULAR[name](x))


@pytest.mark.parametrize(("dtype", "rtol"), [("float32", 1e-6), ("float64", 1e-13)])
@pytest.mark.parametrize("name", CIRCULAR)
def test_derivatives_are_those_of_small_arrays(name, dtype, rtol):
    x = RANDOM.uniform(-30, 30, SIZE).astype(dtype)
    with ricci.enable_x64(True):
        slope = ricci.grad(lambda x: getattr(lax, name)(x).sum())
        np.testing.assert_allclose(slope(x)[:999], slope(x[:999]), rtol=rtol)


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
