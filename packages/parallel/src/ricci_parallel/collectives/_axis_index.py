"""The position along a named axis, and its size."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_autodiff import not_linear, zero_derivative
from ricci_batching import Axis
from ricci_lax import add, iota, mul
from ricci_stablehlo import Lowering, Value, axes_left, mesh_position, on_each_device

from ._named_axes import AxisNameLike, axis_names, named, outside
from ._varying import made_varying

__all__ = ["axis_index", "axis_index_p", "axis_size"]

_INT = np.dtype("int32")


def _lower(ctx: Lowering, *, axis_name: Hashable) -> Value:
    """Write the position along an axis.

    Only a module that is manual over all axes of its mesh may ask for its partition. Where the
    compiler partitions over some, the position is computed in an inner call, manual over these too.
    """
    left, out = axes_left(), ctx.out
    if axis_name in left or ctx.module.num_partitions == 1 or not left:
        return mesh_position(ctx, axis_name, out)
    return on_each_device(ctx, [], [out], lambda c: [mesh_position(c, axis_name, out)])[0]


def _batch(
    axis: Axis, args: Sequence[ir.ArrayLike], dims: Sequence[int | None], *, axis_name: Hashable
) -> tuple[ir.Array, int]:
    return iota(_INT, axis.size), 0


# The position of this device (or example) along a named axis.
axis_index_p: ir.Primitive = ir.define(
    "axis_index",
    abstract_eval=lambda *, axis_name: ir.ShapedArray((), _INT),
    memo=False,  # the type depends on the mesh in force
    jvp=zero_derivative,
    transpose=not_linear,
    batch=_batch,
    axis_names=named,
    host=outside,
    lower=_lower,
    sharding=made_varying,
)


@ir.api_boundary
def axis_index(axis_name: AxisNameLike) -> ir.Array:
    """The position along a named axis, an ``int32`` scalar; along several axes, in row-major order.

    Args:
      axis_name: the name of the axis, or a tuple of names.

    Returns:
      An array without dimensions.

    Raises:
      NameError: if no enclosing ``pmap``, ``shard_map``, ``vmap`` or kernel binds the axis name.

    Example:
      A random key for each member, made of one that all share:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci import lax, random
      >>> def sample(key):
      ...     return random.normal(random.fold_in(key, lax.axis_index("i")))
      >>> samples = ricci.vmap(sample, in_axes=None, axis_name="i", axis_size=3)(random.key(0))
      >>> len(set(samples.tolist()))
      3
    """
    index: Any = None
    for name in axis_names("axis_index", axis_name):
        size = ir.axis_sizes.value[name]
        if isinstance(size, ir.PositionedSize):
            position = size.position()
        else:
            position = axis_index_p.bind(axis_name=name)
        index = position if index is None else add(mul(index, _INT.type(size)), position)
    return iota(_INT, 1)[0] if index is None else index


@ir.api_boundary
def axis_size(axis_name: AxisNameLike) -> int:
    """The number of members of a named axis; of several axes, the product.

    Args:
      axis_name: the name of the axis, or a tuple of names.

    Returns:
      An int, known while tracing.

    Raises:
      NameError: if no enclosing ``pmap``, ``shard_map``, ``vmap`` or kernel binds the axis name.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci import lax
      >>> ricci.vmap(lambda x: x * lax.axis_size("i"), axis_name="i")(np.ones(3))
      Array([3., 3., 3.], dtype=float32)
    """
    return ir.axis_size(axis_name)


ir.axis_position.provide(axis_index)
