"""Sums over values of all pairs of points, which are not stored as arrays of pairs."""

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp

SIZE = 2900  # points, of whose pairs an array takes 33 MB, and one of the differences 100
PAIRS = SIZE * SIZE * 4


def _squares(x):
    differences = x[:, None] - x[None]
    return jnp.sum(differences**2, -1)


def _energy(x):
    return jnp.sum(jnp.exp(-_squares(x)))


def _forces(x):
    weights = 1 / (1 + _squares(x))
    return jnp.sum((x[:, None] - x[None]) * weights[..., None], 1)


def _powers(x):
    return jnp.sum((1 + _squares(x)) ** -1.5)


def _points(size=SIZE):
    return np.random.default_rng(0).normal(size=(size, 3)).astype(np.float32)


def _compiled(function, x):
    return ricci.jit(function).lower(x).compile()


@pytest.mark.parametrize(
    ("function", "arrays"), [(_energy, 0.1), (ricci.grad(_energy), 1.5), (_forces, 1.5)]
)
def test_few_arrays_of_pairs_are_stored(function, arrays):
    stats = _compiled(function, _points()).memory_analysis()
    assert stats.temp_size_in_bytes < arrays * PAIRS


def _exact(x):
    """The energy, the sum of powers, the forces and the energy's gradient in float64."""
    energy, powers, forces, gradient = 0.0, 0.0, [], []
    for rows in np.array_split(x, 20):
        differences = rows[:, None] - x[None]
        squares = np.sum(differences**2, -1)
        energy += np.exp(-squares).sum()
        powers += ((1 + squares) ** -1.5).sum()
        forces.append((differences / (1 + squares)[..., None]).sum(1))
        gradient.append(-4 * (differences * np.exp(-squares)[..., None]).sum(1))
    return energy, powers, np.concatenate(forces), np.concatenate(gradient)


@pytest.mark.parametrize("size", [300, SIZE, SIZE + 3])  # 2903 is a prime
def test_sums_over_pairs_are_those_of_numpy(size):
    x = _points(size)
    functions = _energy, _powers, _forces, ricci.grad(_energy)
    for function, exact in zip(functions, _exact(x.astype(np.float64)), strict=True):
        scale = abs(exact).max()
        np.testing.assert_allclose(ricci.jit(function)(x), exact, rtol=0, atol=2e-5 * scale)


def test_a_sum_of_slices_is_stored_once():
    stats = _compiled(_energy, _points(1000)).memory_analysis()
    assert stats.temp_size_in_bytes <= 1000 * 1000 * 4


def test_slices_of_an_argument_are_not_copied():
    x = ricci.ShapeDtypeStruct((3, 5, 100_000), jnp.float32)
    stats = _compiled(lambda x: jnp.sum(jnp.sum(x, 0), 1), x).memory_analysis()
    assert stats.temp_size_in_bytes <= 5 * 100_000 * 4


@pytest.mark.parametrize("function", [_energy, ricci.grad(_energy), _forces])
def test_the_library_reduces_very_large_expansions(function):
    x = ricci.ShapeDtypeStruct((5000, 3), jnp.float32)
    text = ricci.jit(function).lower(x).as_text()
    assert "dims = [2]" not in text or "stablehlo.slice" not in text
    assert "across dimensions = [2]" in text


def test_large_arguments_are_reduced_by_slices():
    x = ricci.ShapeDtypeStruct((30_000_000, 3), jnp.float32)
    text = ricci.jit(lambda x: jnp.sum(x * x, -1)).lower(x).as_text()
    assert "stablehlo.reduce" not in text


def test_loops_keep_nans_and_infinities():
    x = _points()
    x[3, 1], x[5, 2], x[7, 0] = np.nan, np.inf, -np.inf
    for name in ("max", "min"):
        reduce = lambda x, name=name: getattr(jnp, name)(x[:, None] - x[None], -1)
        assert '"stablehlo.reduce"' in ricci.jit(reduce).lower(x).as_text()
        with np.errstate(invalid="ignore"):
            exact = getattr(np, name)(x[:, None] - x[None], -1)
        np.testing.assert_array_equal(ricci.jit(reduce)(x), exact)
