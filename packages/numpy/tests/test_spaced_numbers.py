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
