"""Unreduced arrays on meshes whose axes are all unreduced, and contractions that keep terms."""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="devices need the runtime")

import ricci as jax
import ricci.numpy as jnp
from ricci.sharding import NamedSharding, reshard
from ricci.sharding import PartitionSpec as P

pytestmark = pytest.mark.usefixtures("eight_devices")


def terms(x):
    return np.stack([np.asarray(shard.data) for shard in x.addressable_shards])


def unreduced(rank, *axes):
    return P(*[None] * rank, unreduced=set(axes))


def sharded(shape, *spec):
    return reshard(jnp.arange(np.prod(shape), dtype="float32").reshape(shape), P(*spec))


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("shape", [(), (8,), (3, 5)])
@pytest.mark.parametrize(("sizes", "names"), [((8,), "i"), ((2, 4), "ij"), ((1,), "i")])
def test_reshard_to_unreduced_over_all_axes_of_a_mesh(sizes, names, shape, jit):
    mesh = jax.make_mesh(sizes, tuple(names))
    with jax.set_mesh(mesh):
        x = jnp.arange(np.prod(shape), dtype="float32").reshape(shape)
        to_terms = lambda x: reshard(x, P(unreduced=set(names)))
        y = (jax.jit(to_terms) if jit else to_terms)(x)
        assert y.sharding.spec == unreduced(len(shape), *names)
        assert not y.sharding.is_equivalent_to(NamedSharding(mesh, P()), 0) or mesh.size == 1
        np.testing.assert_array_equal(terms(y).sum(0), x)
        np.testing.assert_array_equal(reshard(y, P()), x)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize(
    ("contract", "left", "right", "out"),
    [
        (
            lambda a, b, out: jnp.einsum("ab,bc->ac", a, b, out_sharding=out),
            ((2, 8), None, "i"),
            ((8, 2), "i"),
            unreduced(2, "i"),
        ),
        (
            lambda a, b, out: jnp.einsum("ab,bc->ca", a, b, out_sharding=out),
            ((2, 8), "j", "i"),
            ((8, 3), "i"),
            P(None, "j", unreduced={"i"}),
        ),
        (
            lambda a, b, out: jnp.einsum("ab,bc->", a, b, out_sharding=out),
            ((2, 8), None, "i"),
            ((8, 3), "i"),
            unreduced(0, "i"),
        ),
        (
            lambda a, b, out: jnp.einsum("ab,bc->ac", a, b, out_sharding=out),
            ((2, 8), None, ("i", "j")),
            ((8, 3), ("i", "j")),
            unreduced(2, "i", "j"),
        ),
        (
            lambda a, b, out: jnp.matmul(a, b, out_sharding=out),
            ((4, 1, 3, 8), "j", None, None, "i"),
            ((4, 1, 8, 2), "j", None, "i"),
            P("j", None, None, None, unreduced={"i"}),
        ),
    ],
)
def test_contractions_to_unreduced_keep_the_terms_of_each_device(contract, left, right, out, jit):
    with jax.set_mesh(jax.make_mesh((4, 2), ("i", "j"))):
        a, b = sharded(*left), sharded(*right)
        f = lambda a, b: contract(a, b, out)
        y = (jax.jit(f) if jit else f)(a, b)
        assert y.sharding.spec == out
        # Of 4 devices along i, all have a term that is not zero.
        assert all(term.any() for term in terms(y))
        expected = contract(np.asarray(a), np.asarray(b), None)
        np.testing.assert_allclose(reshard(y, P()), expected, rtol=1e-6)


def test_einsum_to_unreduced_reshards_sums_of_other_axes():
    with jax.set_mesh(jax.make_mesh((4, 2), ("i", "j"))):
        a, b = sharded((2, 8), None, "j"), sharded((8, 3), "j")
        y = jnp.einsum("ab,bc->ac", a, b, out_sharding=unreduced(2, "i"))
        np.testing.assert_allclose(reshard(y, P()), np.asarray(a) @ np.asarray(b))


def test_gradients_of_einsum_to_unreduced():
    with jax.set_mesh(jax.make_mesh((8,), ("i",))):
        a, b = sharded((2, 8), None, "i"), sharded((8, 3), "i")
        out = unreduced(2, "i")
        f = lambda a: reshard(jnp.einsum("ab,bc->ac", a, b, out_sharding=out), P()).sum()
        for gradient in (jax.grad(f), jax.jit(jax.grad(f))):
            np.testing.assert_allclose(
                gradient(a), np.broadcast_to(np.asarray(b).sum(1), (2, 8)), rtol=1e-6
            )


@pytest.mark.parametrize("text", [repr, str, "{}".format])
def test_unreduced_arrays_print_their_sharding(text):
    with jax.set_mesh(jax.make_mesh((8,), ("i",))):
        x = reshard(jnp.arange(8.0), P(unreduced={"i"}))
        assert text(x) == f"Array(shape=(8,), dtype=float32, sharding={x.sharding!r})"


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("spec", [P(), P("i"), P("i", None)])
def test_specs_of_resharded_arrays_have_an_entry_for_each_dimension(spec, jit):
    with jax.set_mesh(jax.make_mesh((8,), ("i",))):
        move = lambda x: reshard(x, spec)
        moved = (jax.jit(move) if jit else move)(jnp.ones((8, 8)))
        assert len(moved.sharding.spec) == 2
