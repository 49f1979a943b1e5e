"""A function of shards: each device computes on its part, and they add up the results."""

from functools import partial
from typing import assert_type

import ricci
import ricci.numpy as jnp
from ricci import Array, lax
from ricci.sharding import NamedSharding
from ricci.sharding import PartitionSpec as P

mesh = ricci.make_mesh((ricci.device_count(),), ("rows",))


@ricci.shard_map(mesh=mesh, in_specs=(P("rows"), P()), out_specs=P("rows"))
def normalized(x: Array, scale: Array) -> Array:
    total = lax.psum(jnp.sum(x**2), "rows")
    return scale * x / jnp.sqrt(total)


@ricci.jit
@partial(ricci.shard_map, mesh=mesh, in_specs=P("rows"), out_specs=P("rows"))
def passed_on(x: Array) -> Array:
    size = lax.axis_size("rows")
    return lax.ppermute(x, "rows", [(i, (i + 1) % size) for i in range(size)])


def main() -> None:
    count = ricci.device_count()
    x = ricci.device_put(jnp.arange(2.0 * count) + 1, NamedSharding(mesh, P("rows")))
    unit = normalized(x, jnp.asarray(2.0))
    assert_type(unit, Array)
    assert abs(float(jnp.linalg.norm(unit)) - 2.0) < 1e-5
    assert passed_on(x).tolist()[2 % (2 * count)] == 1.0
    assert isinstance(unit.sharding, NamedSharding)

    def total(x: Array) -> Array:
        return normalized(x, jnp.asarray(1.0)).sum()

    assert ricci.grad(total)(x).shape == x.shape
