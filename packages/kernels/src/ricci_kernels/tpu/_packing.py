"""Several narrow numbers in one word, and rounding by random bits."""

from collections.abc import Sequence

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_kernels.primitives._staged_operations import apply_staged, staged_operation

__all__ = ["pack_elementwise", "stochastic_round", "unpack_elementwise"]

pack_p: ir.Primitive = staged_operation("pack_elementwise")
unpack_p: ir.Primitive = staged_operation("unpack_elementwise")
stochastic_round_p: ir.Primitive = staged_operation("stochastic_round")

_BF16 = np.dtype(jnp.bfloat16)


def _bits(dtype: np.dtype) -> int:
    return ir.finfo(dtype).bits if ir.issubdtype(dtype, np.floating) else ir.iinfo(dtype).bits


def _check_pair(wide: np.dtype, narrow: np.dtype) -> None:
    """Check that numbers of 32 bits are packed as narrower ones of their kind."""
    is_float = wide == np.float32 and narrow == _BF16
    integers = all(ir.issubdtype(dtype, np.integer) for dtype in (wide, narrow))
    if not (is_float or (integers and _bits(wide) == 32 > _bits(narrow))):
        raise ValueError(
            f"Only f32 -> bf16 and int -> int are supported. Got {wide} and {narrow}: 32-bit "
            "integers become integers of 16, 8 or 4 bits."
        )


def pack_elementwise(xs: Sequence[ir.Array], *, packed_dtype: ir.DTypeLike) -> ir.Array:
    """Pack arrays of 32-bit numbers, rounded or truncated to a narrower dtype, into one of words.

    Args:
      xs: as many arrays of one shape as numbers are in 32 bits; the first has the lowest bits.
      packed_dtype: bfloat16 for float32, or a narrow integer for integers.

    Returns:
      A uint32 array of their shape.

    Raises:
      ValueError: if number, shapes or dtypes do not fit.

    Example:
      >>> import numpy as np
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> x = np.int32([[1, -1]])
      >>> pltpu.pack_elementwise([x, x + 1], packed_dtype=np.int16)
      Array([[131073,  65535]], dtype=uint32)
    """
    narrow = np.dtype(packed_dtype)
    for x in xs:
        _check_pair(np.dtype(x.dtype), narrow)
    width = _bits(narrow)
    if len(xs) != 32 // width:
        raise ValueError(
            f"The number of sources must match the packing factor ({32 // width}), got {len(xs)}"
        )
    if any(x.shape != xs[0].shape for x in xs):
        raise ValueError(
            f"All sources must have the same shape, got {[tuple(x.shape) for x in xs]}"
        )
    mask = np.uint32(2**width - 1)

    def word(x: ir.Array) -> ir.Array:
        if narrow != _BF16:
            return lax.convert_element_type(x, np.uint32) & mask
        # The upper half of a float32 with the same value.
        rounded = lax.convert_element_type(lax.convert_element_type(x, narrow), np.float32)
        return lax.bitcast_convert_type(rounded, np.uint32) >> np.uint32(16)

    def run(*xs: ir.Array) -> ir.Array:
        packed = word(xs[0])
        for i, x in enumerate(xs[1:], 1):
            packed = packed | (word(x) << np.uint32(i * width))
        return packed

    return apply_staged(pack_p, run, *xs, packed_dtype=narrow)


def unpack_elementwise(
    x: ir.Array, *, index: int, packed_dtype: ir.DTypeLike, unpacked_dtype: ir.DTypeLike
) -> ir.Array:
    """Unpack one of the arrays that ``pack_elementwise`` has packed.

    Args:
      x: an array of words, uint32 or int32.
      index: which of the arrays.
      packed_dtype: the dtype in the words.
      unpacked_dtype: the dtype of the result: float32 for bfloat16, or a 32-bit integer.

    Returns:
      An array of the same shape.

    Raises:
      ValueError: if there is no such array, or dtypes do not fit.

    Example:
      >>> import numpy as np
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> words = np.uint32([[131073, 65535]])
      >>> pltpu.unpack_elementwise(
      ...     words, index=0, packed_dtype=np.int16, unpacked_dtype=np.int32
      ... )
      Array([[ 1, -1]], dtype=int32)
    """
    narrow, wide = np.dtype(packed_dtype), np.dtype(unpacked_dtype)
    _check_pair(wide, narrow)
    if np.dtype(x.dtype).name not in ("int32", "uint32"):
        raise ValueError(f"unpack_elementwise takes words, int32 or uint32, got {x.dtype}.")
    width = _bits(narrow)
    if not 0 <= index < 32 // width:
        raise ValueError(f"Index {index} is out of bounds for packing factor {32 // width}")

    def run(x: ir.Array) -> ir.Array:
        # At the upper end of the word, from where a shift extends the sign.
        word = lax.convert_element_type(x, np.uint32) << np.uint32(32 - width * (index + 1))
        if narrow == _BF16:
            return lax.bitcast_convert_type(word & np.uint32(0xFFFF0000), np.float32)
        kind = np.int32 if ir.issubdtype(narrow, np.signedinteger) else np.uint32
        return lax.convert_element_type(
            lax.convert_element_type(word, kind) >> kind(32 - width), wide
        )

    return apply_staged(unpack_p, run, x, index=index, packed_dtype=narrow, unpacked_dtype=wide)


def stochastic_round(x: ir.Array, random_bits: ir.Array, *, target_dtype: ir.DTypeLike) -> ir.Array:
    """Round floats up or down by chance, the more often to a neighbour the nearer it is.

    Args:
      x: a float32 array.
      random_bits: a uint32 array of its shape; the lower half of each word decides.
      target_dtype: bfloat16. A TPU rounds to floats of 8 bits as well; this does not.

    Returns:
      An array of that dtype. Values that are not finite stay so.

    Raises:
      ValueError: for another dtype.

    Example:
      >>> import numpy as np
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> x = np.full((1, 4), 1 + 2**-9, np.float32)  # a quarter of the way from 1 to the next
      >>> bits = np.uint32([[0, 2**14, 2**15, 2**15 + 2**14]])
      >>> pltpu.stochastic_round(x, bits, target_dtype=jnp.bfloat16).astype(np.float32)
      Array([[1.       , 1.       , 1.       , 1.0078125]], dtype=float32)
    """
    target = np.dtype(target_dtype)
    if x.dtype != np.float32:
        raise ValueError(f"Only float32 input is supported, got {x.dtype}.")
    if random_bits.dtype != np.uint32:
        raise ValueError(
            "The dtype of `random_bits` must be uint32 for stochastic_round, but got "
            f"{random_bits.dtype}"
        )
    if target != _BF16:
        raise ValueError(f"Unsupported target dtype: {target}. Round to bfloat16.")

    def run(x: ir.Array, random_bits: ir.Array) -> ir.Array:
        word = lax.bitcast_convert_type(x, np.uint32)
        # A carry out of the lower half is the next bfloat16, also into the next exponent.
        moved = (word + (random_bits & np.uint32(0xFFFF))) & np.uint32(0xFFFF0000)
        rounded = lax.bitcast_convert_type(moved, np.float32)
        return lax.convert_element_type(jnp.where(jnp.isfinite(x), rounded, x), target)

    return apply_staged(stochastic_round_p, run, x, random_bits, target_dtype=target)
