"""Sorting by several keys, and partitions, against NumPy's."""

import numpy as np
import pytest

import ricci_numpy as jnp

EXTREMES = [
    np.array([3, np.iinfo(dtype).min, np.iinfo(dtype).max, 5, 1, np.iinfo(dtype).min], dtype)
    for dtype in ("int8", "int16", "int32", "uint8", "uint32")
]
EXTREMES.append(np.array([True, False, True, False]))
EXTREMES.append(np.array([[0.5, -np.inf, -0.0], [np.inf, 2.0, -1.0]], np.float32))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("a", EXTREMES, ids=lambda a: str(a.dtype))
@pytest.mark.parametrize("kth", [0, 1, -1])
def test_partition_orders_the_least_numbers_of_a_dtype(a, kth, backend):
    kth %= a.shape[-1]
    ordered = np.sort(a)
    values = np.asarray(jnp.partition(a, kth))
    positions = np.asarray(jnp.argpartition(a, kth))
    assert values.dtype == a.dtype
    for result in (values, np.take_along_axis(a, positions, -1)):
        np.testing.assert_array_equal(result[..., kth], ordered[..., kth])
        np.testing.assert_array_equal(np.sort(result[..., :kth]), ordered[..., :kth])
        np.testing.assert_array_equal(np.sort(result[..., kth:]), ordered[..., kth:])


@pytest.mark.parametrize("batch_size", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("axis", [0, 1])
def test_lexsort_of_batches_of_keys_is_numpys(axis, batch_size, backend):
    keys = np.random.RandomState(0).randint(0, 2, (7, 5, 6)).astype(np.int32)
    positions = jnp.lexsort(tuple(keys), axis, batch_size=batch_size)
    np.testing.assert_array_equal(positions, np.lexsort(keys, axis))


def test_lexsort_refuses_empty_batches():
    with pytest.raises(ValueError, match="batch_size must be positive, got 0"):
        jnp.lexsort((np.zeros(2, np.int32),), batch_size=0)
