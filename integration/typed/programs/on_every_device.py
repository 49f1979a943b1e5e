"""Functions of shards, sharded types and meshes: decorators preserve the types of functions."""

from typing import assert_type

import ricci
import ricci.numpy as np
from ricci import Array, lax, shard_map
from ricci.experimental.custom_partitioning import custom_partitioning
from ricci.sharding import (
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    PartitionSpec,
    auto_axes,
    explicit_axes,
    get_abstract_mesh,
)

P = PartitionSpec
mesh = ricci.make_mesh((ricci.device_count(),), ("x",), axis_types=(AxisType.Explicit,))


def mean_and_count(x: Array, scale: float) -> tuple[Array, int]:
    return scale * lax.pmean(x.mean(), "x"), lax.axis_size("x")


@shard_map(mesh=mesh, in_specs=(P("x"), P()), out_specs=P("x"))
def scaled(x: Array, scale: float) -> Array:
    return x * scale


@ricci.smap(in_axes=0, out_axes=0, axis_name="x")
def doubled(x: Array) -> Array:
    return 2 * x


@auto_axes(out_sharding=P("x"))
def shifted(x: Array, by: float) -> Array:
    return x + by


@auto_axes
def squared(x: Array) -> Array:
    return x * x


@explicit_axes(in_sharding=P("x"))
def negative(x: Array) -> Array:
    return -x


def thrice(x: Array) -> Array:
    return 3 * x


tripled = custom_partitioning(thrice)


def on_parts(
    _: Mesh, shapes: tuple[ricci.ShapeDtypeStruct, ...], result: ricci.ShapeDtypeStruct
) -> object:
    return mesh, thrice, result.sharding, tuple(shape.sharding for shape in shapes)


def main() -> None:
    rows = NamedSharding(mesh, P("x"))
    x = ricci.device_put(np.ones(2 * mesh.size), rows)
    average = shard_map(mean_and_count, mesh=mesh, in_specs=(P("x"), P()), out_specs=P())
    assert_type(average(x, 2.0), tuple[Array, int])
    assert_type(scaled(x, 3.0), Array)
    assert scaled(x, 3.0).sharding.is_equivalent_to(rows, 1)
    tripled.def_partition(on_parts, sharding_rule="i -> i")
    assert_type(tripled(x), Array)
    with ricci.set_mesh(mesh):
        assert_type(get_abstract_mesh(), AbstractMesh)
        assert_type(doubled(x), Array)
        assert_type(shifted(x, by=1.0), Array)
        assert squared(x, out_sharding=P("x")).shape == x.shape
        with ricci.use_abstract_mesh(mesh.abstract_mesh.update(axis_types=AxisType.Auto)):
            assert_type(ricci.jit(negative)(np.ones(mesh.size)), Array)
    spec: PartitionSpec = rows.spec
    assert (spec[0], rows.mesh.axis_names) == ("x", ("x",))
