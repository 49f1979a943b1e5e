"""Generators beside Threefry: those of the compiler, and those that users define."""

import numpy as np
import pytest

import ricci_numpy as jnp
import ricci_random as random
from ricci_batching import vmap
from ricci_ir import config, default_prng_impl
from ricci_random.generators import define_prng_impl, random_seed, threefry_2x32

xla = pytest.importorskip("ricci_xla", reason="values are computed by a backend")


def words(keys):
    return np.asarray(random.key_data(keys)).tolist()


@pytest.mark.parametrize("impl", ["rbg", "unsafe_rbg"])
def test_a_seed_is_a_key_twice_over(impl):
    assert words(random.key(3, impl=impl)) == [0, 3, 0, 3]


def test_rbg_splits_and_folds_each_half_by_itself():
    half, whole = random.key(3), random.key(3, impl="rbg")
    assert words(random.split(whole, 3)) == [w * 2 for w in words(random.split(half, 3))]
    assert words(random.fold_in(whole, 5)) == words(random.fold_in(half, 5)) * 2


@pytest.mark.parametrize("impl", ["rbg", "unsafe_rbg"])
@pytest.mark.parametrize("axes", [(0, None), (None, 0), (0, 0)])
def test_fold_in_maps_over_keys_and_integers(impl, axes):
    keys = random.split(random.key(3, impl=impl), 2)
    key = keys if axes[0] == 0 else keys[0]
    found = vmap(random.fold_in, in_axes=axes)(key, jnp.arange(2) if axes[1] == 0 else 7)
    assert np.shape(words(found)) == (2, 4)
    first = random.fold_in(keys[0], 0 if axes[1] == 0 else 7)
    assert words(found)[0] == words(first)


def test_a_batch_of_rbg_keys_draws_from_the_first():
    keys = random.split(random.key(3, impl="rbg"), 2)
    found = vmap(lambda key: random.bits(key, (3,)))(keys)
    np.testing.assert_array_equal(found, random.bits(keys[0], (2, 3)))


def test_the_default_generator_is_an_option():
    with default_prng_impl("rbg"):
        assert random.key_impl(random.key(0)) == "rbg"
        assert random.PRNGKey(0).shape == (4,)


def test_plain_keys_may_be_typed_ones():
    config.update("jax_enable_custom_prng", True)
    try:
        assert random.PRNGKey(3).dtype == random.key_dtype()
    finally:
        config.update("jax_enable_custom_prng", False)


COUNTER = define_prng_impl(
    key_shape=(1,),
    seed=lambda n: n.astype("uint32")[None],
    split=lambda key, shape: (key + jnp.arange(np.prod(shape), dtype="uint32")).reshape(*shape, 1),
    random_bits=lambda key, width, shape: jnp.broadcast_to(key[0], shape).astype(f"uint{width}"),
    fold_in=lambda key, n: key + n,
    name="counter",
    tag="count",
)


def test_a_generator_of_ones_own():
    key = random.key(5, impl=COUNTER)
    assert repr(key) == "Array((), dtype=key<count>) overlaying:\n[5]"
    assert random.key_impl(key) == COUNTER
    assert words(random.split(key, 3)) == [[5], [6], [7]]
    assert words(vmap(random.fold_in, in_axes=(None, 0))(key, jnp.arange(2))) == [[5], [6]]
    found = vmap(lambda key: random.bits(key, (2,)))(random.split(key, 3))
    assert np.asarray(found).tolist() == [[5, 5], [6, 6], [7, 7]]


def test_seeds_of_an_array_give_a_key_each():
    assert words(random_seed(np.arange(2), random.generators.threefry_prng_impl)) == [
        [0, 0],
        [0, 1],
    ]


def test_counters_are_encrypted_in_pairs():
    found = threefry_2x32(np.uint32([1, 2]), np.arange(5, dtype=np.uint32))
    expected = [2052595727, 3504730591, 2527474599, 1880214352, 1914734168]  # JAX's
    assert np.asarray(found).tolist() == expected
    with pytest.raises(TypeError, match="int32"):
        threefry_2x32(np.uint32([1, 2]), np.arange(5, dtype=np.int32))
