"""Esquilax: agents on a plane and on graphs, their neighbours' messages reduced."""

import esquilax

import jax
import jax.numpy as jnp

COUNT = 12
PLACES = jax.random.uniform(jax.random.key(0), (COUNT, 2))
VALUES = jnp.arange(float(COUNT))


REDUCTIONS = {
    "add": esquilax.reductions.add(),
    "greatest": esquilax.reductions.Reduction(fn=jnp.maximum, id=jnp.asarray(-1e9)),
}


def spatial(name):
    return esquilax.transforms.spatial(
        lambda params, a, b: params * (a - b), reduction=REDUCTIONS[name], i_range=0.4
    )(2.0, VALUES, VALUES, pos=PLACES)


def graph():
    edges = jnp.array([[0, 0, 1, 3], [1, 2, 2, 0]])
    add = esquilax.reductions.add()
    return esquilax.transforms.graph_reduce(
        lambda params, a, b, weight: params * a * b + weight, reduction=add, n=4
    )(1.5, VALUES[:4], VALUES[:4], jnp.ones(4), edge_idxs=edges)


CASES = {f"spatial {n}": lambda n=n: spatial(n) for n in REDUCTIONS} | {
    "graph": graph,
    "amap": lambda: esquilax.transforms.amap(lambda p, x: p + x)(1.0, VALUES),
}
