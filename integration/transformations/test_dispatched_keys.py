"""Jitted calls with random keys among the arguments and results, which C++ dispatches."""

import sys

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import random
from ricci.sharding import Mesh, NamedSharding, PartitionSpec

X = np.arange(3, dtype=np.float32)


def functions_in(call):
    """Return the names of the Python functions of Ricci that run in a call."""
    names = []

    def note(frame, event, arg):
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("ricci"):
            names.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return names


CALLS = {
    "argument": lambda key: random.uniform(key, (3,)) + X,
    "result": lambda key: random.split(key),
    "both": lambda key: {"next": random.fold_in(key, 1), "sample": (random.normal(key), X)},
    "unused": lambda key: jnp.sin(X),
}


@pytest.mark.parametrize("enabled", [False, True], ids=["32 bits", "64 bits"])
@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
@pytest.mark.parametrize("fun", CALLS.values(), ids=CALLS)
def test_calls_with_keys_do_not_enter_python(fun, impl, enabled):
    with ricci.enable_x64(enabled):
        call = ricci.jit(fun)
        keys = [random.key(seed, impl=impl) for seed in (0, 1)]
        call(keys[0])
        again = call(keys[1])
        assert not {"on_miss", "trace"} & {*functions_in(lambda: call(keys[1]))}
        expected, tree = ricci.tree.flatten(fun(keys[1]))
        results, result_tree = ricci.tree.flatten(again)
        assert result_tree == tree
        for a, b in zip(results, expected, strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            if ricci.dtypes.issubdtype(a.dtype, ricci.dtypes.prng_key):
                a, b = random.key_data(a), random.key_data(b)
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_generators_are_told_apart():
    call = ricci.jit(lambda key: random.bits(key, (4,)))
    for _ in range(3):
        for impl in ("threefry2x32", "rbg"):
            key = random.key(3, impl=impl)
            np.testing.assert_array_equal(call(key), random.bits(key, (4,)))


def test_words_and_keys_are_told_apart():
    call = ricci.jit(lambda key: key.shape)
    for _ in range(3):
        assert [int(n) for n in call(random.PRNGKey(0))] == [2]
        assert call(random.key(0)) == ()


def test_sharded_keys_are_dispatched():
    mesh = Mesh(np.array(ricci.devices()), ("d",))
    keys = random.split(random.key(0), 8)
    sharded = ricci.device_put(keys, NamedSharding(mesh, PartitionSpec("d")))
    call = ricci.jit(lambda keys: (ricci.vmap(random.normal)(keys), keys))
    for _ in range(3):
        sample, same = call(sharded)
        np.testing.assert_array_equal(sample, ricci.vmap(random.normal)(keys))
        assert same.sharding.is_equivalent_to(sharded.sharding, 1)
        np.testing.assert_array_equal(random.key_data(same), random.key_data(keys))


def test_reuse_is_detected_after_calls_without_the_check():
    call = ricci.jit(lambda key: random.bits(key))
    for _ in range(3):
        call(random.key(0))
    key = random.key(0)
    with ricci.debug_key_reuse(True):
        call(key)
        for _ in range(2):
            with pytest.raises(ricci.errors.KeyReuseError):
                call(key)


def test_donated_keys_are_deleted():
    call = ricci.jit(lambda key: random.fold_in(key, 1), donate_argnums=0)
    for _ in range(3):
        key = random.key(0)
        call(key)
        with pytest.raises(RuntimeError, match="deleted"):
            call(key)
