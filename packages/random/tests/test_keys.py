"""Keys: creation, derivation, movement, transformations and errors."""

import numpy as np
import pytest

import ricci_lax as lax
import ricci_numpy as jnp
import ricci_random as random
from ricci_autodiff import grad
from ricci_batching import vmap
from ricci_ir import (
    Array,
    ExtendedDType,
    extended,
    issubdtype,
    legacy_prng_key,
    make_jaxpr,
    prng_key,
)

xla = pytest.importorskip("ricci_xla", reason="values are computed by a backend")

WORDS = random.PRNGKey(3)
KEY = random.key(3)


class Scale(ExtendedDType):
    """A library's extended dtype, like flax's for the scales of fp8 products."""

    name = "scale"
    type = extended


def words(keys):
    return np.asarray(random.key_data(keys)).tolist()


def test_a_key_is_an_array_of_an_extended_dtype():
    assert isinstance(KEY, Array)
    assert issubdtype(KEY.dtype, prng_key)
    assert (KEY.shape, KEY.ndim, KEY.size, KEY.itemsize) == ((), 0, 1, 8)
    assert repr(KEY) == "Array((), dtype=key<fry>) overlaying:\n[0 3]"


@pytest.mark.parametrize(
    "derive", [random.split, lambda k: random.split(k, (2, 3)), lambda k: random.fold_in(k, 5)]
)
def test_both_forms_of_a_key_give_the_same_keys(derive):
    assert words(derive(KEY)) == words(derive(WORDS))


@pytest.mark.parametrize("key", [KEY, WORDS], ids=["key", "words"])
@pytest.mark.parametrize(
    "fun",
    [
        lambda k: random.uniform(k, (3,)),
        lambda k: random.key_data(random.split(k, 3)),
        lambda k: random.key_data(random.fold_in(k, 2)),
        lambda k: random.permutation(k, 6),
    ],
    ids=["uniform", "split", "fold_in", "permutation"],
)
def test_jit_agrees_with_eager(fun, key):
    np.testing.assert_array_equal(xla.jit(fun)(key), fun(key))


@pytest.mark.parametrize("key", [KEY, WORDS], ids=["key", "words"])
@pytest.mark.parametrize("wrapped", [lambda f: f, lambda f: xla.jit(f)], ids=["eager", "jit"])
def test_vmap_over_keys_is_the_loop(key, wrapped):
    keys = random.split(key, 4)
    found = wrapped(vmap(lambda k: random.normal(k, (2,))))(keys)
    expected = [random.normal(k, (2,)) for k in keys]
    np.testing.assert_array_equal(found, np.stack(expected))


def test_vmap_over_integers_folds_in_each():
    found = vmap(random.fold_in, in_axes=(None, 0))(KEY, jnp.arange(3))
    assert words(found) == [words(random.fold_in(KEY, i)) for i in range(3)]


MOVES = {
    "index": lambda k: k[1],
    "slice": lambda k: k[1:3],
    "gather": lambda k: k[jnp.array([3, 0])],
    "reshape": lambda k: k.reshape(2, 2),
    "stack": lambda k: jnp.stack([k, k], axis=1),
    "concatenate": lambda k: jnp.concatenate([k, k]),
    "where": lambda k: jnp.where(jnp.array([True, False, True, False]), k, k[0]),
    "broadcast": lambda k: jnp.broadcast_to(k, (2, 4)),
    "transpose": lambda k: k.reshape(2, 2).T,
    "insert": lambda k: jnp.insert(k, jnp.array([0, 2]), k[3]),
    "insert a column": lambda k: jnp.insert(k.reshape(2, 2), 1, k[:2], axis=1),
}


@pytest.mark.sampled(14)
@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
@pytest.mark.parametrize("wrapped", [lambda f: f, lambda f: xla.jit(f)], ids=["eager", "jit"])
def test_keys_move_as_numbers_would(move, wrapped):
    keys = random.split(KEY, 4)
    places = np.asarray(move(jnp.arange(4)))
    np.testing.assert_array_equal(
        random.key_data(wrapped(move)(keys)), np.asarray(words(keys))[places]
    )


@pytest.mark.parametrize("move", [xla.device_put, xla.device_get])
def test_keys_are_moved_between_devices_as_keys(move):
    moved = move({"a": KEY})["a"]
    assert moved.dtype == KEY.dtype
    assert words(moved) == words(KEY)


