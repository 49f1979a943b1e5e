"""Operations of kernels for TPUs on arrays and references."""

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_kernels.blocks._memory_spaces import MemorySpace, TPUMemorySpace
from ricci_kernels.body._debugging import reciprocal as _reciprocal
from ricci_kernels.primitives._accesses import Reference, masked_load, masked_store
from ricci_kernels.primitives._staged_operations import apply_staged, staged_operation

__all__ = [
    "bitcast",
    "load",
    "reciprocal",
    "roll",
    "store",
    "touch",
    "with_memory_space_constraint",
]

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


def bitcast(x: ir.Array, ty: ir.DTypeLike) -> ir.Array:
    """Reinterpret the bits of an array; the last dimension but one changes with the width.

    Args:
      x: an array of rank 2 or more.
      ty: the dtype of the result.

    Returns:
      An array of that dtype.

    Raises:
      ValueError: if the rank is less, or the dimension is not divisible.

    Example:
      >>> import numpy as np
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> pltpu.bitcast(np.float32([[1.0]]), np.int16)
      Array([[    0],
             [16256]], dtype=int16)
    """
    shape = x.shape
    if len(shape) < 2:
        raise ValueError("Not implemented: bitcast 1D")
    old, new = (8 * np.dtype(d).itemsize for d in (x.dtype, ty))
    if old == new:
        return lax.bitcast_convert_type(x, ty)
    count = max(new // old, 1)
    if shape[-2] % count:
        raise ValueError(
            f"bitcast of {x.dtype} to {np.dtype(ty)} joins {count} rows, but there are {shape[-2]}."
        )

    # A register packs narrow elements along rows, so that those are the parts of a wide element,
    # and not the neighbours in a row that ``bitcast_convert_type`` takes.
    dtype = np.dtype(ir.canonicalize_dtype(ty))

    def run(x: ir.Array) -> ir.Array:
        return lax.refs.recast(x, dtype)

    return apply_staged(bitcast_p, run, x)


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


def with_memory_space_constraint[T](x: T, memory_space: MemorySpace | TPUMemorySpace) -> T:
    """Declare in which memory an array is; of no effect when interpreted.

    Args:
      x: the array.
      memory_space: the memory.

    Returns:
      The array.

    Example:
      >>> import numpy as np
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> pltpu.with_memory_space_constraint(np.ones(2), pltpu.VMEM).shape
      (2,)
    """
    del memory_space
    return x


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
