"""Gamma numbers of large arrays, which are drawn in batches on CPUs.

With a partitionable generator, the first of many numbers are those of a shorter array, which a
loop over all draws.
"""

import numpy as np
import pytest

import ricci_random as random
from ricci_batching import vmap
from ricci_ir import enable_x64, threefry_partitionable

xla = pytest.importorskip("ricci_xla", reason="values are computed by a backend")

KEY = random.key(3)
LARGE, SMALL = 65536, 20000  # the fewest numbers that are drawn in batches, and a part of them
MIXED = np.resize(np.array([0.01, 0.5, 1, 2.5, 1e6, np.nan, 0, -1], np.float32), LARGE)


@pytest.mark.parametrize(
    ("name", "dtype", "rtol"),
    [("gamma", "float32", 1e-5), ("loggamma", "float64", 1e-13), ("gamma", "bfloat16", 1e-2)],
)
def test_many_numbers_begin_with_those_of_fewer(name, dtype, rtol):
    draw = getattr(random, name)
    with enable_x64(dtype == "float64"):
        many, fewer = (
            np.asarray(draw(KEY, MIXED[:size], dtype=dtype)).astype(np.float64)
            for size in (LARGE, SMALL)
        )
    np.testing.assert_allclose(many[:SMALL], fewer, rtol, atol=rtol)


def test_rows_under_vmap_are_drawn_in_batches():
    keys = random.split(KEY, 4)
    rows = vmap(lambda key: random.gamma(key, 2.5, (LARGE // 4,)))(keys)
    for key, row in zip(keys, rows, strict=True):
        expected = random.gamma(key, 2.5, (LARGE // 4,))
        np.testing.assert_allclose(row, expected, 1e-6)


def test_keys_that_are_split_by_halves_draw_in_batches_too():
    with threefry_partitionable(False):
        numbers = np.asarray(random.gamma(KEY, np.full(LARGE, 30.0, np.float32)))
    np.testing.assert_allclose(numbers.mean(), 30, atol=0.1)
    np.testing.assert_allclose(numbers.var(), 30, atol=1)