def test_keys_made_of_a_number_hold_it_in_each_word():
    keys = random.split(KEY, 6).reshape(2, 3)
    for make in (lax.full, jnp.full):
        assert words(make((2,), 7, KEY.dtype)) == [[7, 7], [7, 7]]
    assert words(lax.full_like(keys, 0)) == words(jnp.zeros_like(keys))
    kept = np.triu(np.ones((2, 3), np.uint32))[..., None]
    np.testing.assert_array_equal(words(jnp.triu(keys)), np.asarray(words(keys)) * kept)


def test_keys_can_be_residuals_of_branches():
    layer = lax.checkpoint(lambda x, k: lax.sin(random.normal(k, x.shape) * x))
    fun = lambda x: lax.cond(x[0] > 0, lambda x: layer(x, random.fold_in(KEY, 3)), lax.neg, x)
    x = jnp.array([0.5, -1.0])
    expected = np.cos(random.normal(random.fold_in(KEY, 3), (2,)) * x)
    expected = expected * random.normal(random.fold_in(KEY, 3), (2,))
    slope = grad(lambda x: fun(x).sum())
    np.testing.assert_allclose(slope(x), expected, rtol=1e-6)
    rows = vmap(slope)(jnp.stack([x, -x]))
    np.testing.assert_allclose(rows, np.stack([expected, -np.ones(2)]), rtol=1e-6)


def test_keys_are_compared_whole():
    assert np.asarray(random.split(KEY) == random.split(KEY)[0]).tolist() == [True, False]


@pytest.mark.parametrize("impl", [None, "threefry2x32", random.key_dtype()])
def test_the_generator_is_named_by_string_or_dtype(impl):
    key = random.key(1, impl=impl)
    assert random.key_impl(key) == "threefry2x32"
    assert key.dtype == random.key_dtype("threefry2x32")


def test_jaxprs_show_the_primitives_on_keys():
    assert str(make_jaxpr(random.split)(WORDS)) == (
        "{ lambda ; a:u32[2]. let\n"
        "    b:key<fry>[] = random_wrap[impl=fry] a\n"
        "    c:key<fry>[2] = random_split[shape=(2,)] b\n"
        "    d:u32[2,2] = random_unwrap c\n"
        "  in (d,) }"
    )


