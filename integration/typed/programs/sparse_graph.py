"""Steps along the edges of a graph, whose matrix is sparse."""

from typing import assert_type

import ricci
import ricci.numpy as jnp
from ricci import Array
from ricci.experimental import sparse
from ricci.experimental.sparse import BCOO


def ring(size: int) -> BCOO:
    here = jnp.arange(size)
    places = jnp.stack([here, (here + 1) % size], axis=1)
    return BCOO((jnp.ones(size), places), shape=(size, size))


@ricci.jit
def walk(graph: BCOO, start: Array) -> Array:
    return graph @ (graph @ start)


@sparse.sparsify
def halved(graph: BCOO) -> BCOO:
    return graph * 0.5


def energy(weights: Array, places: Array, x: Array) -> Array:
    graph = BCOO((weights, places), shape=(x.size, x.size))
    return ((graph @ x) ** 2).sum()


def main() -> None:
    graph = ring(5)
    start = jnp.zeros(5).at[2].set(1.0)
    assert walk(graph, start).tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]
    dense = graph.todense()
    assert_type(dense, Array)
    assert dense.sum() == 5.0
    assert sparse.bcoo_fromdense(dense).nse == 5
    assert graph.T.shape == (5, 5)
    gradient = ricci.grad(energy)(graph.data, graph.indices, jnp.arange(5.0))
    assert gradient.shape == (5,)
    assert float(halved(graph).todense().max()) == 0.5
