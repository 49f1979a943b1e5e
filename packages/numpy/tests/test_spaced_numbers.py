"""Evenly spaced numbers are the nearest floats between integers, and close to them otherwise."""

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_autodiff import grad
from ricci_batching import vmap
from ricci_ir import enable_x64

pytest.importorskip("ricci_xla", reason="values are computed by a backend")


def _exact(start, stop, count):
    """The numbers in extended precision."""
    number = np.arange(count, dtype=np.longdouble)
    return (np.longdouble(start) * (count - 1 - number) + np.longdouble(stop) * number) / (
        count - 1
    )


@pytest.mark.parametrize("width", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(
    ("start", "stop", "count"),
    [(-1, 1, 6), (0, 1, 11), (1, 5, 7), (-5, 5, 101), (3, -4, 50), (-2, -9, 23), (0, 1, 300)],
)
def test_numbers_between_integers_are_the_nearest_floats(start, stop, count, width):
    with enable_x64(width == "float64"):
        ours = jnp.linspace(start, stop, count, dtype=width)
        expected = _exact(start, stop, count).astype(np.float64)
        np.testing.assert_array_equal(ours, np.asarray(expected).astype(ours.dtype))


def test_parts_of_complex_numbers_are_spaced_like_real_numbers():
    ours = jnp.linspace(-1 + 1j, 1 + 5j, 6)
    np.testing.assert_array_equal(ours.real, jnp.linspace(-1, 1, 6))
    np.testing.assert_array_equal(ours.imag, jnp.linspace(1, 5, 6))


@pytest.mark.parametrize("width", ["float32", "float64"])
def test_numbers_between_floats_are_within_units_of_the_larger_end(width):
    generator = np.random.default_rng(3)
    with enable_x64(width == "float64"):
        for low, high in ((-1, 1), (1, 3), (0, 10)):
            start, stop = generator.uniform(low, high, (2, 64)).astype(width)
            ours = jnp.linspace(start, stop, 37)
            exact = np.stack([_exact(a, b, 37) for a, b in zip(start, stop, strict=True)], 1)
            error = np.abs(np.asarray(ours) - exact) / np.spacing(np.maximum(abs(start), abs(stop)))
            assert np.max(error) < 2.1
            assert np.mean(error) < 0.45


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("width", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_the_first_number_is_the_start(width, endpoint):
    with enable_x64(width == "float64"):
        starts = np.random.default_rng(0).uniform(-2, 2, 200)
        for count in (1, 2, 11, 50):
            ours = jnp.linspace(starts, 3.0, count, endpoint=endpoint, dtype=width)
            np.testing.assert_array_equal(ours[0], starts.astype(ours.dtype))


def test_every_point_is_counted_in_a_box():
    points = np.random.default_rng(1).uniform(-2, 2, (300, 2)).astype(np.float32)
    for size in (9, 20, 31, 100, 257, 300):
        assert jnp.histogramdd(points[:size], 10)[0].sum() == size


def test_numbers_between_large_ends_do_not_overflow():
    for start, stop in ((-3e38, 3e38), (3e38, 3.2e38), (-1e38, 3.3e38)):
        ours = np.asarray(jnp.linspace(start, stop, 9))
        np.testing.assert_allclose(ours, _exact(start, stop, 9).astype(np.float32), rtol=3e-7)


def test_numbers_to_an_infinite_end_are_infinite():
    np.testing.assert_array_equal(jnp.linspace(1.0, np.inf, 5)[1:], [np.inf] * 4)
    np.testing.assert_array_equal(jnp.linspace(-np.inf, 1.0, 5)[:4], [-np.inf] * 4)


@pytest.mark.parametrize("start", [-1.5, 0.0, 1.0, 1.5])
def test_slopes_by_the_ends_are_the_weights(start):
    of_start = grad(lambda a: jnp.linspace(a, 2.0, 5)[1])(start)
    of_stop = grad(lambda b: jnp.linspace(start, b, 5)[1])(2.0)
    assert (float(of_start), float(of_stop)) == (0.75, 0.25)
    starts = jnp.array([start, 0.5])
    batched = vmap(lambda a: jnp.linspace(a, 2.0, 5))(starts)
    np.testing.assert_array_equal(batched, jnp.linspace(starts, 2.0, 5, axis=1))


def _units(ours, exact):
    """The distance of numbers from exact ones, in units of their last place."""
    dtype = np.asarray(ours).dtype
    unit = np.spacing(np.abs(exact).astype(dtype)).astype(np.longdouble)
    return np.abs(np.asarray(ours).astype(np.longdouble) - exact) / unit


@pytest.mark.parametrize("width", ["float32", "float64"])
@pytest.mark.parametrize(
    ("start", "stop", "count"),
    [(1e-30, 1e30, 61), (1e-5, 1e3, 50), (3, 5, 200), (-0.1, -10, 21), (7e8, 2e-9, 5000)],
)
def test_geometric_numbers_are_close_to_the_exact_ones(start, stop, count, width):
    with enable_x64(width == "float64"):
        start, stop = np.array([start, stop]).astype(width)
        ours = jnp.geomspace(start, stop, count, dtype=width)
        logs = (np.log2(np.abs(np.longdouble(x))) for x in (start, stop))
        exact = np.sign(start) * np.exp2(_exact(*logs, count))
        units = _units(ours, exact)
        assert np.max(units) < 3
        assert np.mean(units) < 0.8
        assert (ours[0], ours[-1]) == (start, stop)


@pytest.mark.parametrize("width", ["float32", "float64"])
@pytest.mark.parametrize(
    ("start", "stop", "count", "base"),
    [(-30, 30, 61, 10), (-5, 3, 50, 10), (-3, 37.5, 400, 10), (0.25, 8, 100, 3), (90, -9, 70, 2)],
)
def test_powers_of_spaced_exponents_are_close_to_the_exact_ones(start, stop, count, base, width):
    with enable_x64(width == "float64"):
        ours = jnp.logspace(start, stop, count, base=base, dtype=width)
        units = _units(ours, np.power(np.longdouble(base), _exact(start, stop, count)))
        assert np.max(units) < 3
        assert np.mean(units) < 0.8


@pytest.mark.parametrize("width", ["int32", "float16", "float32", "float64"])
def test_whole_geometric_numbers_are_exact(width):
    with enable_x64(width == "float64"):
        for base, last in ((2, 8), (10, 4), (3, 6)):
            powers = [base**i for i in range(last + 1)]
            ours = jnp.geomspace(1, powers[-1], last + 1, dtype=width)
            np.testing.assert_array_equal(ours, powers)
            ours = jnp.logspace(0, last, last + 1, base=base, dtype=width)
            np.testing.assert_array_equal(ours, powers)


@pytest.mark.parametrize("name", ["geomspace", "logspace"])
def test_small_floats_are_rounded_once(name):
    ours = getattr(jnp, name)(1, 4, 300, dtype="bfloat16")
    wide = getattr(jnp, name)(1, 4, 300)
    np.testing.assert_array_equal(ours, wide.astype("bfloat16"))


def test_geometric_numbers_whose_quotient_overflows_are_finite():
    ours = jnp.geomspace(np.float32(2e-38), np.float32(1e38), 41)
    np.testing.assert_allclose(ours, np.geomspace(2e-38, 1e38, 41), rtol=1e-6)
    np.testing.assert_allclose(ours[::-1], jnp.geomspace(ours[-1], ours[0], 41), rtol=1e-6)
    slope = grad(lambda a: jnp.geomspace(a, 1e38, 3)[1])(2e-38)
    np.testing.assert_allclose(slope, np.sqrt(1e38 / 2e-38) / 2, rtol=1e-6)


def test_powers_to_infinite_or_opposite_ends():
    np.testing.assert_array_equal(jnp.geomspace(1.0, np.inf, 3), [1, np.inf, np.inf])
    np.testing.assert_array_equal(jnp.logspace(0.0, np.inf, 3)[1:], [np.inf, np.inf])
    np.testing.assert_array_equal(jnp.geomspace(-1.0, 2.0, 3), [-1, np.nan, 2])
    np.testing.assert_array_equal(jnp.logspace(1.5, -0.5, 5, base=0.0), [0, 0, 0, 1, np.inf])
    np.testing.assert_array_equal(jnp.logspace(0, 3, 4, base=-2.0), [1, -2, 4, -8])


def test_slopes_of_geometric_numbers():
    weights = np.arange(5) / 4
    numbers = np.geomspace(2, 32, 5)
    for i in range(5):
        of_start = grad(lambda a, i=i: jnp.geomspace(a, 32.0, 5)[i])(2.0)
        np.testing.assert_allclose(of_start, (1 - weights[i]) * numbers[i] / 2, rtol=1e-6)
        of_stop = grad(lambda b, i=i: jnp.logspace(2.0, b, 5)[i])(3.0)
        exact = np.log(10) * weights[i] * 10 ** (2 + weights[i])
        np.testing.assert_allclose(of_stop, exact, rtol=1e-6)
        of_base = grad(lambda b, i=i: jnp.logspace(2.0, 3.0, 5, base=b)[i])(2.0)
        exact = (2 + weights[i]) * 2 ** (1 + weights[i])
        np.testing.assert_allclose(of_base, exact, rtol=1e-6)


@pytest.mark.parametrize("name", ["linspace", "logspace", "geomspace"])
def test_an_axis_out_of_bounds_is_refused(name):
    space = getattr(jnp, name)
    for axis in (2, -3):
        with pytest.raises(ValueError, match="out of bounds"):
            space(jnp.ones(2), 3.0, 4, axis=axis)
    assert space(jnp.ones(2), 3.0, 4, axis=-1).shape == (2, 4)