REFUSED = [
    (lambda: random.PRNGKey(2**64), OverflowError, None),
    (lambda: random.PRNGKey(1.0), TypeError, "integer"),
    (lambda: random.PRNGKey(np.arange(3)), TypeError, "seed"),
    (lambda: random.PRNGKey(None), ValueError, "seed"),
    (lambda: random.PRNGKey(KEY), TypeError, "key"),
    (lambda: random.key(0, impl="foo"), ValueError, "foo"),
    (lambda: random.uniform(3), TypeError, "random.key"),
    (lambda: random.uniform(None), TypeError, "expected a PRNG key"),
    (lambda: random.uniform(np.zeros(2)), TypeError, "uint32"),
    (lambda: random.uniform(np.zeros(3, np.uint32)), TypeError, r"\(2,\)"),
    (lambda: random.uniform(random.split(KEY)), ValueError, "uniform"),
    (lambda: random.fold_in(KEY, np.arange(2)), TypeError, "fold_in"),
    (lambda: random.fold_in(KEY, -1), OverflowError, None),
    (lambda: random.split(KEY, 2.5), TypeError, "integer"),
    (lambda: random.split(KEY, -1), ValueError, "negative"),
    (lambda: random.wrap_key_data(np.zeros(2, np.int32)), TypeError, "uint32"),
    (lambda: np.asarray(KEY), TypeError, "key_data"),
    (lambda: jnp.sort(random.split(KEY)), TypeError, "no order"),
    (lambda: KEY.astype("uint32"), ValueError, "key_data"),
    (lambda: lax.convert_element_type(jnp.ones(2), Scale()), ValueError, "only those of"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_invalid_keys_and_seeds_raise(call, error, message):
    with pytest.raises(error, match=message):
        call()


# Functions that take a raw array as a key, and one that does not ask whether it may be one.
USES = {
    "normal": lambda k: random.normal(k),
    "bits": lambda k: random.bits(k),
    "split": random.split,
    "fold_in": lambda k: random.fold_in(k, 1),
    "key_data": random.key_data,
    "key_impl": random.key_impl,
    "inside of vmap": lambda k: vmap(lambda i: random.fold_in(k, i))(np.arange(2)),
    "inside of a program": make_jaxpr(lambda k: random.uniform(k)),
}
OTHER_USES = {
    "PRNGKey": lambda k: random.PRNGKey(0),
    "clone": random.clone,
    "wrap_key_data": random.wrap_key_data,
}


@pytest.mark.parametrize("use", USES)
def test_raw_keys_raise_with_legacy_prng_key_error(use):
    with legacy_prng_key("error"), pytest.raises(ValueError, match="jax_legacy_prng_key"):
        USES[use](WORDS)
    USES[use](WORDS)


@pytest.mark.parametrize("use", USES)
def test_raw_keys_warn_once_for_each_use_with_legacy_prng_key_warn(use):
    with legacy_prng_key("warn"), pytest.warns(UserWarning, match="uint32 array") as caught:
        USES[use](WORDS)
    assert len(caught) == 1 and caught[0].filename == __file__


@pytest.mark.parametrize("use", OTHER_USES)
def test_words_that_are_not_used_as_a_key_neither_raise_nor_warn(use):
    with legacy_prng_key("error"):
        OTHER_USES[use](WORDS)


@pytest.mark.parametrize("use", USES)
def test_typed_keys_are_always_accepted(use):
    with legacy_prng_key("error"):
        USES[use](KEY)


READS = {
    "at": lambda k, i: k.at[i].get(mode="fill"),
    "at, dropped": lambda k, i: k.at[i].get(mode="drop"),
    "at, batched": lambda k, i: vmap(lambda j: k.at[j].get(mode="fill"))(i),
    "take": lambda k, i: jnp.take(k, i),
    "take of columns": lambda k, i: jnp.take(k.reshape(1, -1), i, axis=1)[0],
    "take_along_axis": jnp.take_along_axis,
}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
@pytest.mark.parametrize("compiled", [False, True])
def test_keys_read_out_of_bounds_have_all_bits_set(read, impl, compiled):
    keys = random.split(random.key(3, impl=impl), 4)
    fun = lambda k, i: random.key_data(READS[read](k, i))
    found = np.asarray((xla.jit(fun) if compiled else fun)(keys, jnp.array([0, 7])))
    np.testing.assert_array_equal(found[0], words(keys[0]))
    np.testing.assert_array_equal(found[1], np.full_like(found[1], 2**32 - 1))


def test_a_key_is_not_a_fill_value():
    keys = random.split(KEY, 4)
    assert words(keys.at[jnp.array([1])].get(mode="clip", fill_value=KEY)) == [words(keys[1])]
    with pytest.raises(TypeError, match="fill_value must be a number"):
        keys.at[jnp.array([5])].get(mode="fill", fill_value=KEY)


GRID = random.split(KEY, (2, 3))
CLOSED_OVER = {
    "element": lambda: GRID[1, 2],
    "slice": lambda: GRID[:, ::2],
    "ellipsis": lambda: GRID[..., 0],
    "positions": lambda: GRID[jnp.array([1, 0])],
    "iteration": lambda: jnp.stack([row[1] for row in GRID]),
    "reshape": lambda: GRID.reshape(3, -1),
    "ravel": GRID.ravel,
    "flatten": GRID.flatten,
    "copy": GRID.copy,
    "transpose": lambda: GRID.T,
    "at": lambda: GRID.at[0].set(GRID[1]),
    "zeros_like": lambda: jnp.zeros_like(GRID),
    "full_like": lambda: jnp.full_like(GRID, 7),
    "zeros": lambda: jnp.zeros((2,), KEY.dtype),
    "empty": lambda: jnp.empty_like(GRID),
    "triu": lambda: jnp.triu(GRID),
    "tril": lambda: jnp.tril(GRID, -1),
    "lax.full": lambda: lax.full((2,), 7, KEY.dtype),
    "lax.full_like": lambda: lax.full_like(GRID, 0),
    "insert": lambda: jnp.insert(GRID.ravel(), 1, KEY),
    "sample": lambda: random.split(GRID[0, 1]),
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", CLOSED_OVER)
def test_closed_over_keys_agree_under_jit_cond_scan_and_vmap(name):
    make = CLOSED_OVER[name]
    expected = words(make())
    assert words(xla.jit(make)()) == expected
    assert words(lax.cond(True, make, make)) == expected
    assert words(lax.scan(lambda c, _: (c, make()), 0, None, length=1)[1][0]) == expected
    batched = vmap(lambda x: random.key_data(make()) + x)(np.zeros(1, np.uint32))
    assert batched[0].tolist() == expected


def test_moving_keys_does_not_wrap_words():
    assert "random_wrap" not in str(make_jaxpr(lambda: (GRID[0, 1], GRID.reshape(6), *GRID))())


def test_keys_can_be_indexed_under_vmap():
    assert words(vmap(lambda i: GRID[i, 1])(jnp.array([1, 0]))) == words(GRID[::-1, 1])


def test_key_annotates_arrays_of_keys():
    key = random.key(0)
    assert random.Key(key) is key
    assert random.Key.__supertype__ is Array
