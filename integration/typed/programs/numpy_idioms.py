"""Idioms of NumPy: masks, selections, groups, sorting, histograms, ufuncs."""

from typing import assert_type

import ricci
import ricci.numpy as jnp
from ricci import Array


@jnp.vectorize
def clipped(x: Array, low: Array, high: Array) -> Array:
    return jnp.where(x < low, low, jnp.where(x > high, high, x))


@ricci.jit
def group_means(values: Array, groups: Array) -> Array:
    totals = jnp.zeros(3).at[groups].add(values)
    counts = jnp.bincount(groups, length=3)
    return totals / counts


def main() -> None:
    x = jnp.array([3.0, -1.0, 2.0, jnp.nan])
    assert_type(jnp.nanmax(x), Array)
    assert int(jnp.isnan(x).sum()) == 1
    assert jnp.nan_to_num(x)[-1] == 0
    assert clipped(x[:3], 0.0, 2.5).tolist() == [2.5, 0.0, 2.0]
    assert group_means(jnp.arange(4.0), jnp.array([0, 0, 1, 2])).tolist() == [0.5, 2.0, 3.0]
    values, counts = jnp.unique(jnp.array([2, 1, 2]), return_counts=True)
    assert values.tolist() == [1, 2] and counts.tolist() == [1, 2]
    heights, edges = jnp.histogram(x[:3], bins=2, range=(-1, 3))
    assert heights.tolist() == [1, 2] and edges.shape == (3,)
    assert jnp.add.reduce(x[:3]) == 4.0
    assert_type(jnp.maximum(jnp.add(x, 1), 0.0), Array)
    length = jnp.frompyfunc(jnp.hypot, 2, 1)
    assert float(length.reduce(jnp.array([3.0, 4.0]))) == 5.0
    assert jnp.select([x[:3] > 2, x[:3] > 0], [x[:3], -x[:3]], 0.0).tolist() == [3.0, 0.0, -2.0]
    rows, columns = jnp.meshgrid(jnp.arange(2), jnp.arange(3), indexing="ij")
    assert (rows + columns).shape == (2, 3)
    assert jnp.searchsorted(jnp.arange(5), 2.5) == 3
    best, *others = jnp.sort(x[:3])[::-1]
    assert float(best) == 3.0 and len(others) == 2
