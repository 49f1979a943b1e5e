"""Generators other than Threefry: XLA's, ciphers, and user-defined ones."""

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
def test_an_rbg_key_repeats_the_threefry_key_of_its_seed(impl):
    assert words(random.key(3, impl=impl)) == [0, 3, 0, 3]


def test_rbg_splits_and_folds_each_half_separately():
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


def test_prng_key_returns_typed_keys_with_the_option():
    config.update("jax_enable_custom_prng", True)
    try:
        assert random.PRNGKey(3).dtype == random.key_dtype()
    finally:
        config.update("jax_enable_custom_prng", False)


# The first words of the ciphers' published test vectors, with key and counter zero (Random123's
# kat_vectors), which are a key folded with 0.
CIPHERS = {
    "philox2x32": [0xFF1DAE59],
    "philox4x32": [0x6627E8D5, 0xE169C58D],
    "threefry4x32": [0x9C6CA96A, 0xE17EAE66, 0xFC10ECD4, 0x5256A7D8],
}


@pytest.mark.parametrize("impl", CIPHERS)
def test_ciphers_give_the_published_words(impl):
    zero = random.wrap_key_data(np.zeros(len(CIPHERS[impl]), np.uint32), impl=impl)
    assert words(random.fold_in(zero, 0)) == words(random.split(zero, 1)[0]) == CIPHERS[impl]


@pytest.mark.parametrize("impl", CIPHERS)
def test_ciphers_draw_by_position_and_key_by_key(impl):
    key = random.key(3, impl=impl)
    assert random.key_impl(key) == impl
    keys = random.split(key, (2, 2))
    np.testing.assert_array_equal(words(keys[1, 0]), words(random.fold_in(key, 2)))
    each = [[random.bits(k, (3,), "uint8") for k in row] for row in keys]
    np.testing.assert_array_equal(vmap(vmap(lambda k: random.bits(k, (3,), "uint8")))(keys), each)
    np.testing.assert_array_equal(random.bits(key, (2, 3)).ravel(), random.bits(key, (7,))[:6])
    data = jnp.arange(4).reshape(2, 2)
    np.testing.assert_array_equal(
        words(random.fold_in(key, 3)),
        words(vmap(vmap(lambda n: random.fold_in(key, n)))(data))[1][1],
    )
    found = random.normal(key, (4000,))
    assert abs(float(found.mean())) < 0.05 and abs(float(found.std()) - 1) < 0.05


@pytest.mark.parametrize("impl", CIPHERS)
def test_raw_keys_of_ciphers_have_their_words(impl):
    with default_prng_impl(impl):
        plain = random.PRNGKey(3)
        assert plain.shape == (len(CIPHERS[impl]),)
        assert words(random.key(3)) == plain.tolist()
        np.testing.assert_array_equal(
            random.uniform(plain, (3,)), random.uniform(random.key(3), (3,))
        )


COUNTER = define_prng_impl(
    key_shape=(1,),
    seed=lambda n: n.astype("uint32")[None],
    split=lambda key, shape: (key + jnp.arange(np.prod(shape), dtype="uint32")).reshape(*shape, 1),
    random_bits=lambda key, width, shape: jnp.broadcast_to(key[0], shape).astype(f"uint{width}"),
    fold_in=lambda key, n: key + n,
    name="counter",
    tag="count",
)


def test_a_user_defined_generator_derives_and_draws():
    key = random.key(5, impl=COUNTER)
    assert repr(key) == "Array((), dtype=key<count>) overlaying:\n[5]"
    assert random.key_impl(key) == COUNTER
    assert words(random.split(key, 3)) == [[5], [6], [7]]
    assert words(vmap(random.fold_in, in_axes=(None, 0))(key, jnp.arange(2))) == [[5], [6]]
    found = vmap(lambda key: random.bits(key, (2,)))(random.split(key, 3))
    assert np.asarray(found).tolist() == [[5, 5], [6, 6], [7, 7]]


def _counter_of_shape(key_shape):
    spread = (1,) * len(key_shape)
    numbers = lambda shape: jnp.arange(np.prod(shape), dtype="uint32").reshape(*shape, *spread)
    return define_prng_impl(
        key_shape=key_shape,
        seed=lambda n: jnp.full(key_shape, n.astype("uint32")),
        split=lambda key, shape: key + numbers(shape),
        random_bits=lambda key, width, shape: jnp.broadcast_to(key.reshape(-1)[0], shape),
        fold_in=lambda key, n: key + n,
        name=f"counter of {key_shape}",
    )


# By name, a function of a (2, 3) array of keys, and the same one of numbers in place of keys.
MOVES = {
    "transpose": lambda x: x.T,
    "index": lambda x: x[1, 1:],
    "concatenate": lambda x: jnp.concatenate([x, x[:1]]),
    "stack": lambda x: jnp.stack([x, x], 1),
    "set": lambda x: x.at[0].set(x[1]),
    "where": lambda x: jnp.where(jnp.array([[True], [False]]), x, x[::-1]),
    "equal": lambda x: x == x[1, 2],
    "not equal": lambda x: x != x[0],
}


@pytest.mark.parametrize("key_shape", [(), (2,), (1, 2), (2, 1, 2)])
@pytest.mark.parametrize("name", MOVES)
def test_operations_move_keys_of_words_of_any_rank(name, key_shape):
    keys = random.split(random.key(3, impl=_counter_of_shape(key_shape)), 6).reshape(2, 3)
    result = xla.jit(MOVES[name])(keys)
    expected = np.asarray(MOVES[name](jnp.arange(3, 9, dtype="uint32").reshape(2, 3)))
    if name in ("equal", "not equal"):
        assert result.tolist() == expected.tolist()
        return
    all_words = np.asarray(random.key_data(result))
    assert all_words.shape == (*expected.shape, *key_shape)
    spread = expected.reshape(*expected.shape, *(1,) * len(key_shape))
    assert (all_words == spread).all()


WRONG = jnp.zeros(5, "uint32")
FUNCTIONS = {
    "seed": (lambda key: random.key(1, impl=key), {"seed": lambda n: WRONG}),
    "a dtype": (lambda key: random.key(1, impl=key), {"seed": lambda n: jnp.zeros(1)}),
    "split": (lambda key: random.split(random.key(1, impl=key)), {"split": lambda k, shape: WRONG}),
    "fold_in": (
        lambda key: random.fold_in(random.key(1, impl=key), 2),
        {"fold_in": lambda k, n: WRONG},
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_words_of_another_shape_or_dtype_are_refused(name):
    use, wrong = FUNCTIONS[name]
    right = {
        "seed": lambda n: n.astype("uint32")[None],
        "split": lambda key, shape: key + jnp.zeros((*shape, 1), "uint32"),
        "random_bits": lambda key, width, shape: jnp.broadcast_to(key, shape),
        "fold_in": lambda key, n: key + n,
    }
    generator = define_prng_impl(key_shape=(1,), **{**right, **wrong})
    with pytest.raises(TypeError, match=r"words of shape .* but returned"):
        use(generator)


def test_random_seed_maps_over_an_array_of_seeds():
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
