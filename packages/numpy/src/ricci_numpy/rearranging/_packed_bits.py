"""Bits packed into bytes, and unpacked."""

from operator import index

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_numpy._promotion import convert, operands
from ricci_numpy.reductions._axis_reductions import sum
from ricci_numpy.shapes._reshaping import atleast_1d, ravel
from ricci_numpy.shapes._transposing import moveaxis

__all__ = ["packbits", "unpackbits"]

_BYTE = np.dtype(np.uint8)
_PER_BYTE = 8


def _checked(name: str, a: ir.Array, axis: int | None, bitorder: str) -> int | None:
    """The axis counted from the start."""
    if bitorder not in ("little", "big"):
        raise ValueError(f"{name}: bitorder must be 'little' or 'big', got {bitorder!r}.")
    if axis is None:
        return None
    rank = max(np.ndim(a), 1)
    axis = index(axis)
    if not -rank <= axis < rank:
        raise IndexError(f"{name}: axis {axis} is out of bounds for an array of dimension {rank}.")
    return axis % rank


def _places(bitorder: str) -> ir.Array:
    """The position of each bit in a byte: counted, since compilers load a constant each time."""
    places = lax.iota(_BYTE, _PER_BYTE)
    return places if bitorder == "little" else lax.rev(places, (0,))


@ir.dispatched("axis", "bitorder")
def packbits(a: ir.ArrayLike, axis: int | None = None, bitorder: str = "big") -> ir.Array:
    """The elements of an array as bits, eight in a byte.

    Args:
      a: an array of integers or booleans; an element that is not zero is a bit of 1.
      axis: the dimension to pack along; by default the array is flattened.
      bitorder: ``"big"``: the first element is the highest bit; ``"little"``: the lowest.

    Returns:
      An array of dtype ``uint8``; bits that are missing from the last byte are 0.

    Raises:
      TypeError: if ``a`` is not an array of integers or booleans.
      ValueError: if ``bitorder`` is unknown.
      IndexError: if ``axis`` does not exist.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.packbits(jnp.array([1, 0, 0, 0, 0, 0, 0, 1, 1])).tolist()
      [129, 128]

    Source: numpy.packbits.
    """
    (a,) = operands("packbits", a)
    dtype = ir.get_aval(a).dtype
    if dtype != ir.BOOL and not ir.issubdtype(dtype, np.integer):
        raise TypeError(f"packbits: bits are integers or booleans, got dtype {dtype}.")
    return _packbits(a, axis=_checked("packbits", a, axis, bitorder), bitorder=bitorder)


@ir.composite("packbits")
def _packbits(a: ir.Array, *, axis: int | None, bitorder: str) -> ir.Array:
    a = ravel(a) if axis is None else moveaxis(atleast_1d(a), axis, -1)
    bits = convert(lax.ne(a, ir.exact_scalar(0, a.dtype)), _BYTE)
    missing = -bits.shape[-1] % _PER_BYTE
    padding = (*((0, 0, 0),) * (bits.ndim - 1), (0, missing, 0))
    bits = lax.pad(bits, _BYTE.type(0), padding)
    bits = lax.reshape(bits, (*bits.shape[:-1], bits.shape[-1] // _PER_BYTE, _PER_BYTE))
    # The bits of a byte are different powers of two, so their sum has no carries.
    places = lax.broadcast_in_dim(_places(bitorder), bits.shape, (bits.ndim - 1,))
    packed = sum(lax.shift_left(bits, places), -1, _BYTE)
    return packed if axis is None else moveaxis(packed, -1, axis)


@ir.dispatched("axis", "count", "bitorder")
def unpackbits(
    a: ir.ArrayLike, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> ir.Array:
    """The bits of bytes, each an element.

    Args:
      a: an array of dtype ``uint8``.
      axis: the dimension to unpack along; by default the array is flattened.
      count: how many bits to give; fewer are padded with 0; negative, how many to leave out at the
        end; all by default.
      bitorder: ``"big"``: the highest bit comes first; ``"little"``: the lowest.

    Returns:
      An array of zeros and ones, of dtype ``uint8``.

    Raises:
      TypeError: if ``a`` is not an array of bytes, or ``count`` is not an int.
      ValueError: if ``bitorder`` is unknown.
      IndexError: if ``axis`` does not exist.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.unpackbits(jnp.array([129], "uint8"), count=7).tolist()
      [1, 0, 0, 0, 0, 0, 0]

    Source: numpy.unpackbits.
    """
    (a,) = operands("unpackbits", a)
    dtype = ir.get_aval(a).dtype
    if dtype != _BYTE:
        raise TypeError(f"unpackbits: the elements must be bytes, of dtype uint8, not {dtype}.")
    axis = _checked("unpackbits", a, axis, bitorder)
    count = None if count is None else index(count)
    return _unpackbits(a, axis=axis, count=count, bitorder=bitorder)


@ir.composite("unpackbits")
def _unpackbits(a: ir.Array, *, axis: int | None, count: int | None, bitorder: str) -> ir.Array:
    a = ravel(a) if axis is None else moveaxis(atleast_1d(a), axis, -1)
    shape = (*a.shape, _PER_BYTE)
    # Each byte meets the eight masks along a new last axis, in the order of the bits.
    places = _places(bitorder)
    masks = lax.broadcast_in_dim(lax.shift_left(lax.full_like(places, 1), places), shape, (a.ndim,))
    bits = lax.bitwise_and(lax.broadcast_in_dim(a, shape, tuple(range(a.ndim))), masks)
    bits = convert(lax.ne(bits, _BYTE.type(0)), _BYTE)
    size = a.shape[-1] * _PER_BYTE
    bits = lax.reshape(bits, (*a.shape[:-1], size))
    if count is not None:
        new_size = max(size + count, 0) if count < 0 else count
        padding = (*((0, 0, 0),) * (bits.ndim - 1), (0, new_size - size, 0))
        bits = lax.pad(bits, _BYTE.type(0), padding)
    return bits if axis is None else moveaxis(bits, -1, axis)
