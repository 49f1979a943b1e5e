"""Operations of kernels for TPUs on arrays and references."""

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_kernels.body._debugging import reciprocal as _reciprocal
from ricci_kernels.primitives._accesses import Reference, masked_load, masked_store
from ricci_kernels.primitives._staged_operations import apply_staged, staged_operation

__all__ = ["bitcast", "load", "reciprocal", "roll", "store", "touch"]

roll_p: ir.Primitive = staged_operation("roll")
bitcast_p: ir.Primitive = staged_operation("bitcast")


def load(ref: Reference, *, mask: ir.ArrayLike | None = None) -> ir.Array:
    """Read a reference, or a view of one.

    Args:
      ref: the reference, or ``ref.at[index]``.
      mask: which elements are read; the others are unspecified.

    Returns:
      An array of the reference's shape.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> pltpu.load(ricci.new_ref(np.float32([1, 2, 3])).at[1:])
      Array([2., 3.], dtype=float32)
    """
    # Elements that the mask hides may be anything: also those that are there.
    del mask
    return masked_load(ref, None, None)


def store(ref: Reference, val: ir.ArrayLike, *, mask: ir.ArrayLike | None = None) -> None:
    """Write to a reference, or to a view of one.

    Args:
      ref: the reference, or ``ref.at[index]``.
      val: an array of its shape and dtype.
      mask: which elements to write.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> ref = ricci.new_ref(np.float32([1, 2]))
      >>> pltpu.store(ref, np.float32([7, 8]), mask=np.array([True, False]))
      >>> ref
      Ref([7., 2.], dtype=float32)
    """
    masked_store(ref, val, mask)


def roll(
    x: ir.Array,
    shift: ir.ArrayLike,
    axis: int,
    *,
    stride: int | None = None,
    stride_axis: int | None = None,
) -> ir.Array:
    """Rotate an array along a dimension.

    Args:
      x: the array.
      shift: by how many elements, an int or a traced scalar.
      axis: the dimension.
      stride: how much more each position along ``stride_axis`` is rotated than the one before it.
      stride_axis: another dimension.

    Returns:
      An array of the same shape and dtype.

    Raises:
      ValueError: if only one of ``stride`` and ``stride_axis`` is given.

    Example:
      >>> import numpy as np
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> pltpu.roll(np.int32([1, 2, 3]), 1, 0)
      Array([3, 1, 2], dtype=int32)
    """
    if (stride is None) != (stride_axis is None):
        raise ValueError("roll: stride and stride_axis are given together, or neither.")
    axis %= x.ndim
    shift = jnp.asarray(shift, np.int32)

    def run(x: ir.Array, shift: ir.Array) -> ir.Array:
        if stride is None or stride_axis is None:
            return jnp.roll(x, shift, axis)
        rows = lax.index_in_dim
        parts = [
            jnp.roll(rows(x, i, stride_axis, keepdims=True), shift + i * stride, axis)
            for i in range(x.shape[stride_axis])
        ]
        return jnp.concatenate(parts, stride_axis)

    return apply_staged(roll_p, run, x, shift, axis=axis, stride=stride, stride_axis=stride_axis)


def bitcast(x: ir.Array, ty: ir.DTypeLike, dim: int = -2) -> ir.Array:
    """Reinterpret the bits of an array; one dimension changes with the width.

    Args:
      x: an array.
      ty: the dtype of the result, also of fewer bits than a byte.
      dim: the dimension whose elements are joined or split: the last but one, or the last one,
        which a device does not support for another width.

    Returns:
      An array of that dtype.

    Raises:
      ValueError: if the array has no such dimension, or it is not divisible.

    Example:
      >>> import numpy as np
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> pltpu.bitcast(np.float32([[1.0]]), np.int16)
      Array([[    0],
             [16256]], dtype=int16)
      >>> pltpu.bitcast(np.float32([1.0]), np.int16, -1)
      Array([    0, 16256], dtype=int16)
    """
    shape = x.shape
    axis = dim + len(shape) if dim < 0 else dim
    if len(shape) < 2 and dim == -2:
        raise ValueError(
            "Cannot bitcast a 1D array along the second minor dimension. Pass dim=-1 to bitcast "
            "along the minormost dimension."
        )
    if axis not in (len(shape) - 2, len(shape) - 1):
        raise ValueError(
            "Cannot bitcast along a dimension other than the second minor or the minormost one: "
            f"dim={dim}, x.ndim={len(shape)}"
        )
    # A register packs narrow elements along rows, so that those are the parts of a wide element,
    # and not the neighbours in a row that ``bitcast_convert_type`` takes.
    dtype = np.dtype(ir.canonicalize_dtype(ty))
    old, new = ir.itemsize_bits(x.dtype), ir.itemsize_bits(dtype)
    count = max(new // old, 1)
    if shape[axis] % count:
        raise ValueError(
            f"bitcast of {x.dtype} to {dtype} joins {count} elements of dimension {axis}, which "
            f"has {shape[axis]}. Pad it to a multiple."
        )

    def run(x: ir.Array) -> ir.Array:
        if axis < len(shape) - 1:
            return lax.refs.recast(x, dtype)
        columns = lax.expand_dims(x, (len(shape),))
        return lax.squeeze(lax.refs.recast(columns, dtype), (len(shape),))

    return apply_staged(bitcast_p, run, x, dim=axis, ty=dtype)


def reciprocal(x: ir.ArrayLike, *, approx: bool = False, full_range: bool = True) -> ir.Array:
    """The reciprocal of floats.

    Args:
      x: an array of floats.
      approx, full_range: the precision on a device; of no effect when interpreted.

    Returns:
      An array of the same shape and dtype.

    Example:
      >>> import numpy as np
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> pltpu.reciprocal(np.float32([2, 4]), approx=True)
      Array([0.5 , 0.25], dtype=float32)
    """
    del full_range
    return _reciprocal(x, approx=approx)


def touch(ref: Reference) -> None:
    """Declare that a reference is used; of no effect when interpreted.

    Args:
      ref: the reference.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> pltpu.touch(ricci.new_ref(np.ones(2)))
    """
    del ref
