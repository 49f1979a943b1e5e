"""Sparse arrays whose elements, batches or rows are sharded over eight devices.

Each operation gives what it gives on one device: eagerly, compiled, and compiled with its
derivative. Where nothing about the result's division is asked for, the compiler chooses it.
"""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="values need the compiler")

import ricci
import ricci.numpy as jnp
from ricci import NamedSharding, P
from ricci.experimental import sparse

ROWS, COLUMNS, BATCH = 16, 24, 8
DENSE = np.where(
    np.random.default_rng(0).random((ROWS, COLUMNS)) < 0.3,
    np.arange(1.0, 1 + ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS),
    0,
).astype(np.float32)
BATCHES = np.stack([np.roll(DENSE, i, 1) * (i + 1) for i in range(BATCH)])
COUNT = 8 * -(-int((DENSE != 0).sum()) // 8)  # how many elements are stored: a multiple of 8


def mesh():
    return ricci.make_mesh((8,), ("i",), axis_types=(ricci.sharding.AxisType.Auto,))


def divided(mat, spec):
    """The array with each of its parts sharded along the spec."""
    place = lambda x: ricci.device_put(x, NamedSharding(mesh(), spec))
    return ricci.tree.map(place, mat)


def elements(mat):
    return divided(mat, P("i"))


M = lambda: sparse.BCOO.fromdense(DENSE, nse=COUNT)
B = lambda: sparse.BCOO.fromdense(BATCHES, nse=COUNT, n_batch=1)
ROW_BATCHES = lambda: sparse.BCOO.fromdense(DENSE, n_batch=1)
BR = lambda: sparse.BCSR.fromdense(BATCHES, nse=COUNT, n_batch=1)
C = lambda: sparse.COO.fromdense(DENSE, nse=COUNT)
v = np.linspace(-1, 1, COLUMNS, dtype=np.float32)
u = np.linspace(-1, 1, ROWS, dtype=np.float32)
X = np.linspace(-1, 1, COLUMNS * 8, dtype=np.float32).reshape(COLUMNS, 8)

# The operation and its array; a function of the array's elements is differentiated, too.
PROGRAMS = {
    "todense": (M, lambda m: m.todense()),
    "matrix times vector": (M, lambda m: m @ v),
    "matrix times matrix": (M, lambda m: m @ X),
    "vector times matrix": (M, lambda m: u @ m),
    "sparse times sparse": (M, lambda m: (m @ m.T).todense()),
    "elementwise": (M, lambda m: sparse.sparsify(jnp.sin)(m * 2.0).todense()),
    "times dense": (M, lambda m: (m * DENSE).todense()),
    "plus sparse": (M, lambda m: (m + m).todense()),
    "sum": (M, lambda m: m.sum(0).todense()),
    "total": (M, lambda m: m.sum()),
    "transposed": (M, lambda m: m.T.todense()),
    "reshaped": (M, lambda m: m.reshape(COLUMNS, ROWS).todense()),
    "a part": (M, lambda m: m[3:9, 2:].todense()),
    "a row": (M, lambda m: m[5].todense()),
    "sorted": (M, lambda m: m.T.sort_indices().todense()),
    "without duplicates": (M, lambda m: m.sum_duplicates(COUNT).todense()),
    "joined": (M, lambda m: sparse.bcoo_concatenate([m, m], dimension=0).todense()),
    "batches": (B, lambda m: m.todense()),
    "batched product": (B, lambda m: sparse.bcoo_dot_general(
        m, jnp.stack([X] * BATCH), dimension_numbers=(([2], [1]), ([0], [0])))),
    "one vector for all batches": (B, lambda m: m @ v),
    "mapped": (B, lambda m: ricci.vmap(lambda one: one @ v)(m)),
    "batches summed": (B, lambda m: m.sum(0).todense()),
    "fewer batches": (B, lambda m: m.update_layout(n_batch=0).todense()),
    "rows as batches": (ROW_BATCHES, lambda m: m @ v),
    "rows summed": (ROW_BATCHES, lambda m: m.sum(1).todense()),
    "compressed batches": (BR, lambda m: m.todense()),
    "compressed product": (BR, lambda m: ricci.vmap(lambda one: one @ v)(m)),
    "coordinates": (C, lambda m: m @ v),
}  # fmt: skip


def of_elements(mat, f, data):
    """The sum of a program's results, as a function of the array's elements."""
    leaves, tree = ricci.tree.flatten(mat)
    return jnp.sum(f(ricci.tree.unflatten(tree, [data, *leaves[1:]])))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_sharded_sparse_operands_give_the_unsharded_result(name, eight_devices):
    make, f = PROGRAMS[name]
    mat = make()
    expected = f(mat)
    given = elements(mat)
    for found in (f(given), ricci.jit(f)(given)):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)
    gradient = ricci.jit(ricci.grad(of_elements, 2), static_argnums=1)
    np.testing.assert_allclose(
        gradient(given, f, given.data), gradient(mat, f, mat.data), rtol=1e-4, atol=1e-3
    )


def test_parts_keep_their_division(eight_devices):
    given = ricci.device_put(M(), NamedSharding(mesh(), P("i")))
    scaled = ricci.jit(lambda m: m * 2.0)(given)
    for part in ricci.tree.leaves((given, scaled)):
        assert part.sharding.is_equivalent_to(NamedSharding(mesh(), P("i")), part.ndim)
    assert np.array_equal(scaled.todense(), DENSE * 2)


def test_each_device_multiplies_its_elements(eight_devices):
    def partial_product(m, v):
        return ricci.lax.psum(m @ v, "i")

    on_shards = ricci.shard_map(partial_product, mesh=mesh(), in_specs=(P("i"), P()), out_specs=P())
    gradient = lambda v: ricci.grad(lambda v: (on_shards(elements(M()), v) ** 2).sum())(v)
    for f in (on_shards, ricci.jit(on_shards)):
        np.testing.assert_allclose(f(elements(M()), v), DENSE @ v, rtol=1e-4)
    np.testing.assert_allclose(gradient(v), 2 * DENSE.T @ (DENSE @ v), rtol=1e-4)


def test_each_device_multiplies_its_rows(eight_devices):
    def rows(data, indices, v):
        return sparse.BCOO((data, indices), shape=(ROWS // 8, COLUMNS)) @ v

    mat = ROW_BATCHES()
    on_shards = ricci.shard_map(rows, mesh=mesh(), in_specs=(P("i"), P("i"), P()), out_specs=P("i"))
    found = ricci.jit(on_shards)(mat.data, mat.indices, v)
    np.testing.assert_allclose(found, DENSE @ v, rtol=1e-4)
