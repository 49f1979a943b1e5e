"""Programs over two described GPUs."""

from functools import partial

import numpy as np

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P


def over_shards(mesh, function, out=None):
    """Map a function over the shards of its operand."""
    out = P("x") if out is None else out
    return jax.shard_map(function, mesh=mesh, in_specs=P("x"), out_specs=out)


def programs(mesh):
    """Return functions of an array that is sharded over the mesh's axis ``x``."""
    mapped = partial(over_shards, mesh)
    ring = [(0, 1), (1, 0)]
    return {
        "psum": mapped(lambda x: lax.psum(x, "x"), P()),
        "psum_scatter": mapped(lambda x: lax.psum_scatter(x, "x", tiled=True)),
        "pmax": mapped(lambda x: lax.pmax(x, "x"), P()),
        "all_gather": mapped(lambda x: lax.all_gather(x, "x", tiled=True)),
        "all_to_all": mapped(lambda x: lax.all_to_all(x, "x", 1, 0, tiled=True)),
        "ppermute": mapped(lambda x: lax.ppermute(x, "x", ring)),
        "psum.grad": jax.grad(lambda x: mapped(lambda x: lax.psum(jnp.sin(x), "x"), P())(x).sum()),
        "contraction": lambda x: x.T @ x,
        "softmax": lambda x: jax.nn.softmax(x, axis=0),
    }


SHAPE, DTYPE = (64, 128), np.float32
