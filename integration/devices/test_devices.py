"""``pmap`` and collectives on eight devices."""

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import grad, jit, lax, make_jaxpr, pmap, random, vmap

pytestmark = pytest.mark.usefixtures("eight_devices")
X = np.arange(24, dtype=np.float32).reshape(8, 3)


def test_elementwise_function_runs_on_every_device():
    y = pmap(lambda a, b, c: a + b + c, in_axes=(0, None, 0))(X, 4, X)
    np.testing.assert_array_equal(y, 2 * X + 4)
    assert len(y.sharding.device_set) == 8


@pytest.mark.parametrize(
    ("collective", "reduce"),
    [(lax.psum, np.sum), (lax.pmean, np.mean), (lax.pmax, np.max), (lax.pmin, np.min)],
    ids=["psum", "pmean", "pmax", "pmin"],
)
def test_collective_combines_all_devices(collective, reduce):
    y = pmap(lambda x: collective(x, "i"), axis_name="i")(X)
    np.testing.assert_allclose(y, np.broadcast_to(reduce(X, axis=0), X.shape), rtol=1e-6)


@pytest.mark.parametrize(
    "collective", [lax.psum, lax.pmean, lax.pmax], ids=["psum", "pmean", "pmax"]
)
def test_collective_of_vmap_agrees_with_pmap(collective):
    f = lambda x: x - collective(x, "i")
    np.testing.assert_allclose(vmap(f, axis_name="i")(X), pmap(f, axis_name="i")(X), rtol=1e-6)


def test_axis_index_and_size():
    y = pmap(lambda x: x[0] * 0 + lax.axis_index("i") * lax.psum(1, "i"), axis_name="i")(X)
    np.testing.assert_array_equal(y, 8 * np.arange(8))


@pytest.mark.parametrize(("in_axis", "out_axis"), [(0, 0), (1, 0), (0, 1), (-1, -1)])
def test_axes(in_axis, out_axis):
    x = np.moveaxis(X, 0, in_axis)
    y = pmap(lambda row: 2 * row, in_axes=in_axis, out_axes=out_axis)(x)
    np.testing.assert_array_equal(y, np.moveaxis(2 * X, 0, out_axis))


def test_unmapped_result_is_one_devices():
    total = pmap(lambda x: lax.psum(x, "i"), axis_name="i", out_axes=None)(X)
    np.testing.assert_allclose(total, X.sum(0))


def test_pytrees_keywords_and_static_arguments():
    f = pmap(lambda d, n, scale: {"y": d["x"] * n * scale}, static_broadcasted_argnums=1)
    np.testing.assert_array_equal(f({"x": X}, 3, scale=np.ones(8, np.float32))["y"], 3 * X)


def test_results_go_on_being_used():
    y = pmap(lambda x: x + 1)(X)
    np.testing.assert_allclose(jnp.sum(y * 2), np.sum((X + 1) * 2))
    np.testing.assert_allclose(y[3], X[3] + 1)
    np.testing.assert_allclose(jit(lambda a: a.T @ a)(y), (X + 1).T @ (X + 1))
    again = pmap(lambda x: x - 1)(y)
    np.testing.assert_array_equal(again, X)


def test_composes_with_vmap_inside():
    a = np.random.default_rng(0).normal(size=(8, 5, 2, 3)).astype(np.float32)
    b = np.random.default_rng(1).normal(size=(8, 5, 3, 4)).astype(np.float32)
    np.testing.assert_allclose(pmap(vmap(jnp.matmul))(a, b), a @ b, rtol=1e-5)


def test_gradient_inside_and_outside():
    f = lambda x: jnp.sum(jnp.sin(x) * lax.pmean(x, "i"))
    inside = pmap(grad(lambda x: jnp.sum(jnp.sin(x))))(X)
    np.testing.assert_allclose(inside, np.cos(X), rtol=1e-5)
    outside = grad(lambda x: jnp.sum(pmap(f, axis_name="i")(x)))(X)
    same = grad(lambda x: jnp.sum(vmap(f, axis_name="i")(x)))(X)
    np.testing.assert_allclose(outside, same, rtol=1e-4, atol=1e-4)


def test_batched_and_compiled_from_outside():
    f = pmap(lambda x: x * lax.axis_index("i"), axis_name="i")
    xs = np.stack([X, X + 1])
    expected = xs * np.arange(8, dtype=np.float32)[None, :, None]
    np.testing.assert_array_equal(vmap(f)(xs), expected)
    np.testing.assert_array_equal(jit(lambda x: f(x) + 1)(X), expected[0] + 1)


def test_jaxpr_shows_the_shards():
    text = str(make_jaxpr(pmap(lambda x: lax.psum(x, "i"), axis_name="i"))(X))
    assert "shard_map" in text
    assert "psum[" in text


def test_training_step_equals_one_device():
    def loss(w, x):
        return jnp.mean((x @ w - 1.0) ** 2)

    def step(w, x):
        return w - 0.1 * lax.pmean(grad(loss)(w, x), "i")

    w = np.array([0.1, 0.2, 0.3], np.float32)
    many = pmap(step, axis_name="i", in_axes=(None, 0), out_axes=None)(w, X[:, None])
    one = w - 0.1 * grad(loss)(w, X)
    np.testing.assert_allclose(many, one, rtol=1e-5)


def test_devices_are_listed():
    assert ricci.device_count() == len(ricci.devices()) >= 8
    assert ricci.local_device_count() == ricci.device_count()


def test_arrays_are_made_on_the_device_that_is_asked_for():
    device = ricci.devices()[-1]
    for x in (jnp.asarray(1.0, device=device), jnp.zeros(3, device=device)):
        assert x.devices() == {device}


KEY_MOVES = {
    "all_gather": lambda k: lax.all_gather(k, "i"),
    "ppermute": lambda k: lax.ppermute(k, "i", [(0, 1), (3, 2)]),
    "all_to_all": lambda k: lax.all_to_all(random.split(k, 4), "i", 0, 0),
    "pbroadcast": lambda k: lax.pbroadcast(k, "i", 1),
}


@pytest.mark.parametrize("name", KEY_MOVES)
def test_collectives_move_keys(name):
    keys = random.split(random.key(0), 4)
    moved = [transform(KEY_MOVES[name], axis_name="i")(keys) for transform in (pmap, vmap)]
    assert moved[0].dtype == keys.dtype
    np.testing.assert_array_equal(*map(random.key_data, moved))


def test_collectives_do_not_add_keys():
    keys = random.split(random.key(0), 4)
    for transform in (pmap, vmap):
        with pytest.raises(TypeError, match="key<fry>"):
            transform(lambda k: lax.psum(k, "i"), axis_name="i")(keys)
    assert pmap(lambda x: lax.psum(x, "i"), axis_name="i")(jnp.ones(4)).tolist() == [4.0] * 4
