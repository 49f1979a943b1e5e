"""Jaxns: cumulative operations, numbers as logarithms, bounding ellipsoids, batched maps."""

from functools import partial

from jaxns import cumulative_ops
from jaxns.log_semiring import LogSpace
from jaxns.sampling import ellipsoid

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec

X = jnp.linspace(-1.0, 1.0, 8)
POINTS = jax.random.normal(jax.random.key(0), (20, 3))


def on_mesh():
    mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Explicit,))
    with jax.set_mesh(mesh):
        x = jax.device_put(X, NamedSharding(mesh, PartitionSpec("i")))
        return cumulative_ops._remainder_leaf(x, 6)


def cumulated(operation, **options):
    return jax.jit(partial(operation, jnp.logaddexp, jnp.asarray(0.0), **options))(X)


def in_logarithms():
    total = LogSpace(X) * LogSpace(X + 1) + LogSpace(X)
    return total.log_abs_val, total.value


def ellipsoids():
    centre, covariance = ellipsoid.bounding_ellipsoid(POINTS, jnp.ones(20))
    params = ellipsoid.ellipsoid_params(POINTS, jnp.ones(20))
    return centre, covariance, list(params)[:2], ellipsoid.log_ellipsoid_volume(params.radii)


CASES = {
    "static": lambda: cumulated(cumulative_ops.cumulative_op_static),
    "before": lambda: cumulated(cumulative_ops.cumulative_op_static, pre_op=True),
    "dynamic": lambda: cumulated(cumulative_ops.cumulative_op_dynamic, stop_idx=5),
    "gradient": lambda: jax.grad(
        lambda x: cumulative_ops.cumulative_op_static(jnp.logaddexp, jnp.asarray(0.0), x)[0]
    )(X),
    "in logarithms": in_logarithms,
    "ellipsoids": ellipsoids,
    "batches": lambda: cumulative_ops._batch_and_remainder({"x": X}, 3),
    "on a mesh": on_mesh,
}
