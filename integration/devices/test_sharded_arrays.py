"""Sharded arrays: their shards, indexing, and assembly from shards."""

import copy
import pickle
import re

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="devices need the runtime")

import ricci as jax
import ricci.numpy as jnp
from ricci.sharding import Mesh, NamedSharding
from ricci.sharding import PartitionSpec as P
from ricci_numpy.indexing._sharded import sharded_windows

pytestmark = pytest.mark.usefixtures("eight_devices")
X = np.arange(64 * 16, dtype=np.float32).reshape(64, 16)


def split(*spec) -> NamedSharding:
    grid = np.array(jax.devices()[:8]).reshape(4, 2)
    return NamedSharding(Mesh(grid, ("a", "b")), P(*spec))


INDICES = [
    np.s_[3],
    np.s_[-1],
    np.s_[2:4],
    np.s_[::8],
    np.s_[::-1],
    np.s_[50:3:-7],
    np.s_[:, 2],
    np.s_[5, 2],
    np.s_[None, 3],
    np.s_[1:9, None, 0:8],
    np.s_[..., 1],
    np.s_[5:5],
    np.s_[60:200],
    np.array([1, 5]),
]


@pytest.mark.parametrize("spec", [(("a", "b"),), (None, "a"), ("a", "b")], ids=str)
def test_parts_and_indices(spec):
    x = jax.device_put(X, split(*spec))
    for index in INDICES:
        np.testing.assert_array_equal(x[index], X[index], strict=True)
    for shard in x.addressable_shards:
        np.testing.assert_array_equal(shard.data, X[shard.index])
        assert shard.data.devices() == {shard.device}
    np.testing.assert_array_equal([row[0] for row in x], X[:, 0])


@pytest.mark.parametrize(
    "forms",
    [
        ((1, 1, False, True), (16, 1, False, False)),
        ((2, 1, False, False), (16, 1, False, False)),
        ((57, 8, False, False), (16, 1, False, False)),
    ],
    ids=["a row", "two rows", "a stride"],
)
def test_indexing_gathers_nothing(forms):
    """Devices exchange as many elements as the result has, not those of the array."""
    x = jax.device_put(X, split(("a", "b")))
    cut = jax.jit(lambda x, start: sharded_windows(x, start, forms=forms))
    text = cut.lower(x, 0).compile().as_text()
    exchanged = re.findall(r"= f32\[([\d,]*)\]\S* (all-\w+|collective-permute)(?:-start)?\(", text)
    sizes = [np.prod([int(n) for n in shape.split(",")]) for shape, _ in exchanged]
    assert [kind for _, kind in exchanged] == ["all-reduce"]
    assert sizes == [cut(x, 0).size]


def test_reading_a_shard_does_not_gather_the_others():
    x = jax.device_put(X, split(("a", "b")))
    part = x.addressable_shards[3]
    np.testing.assert_array_equal(part.data, X[24:32])
    assert x._npy_value is None
    assert part.data.unsafe_buffer_pointer() == x.addressable_data(3).unsafe_buffer_pointer()
    copied = x.copy_to_host_async()
    assert copied is None and x.block_until_ready() is x
    np.testing.assert_array_equal(jax.device_get({"x": x})["x"], X)


def test_copies_and_texts():
    x = jax.device_put(X[:8, :2], split("a", "b"))
    for y in (copy.copy(x), copy.deepcopy(x), x.copy()):
        assert y.sharding == x.sharding and y is not x
    y = pickle.loads(pickle.dumps(x))
    assert y.sharding.num_devices == 1
    np.testing.assert_array_equal(y, X[:8, :2])
    assert (repr(x), str(x), f"{x}") == (repr(y), str(y), f"{y}")
    sharding = pickle.loads(pickle.dumps(x.sharding))
    assert sharding == x.sharding and hash(sharding) == hash(x.sharding)


def test_random_keys_in_parts():
    keys = jax.random.split(jax.random.key(0), 8)
    moved = jax.device_put(keys, split(("a", "b")))
    rows = list(moved)
    assert [
        jnp.array_equal(jax.random.key_data(a), jax.random.key_data(b))
        for a, b in zip(rows, keys, strict=True)
    ] == [True] * 8
    assert jax.random.bits(moved[5]) == jax.random.bits(keys[5])
    again = jax.make_array_from_callback((8,), moved.sharding, lambda index: keys[index])
    np.testing.assert_array_equal(jax.random.key_data(again), jax.random.key_data(keys))


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda s: jax.make_array_from_callback((8,), s, lambda i: [1.0]), TypeError, "list"),
        (lambda s: jax.make_array_from_callback((8,), s, lambda i: None), TypeError, "None"),
        (
            lambda s: jax.make_array_from_callback(
                (8,), s, lambda i: np.ones(2, "f4" if i[0].start else "i4")
            ),
            ValueError,
            "differ in dtype: .* int32 first, and float32 for",
        ),
        (
            lambda s: jax.make_array_from_callback((8,), jax.devices()[0], lambda i: np.ones(8)),
            TypeError,
            "sharding must be a Sharding",
        ),
        (
            lambda s: jax.make_array_from_process_local_data(s, np.ones(8), (16,)),
            ValueError,
            r"shape \(8,\), but global_shape is \(16,\)",
        ),
        (
            lambda s: jax.make_array_from_single_device_arrays((8,), s, jnp.ones(8)),
            TypeError,
            "must be a list or tuple",
        ),
        (
            lambda s: jax.jit(lambda v: jax.make_array_from_single_device_arrays((8,), s, [v]))(X),
            ValueError,
            "traced value",
        ),
        (
            lambda s: jax.device_put({"w": np.ones(6)}, s),
            ValueError,
            r"device_put of x\['w'\], of shape \(6,\)",
        ),
        (
            lambda s: jax.device_put({"w": jnp.ones(6)}, s),
            ValueError,
            r"device_put of x\['w'\], of shape \(6,\)",
        ),
        (
            lambda s: jax.device_put({"a": X, "b": (X, X)}, {"a": s, "b": (s,)}),
            ValueError,
            r"device\['b'\]",
        ),
        (lambda s: jax.device_put([X, 1], [s, "cpu"]), ValueError, r"x\[1\].*got 'cpu'"),
    ],
)
def test_mistakes_are_explained(make, error, text):
    sharding = split("a")
    with pytest.raises(error, match=text) as caught:
        make(sharding)
    assert str(caught.value).count("\n") < 12
    assert jax.device_put(np.ones(8), sharding).sharding == sharding


def test_trees_of_local_data():
    data = {"a": np.arange(8.0), "b": [np.ones((8, 2))]}
    found = jax.make_array_from_process_local_data(split("a"), data)
    assert found["b"][0].sharding == split("a") and found["a"].shape == (8,)
    found = jax.make_array_from_process_local_data({"a": split("a"), "b": split()}, data)
    assert found["b"][0].is_fully_replicated


def test_donated_memory_serves_a_result_that_is_divided_otherwise(recwarn):
    x = jax.device_put(X, split("a"))
    y = jax.jit(lambda x: x + 1, donate_argnums=0, out_shardings=split(None, "a"))(x)
    np.testing.assert_array_equal(y, X + 1)
    assert x.is_deleted()
    assert not recwarn.list
    x = jax.device_put(X, split("a"))
    with pytest.warns(UserWarning, match="not usable"):
        jax.jit(lambda x: x + 1, donate_argnums=0, out_shardings=split())(x)
