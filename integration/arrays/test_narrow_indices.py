"""Index arrays of two and four bits, which NumPy counts as of another kind than integers."""

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp

NARROW = ("int2", "int4", "uint2", "uint4")
LOOKUPS = {
    "brackets": lambda a, i: a[i],
    "mask beside it": lambda a, i: a.reshape(4, 4)[i, jnp.array([True, False, True, False])],
    "slice beside it": lambda a, i: a.reshape(4, 4)[i, 1:],
    "scalar": lambda a, i: a[i[1]],
    "take": jnp.take,
    "take along": lambda a, i: jnp.take_along_axis(a, i, 0),
    "set": lambda a, i: a.at[i].set(9.0),
    "add": lambda a, i: a.at[i].add(9.0),
    "get": lambda a, i: a.at[i].get(mode="fill"),
    "without negative ones": lambda a, i: a.at[i].get(wrap_negative_indices=False),
}


@pytest.mark.sampled(9)
@pytest.mark.parametrize("lookup", LOOKUPS.values(), ids=LOOKUPS)
@pytest.mark.parametrize("dtype", NARROW)
def test_indices_of_two_and_four_bits_index_as_wide_ones(dtype, lookup):
    a = jnp.arange(16.0)
    # The greatest and, where signed, the least position.
    ends = {"int2": [1, -2], "int4": [7, -8], "uint2": [1, 3], "uint4": [1, 15]}[dtype]
    if lookup is LOOKUPS["mask beside it"] or lookup is LOOKUPS["slice beside it"]:
        ends = [1, max(ends[1], -2) % 4]
    indices = jnp.array(ends).astype(dtype)
    wide = indices.astype(int)
    expected = lookup(a, wide)
    for call in (lookup, ricci.jit(lookup)):
        np.testing.assert_array_equal(call(a, indices), expected)
    np.testing.assert_array_equal(lookup(a, np.asarray(indices)), expected)
    mapped = ricci.vmap(lambda i: lookup(a, i))(indices[None])
    np.testing.assert_array_equal(mapped[0], expected)


@pytest.mark.parametrize("dtype", ["int4", "uint4"])  # XLA itself does not sort two bits right
def test_sorting_of_four_bits_descends(dtype):
    a = jnp.array([1, 0, 1]).astype(dtype)
    np.testing.assert_array_equal(jnp.sort(a, descending=True).astype(int), [1, 1, 0])
    np.testing.assert_array_equal(jnp.argsort(a, descending=True), [0, 2, 1])
    np.testing.assert_array_equal(jnp.partition(a, 1).astype(int), [0, 1, 1])
