"""Bytes as fields of 2 and 4 bits, and floats of 6 bits as two of them."""

from collections.abc import Sequence

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp

__all__ = ["join_bits", "pack_fp6", "split_bits", "unpack_fp6"]

_fields = {2: np.dtype(jnp.int2), 4: np.dtype(jnp.int4)}


def split_bits(x: ir.Array, bitwidths: Sequence[int]) -> tuple[ir.Array, ...]:
    """Split bytes into fields of bits.

    Args:
      x: an array of int8 or uint8.
      bitwidths: the number of bits of each field, 2 or 4, from the lowest bits on; at most 8 in
        all.

    Returns:
      For each field an array of x's shape, of int2 or int4.

    Raises:
      ValueError: for another dtype or other widths.

    Example:
      >>> import numpy as np
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> low, high = pltpu.split_bits(np.uint8([[0x27, 0x0F]]), (4, 2))
      >>> low.astype(np.int32), high.astype(np.int32)
      (Array([[ 7, -1]], dtype=int32), Array([[-2,  0]], dtype=int32))
    """
    if np.dtype(x.dtype).name not in ("int8", "uint8"):
        raise ValueError(f"Expected 8-bit array, got {x.dtype}: split_bits takes int8 and uint8.")
    for width in bitwidths:
        if width not in _fields:
            raise ValueError(f"Unsupported bitwidth: {width}. Only 2 and 4 are supported.")
    if sum(bitwidths) > 8:
        raise ValueError(f"Total bitwidth {sum(bitwidths)} exceeds 8 bits.")
    words = lax.convert_element_type(x, np.int32)
    starts = np.cumsum([0, *bitwidths])
    return tuple(
        [
            _field(lax.shift_right_logical(words, np.int32(start)), width)
            for start, width in zip(starts, bitwidths, strict=False)
        ]
    )


def _field(words: ir.Array, width: int) -> ir.Array:
    """The lowest bits of int32 words, as signed integers of that width."""
    # A shift to the upper end and back extends the sign.
    unused = np.int32(32 - width)
    signed = lax.shift_right_arithmetic(lax.shift_left(words, unused), unused)
    return lax.convert_element_type(signed, _fields[width])


def join_bits(*, two_bits: ir.Array | None = None, four_bits: ir.Array | None = None) -> ir.Array:
    """Join fields of bits to bytes.

    Args:
      two_bits: an array of int2 or uint2, the bits above those of ``four_bits``.
      four_bits: an array of int4 or uint4 of the same shape, the lowest bits.

    Returns:
      An array of int8, whose other bits are 0.

    Raises:
      ValueError: if both are missing, or for other dtypes or shapes.

    Example:
      >>> import numpy as np
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> low, high = np.array([[7, -1]], jnp.int4), np.array([[-2, 1]], jnp.int2)
      >>> pltpu.join_bits(two_bits=high, four_bits=low)
      Array([[39, 31]], dtype=int8)
    """
    fields = [(x, width) for x, width in ((four_bits, 4), (two_bits, 2)) if x is not None]
    if not fields:
        raise ValueError("At least one bit segment must be specified.")
    for x, width in fields:
        if np.dtype(x.dtype).name not in (f"int{width}", f"uint{width}"):
            raise ValueError(f"Expected {width}-bit type, got {x.dtype}")
    if two_bits is not None and four_bits is not None and two_bits.shape != four_bits.shape:
        raise ValueError(
            f"Shapes of two_bits {two_bits.shape} and four_bits {four_bits.shape} must match."
        )
    joined, start = None, 0
    for x, width in fields:
        word = lax.convert_element_type(x, np.int32) & np.int32(2**width - 1)
        word = lax.shift_left(word, np.int32(start))
        joined, start = word if joined is None else joined | word, start + width
    return lax.convert_element_type(joined, np.int8)  # pyright: ignore[reportArgumentType]


def pack_fp6(fp6_in_8b: ir.Array) -> tuple[ir.Array, ir.Array]:
    """Split floats of 6 bits, each in a byte, into fields that take no more memory than 6 bits.

    Args:
      fp6_in_8b: an array of int8 or uint8, of which the lowest 6 bits count.

    Returns:
      The upper two bits as int2, and the lower four as int4.

    Raises:
      ValueError: for another dtype.

    Example:
      >>> import numpy as np
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> x = np.uint8([[0b011101, 0b000011]])
      >>> two_bits, four_bits = pltpu.pack_fp6(x)
      >>> two_bits.astype(np.int32), four_bits.astype(np.int32)
      (Array([[1, 0]], dtype=int32), Array([[-3,  3]], dtype=int32))
      >>> pltpu.unpack_fp6(two_bits, four_bits)
      Array([[29,  3]], dtype=int8)
    """
    four_bits, two_bits = split_bits(fp6_in_8b, (4, 2))
    return two_bits, four_bits


def unpack_fp6(two_bits: ir.Array, four_bits: ir.Array) -> ir.Array:
    """Join the fields of ``pack_fp6`` to floats of 6 bits, each in a byte.

    Args:
      two_bits, four_bits: the fields.

    Returns:
      An array of int8, whose upper two bits are 0.

    Raises:
      ValueError: for other dtypes or shapes.

    Example:
      See ``pack_fp6``.

      >>> import numpy as np
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> pltpu.unpack_fp6(np.array([[1]], jnp.int2), np.array([[-3]], jnp.int4))
      Array([[29]], dtype=int8)
    """
    return join_bits(two_bits=two_bits, four_bits=four_bits)
