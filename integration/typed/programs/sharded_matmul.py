"""Arrays sharded over a mesh of devices."""

import ricci
import ricci.numpy as np
from ricci import Array
from ricci.sharding import Mesh, NamedSharding, PartitionSpec


def make_mesh() -> Mesh:
    return ricci.make_mesh((ricci.device_count(),), ("data",))


@ricci.jit
def product(x: Array, w: Array) -> Array:
    return x @ w


def main() -> None:
    mesh = make_mesh()
    rows = NamedSharding(mesh, PartitionSpec("data", None))
    count = 2 * ricci.device_count()
    x = ricci.device_put(np.ones((count, 3)), rows)
    w = ricci.device_put(np.ones((3, 2)), NamedSharding(mesh, PartitionSpec()))
    y = product(x, w)
    assert y.shape == (count, 2)
    assert len(y.devices()) == ricci.device_count()
    assert all(shard.data.shape == (2, 2) for shard in y.addressable_shards)
