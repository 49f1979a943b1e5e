"""Stateful generators draw the same as JAX's, and the same as folded keys."""

import numpy as np
import pytest

from ricci_batching import vmap
from ricci_pytree import tree_leaves
from ricci_random import fold_in, key, key_data, normal, split
from ricci_random.stateful import StatefulPRNG, stateful_rng
from ricci_xla import jit


def test_draws_equal_those_of_folded_keys():
    rng = stateful_rng(5)
    keys = [key_data(rng.key()).tolist() for _ in range(3)]
    assert keys == [key_data(fold_in(key(5), i)).tolist() for i in range(3)]
    assert keys[0] == [2724472204, 3573582090]  # JAX's


def test_distributions_equal_those_of_jax():
    close = lambda found, expected: np.testing.assert_allclose(found, expected, rtol=1e-5)
    close(stateful_rng(5).normal(size=2), [0.41528264, 1.1503867])
    close(stateful_rng(5).normal(1.0, 2.0, (2,)), [1.8305652, 3.3007734])
    close(stateful_rng(5).uniform(1.0, 2.0, (2,)), [1.6610324, 1.8750076])
    close(stateful_rng(5).random(2), [0.66103244, 0.8750076])
    assert stateful_rng(5).integers(10, size=3).tolist() == [8, 4, 5]
    assert stateful_rng(5).integers(2, 10, 3).tolist() == [6, 2, 7]
    bounds = np.zeros(3, np.float32), np.ones((2, 1), np.float32)
    assert stateful_rng(5).normal(*bounds).shape == stateful_rng(5).uniform(*bounds).shape == (2, 3)


def test_counting_continues_under_jit():
    rng = stateful_rng(5)
    draw = jit(lambda rng: rng.normal())
    found = [float(draw(rng)), float(draw(rng))]
    expected = [float(normal(fold_in(key(5), i))) for i in range(2)]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert int(rng._counter[...]) == 2 and len(tree_leaves(rng)) == 2


def test_generators_are_split_and_spawned():
    rng = stateful_rng(5)
    several = rng.split(3)
    with pytest.raises(ValueError, match=r"represents \(3,\) generators"):
        several.key()
    found = vmap(lambda rng: rng.normal())(several)
    keys = split(fold_in(key(5), 0), 3)
    np.testing.assert_allclose(found, [normal(fold_in(k, 0)) for k in keys], rtol=1e-6)
    one, other = rng.spawn(2)
    assert isinstance(one, StatefulPRNG) and float(one.random()) != float(other.random())
    assert stateful_rng(5).split((2, 3))._base_key.shape == (2, 3)


def test_seeds_determine_the_generator():
    assert float(stateful_rng().random()) != float(stateful_rng().random())
    with pytest.raises(TypeError):
        stateful_rng("a")
