"""The bits of columns of arrays, also of elements of fewer bits than a byte."""

import numpy as np


def _bits(x):
    """The bits of an array along its columns, the lowest of an element first."""
    width = _width(x.dtype)
    columns = np.ascontiguousarray(np.swapaxes(x, -1, -2))[..., None]
    bits = np.unpackbits(columns.view(np.uint8), axis=-1, bitorder="little")
    return bits[..., :width].reshape(*columns.shape[:-2], -1)


def _width(dtype):
    """The number of bits of an element; NumPy has one of fewer than 8 in a byte."""
    narrow = {"int2": 2, "int4": 4}
    return narrow[dtype.name] if dtype.name in narrow else 8 * dtype.itemsize


def recast(x, dtype):
    """The bits of the columns of an array as elements of another dtype."""
    dtype = np.dtype(dtype)
    bits = _bits(x)
    bits = bits.reshape(*bits.shape[:-1], -1, _width(dtype))
    words = np.packbits(bits, axis=-1, bitorder="little")
    if _width(dtype) < 8:
        sign = 1 << (_width(dtype) - 1)
        signed = (words[..., 0].astype(np.int32) ^ sign) - sign
        return np.swapaxes(signed.astype(dtype), -1, -2)
    return np.swapaxes(words.view(dtype)[..., 0], -1, -2)
