"""Searching in sorted arrays."""

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_ir import Array, ArrayLike
from ricci_numpy._promotion import (
    COMPLEX_DTYPES,
    FLOAT_DTYPES,
    INT32,
    convert,
    operands,
    promote_dtypes,
    strong_constant,
)
from ricci_numpy.indexing._at import at
from ricci_numpy.indexing._where import where_step
from ricci_numpy.shapes._reshaping import ravel

__all__ = ["digitize", "searchsorted"]

_UINT32 = np.dtype(np.uint32)
# The binary search of a vector up to this length is written out; that of a longer one is a scan.
_UNROLLED_LENGTH = 32


@ir.dispatched("side", "method")
def searchsorted(
    a: ArrayLike,
    v: ArrayLike,
    side: str = "left",
    sorter: ArrayLike | None = None,
    *,
    method: str = "scan",
) -> Array:
    """The positions at which values are inserted in a sorted vector to keep it sorted.

    Args:
      a: a sorted vector.
      v: the values, of any shape.
      side: ``"left"`` for the first such position, ``"right"`` for the last.
      sorter: positions that sort ``a``, if it is not.
      method: ``"scan"`` or ``"scan_unrolled"`` for a binary search, ``"compare_all"`` to compare
        all pairs at once, ``"sort"`` to sort both together; the result is the same.

    Returns:
      An integer array of the shape of ``v``.

    Raises:
      ValueError: if ``a`` is not a vector, or there is no such side or method.
      TypeError: if an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> edges = jnp.array([1, 2, 2, 3])
      >>> jnp.searchsorted(edges, jnp.array([0, 2, 9])).tolist()
      [0, 1, 4]
      >>> jnp.searchsorted(edges, 2, side="right").tolist()
      3

    See also:
      ``digitize``, for bins.

    Source: numpy.searchsorted.
    """
    a, v = operands("searchsorted", a, v)
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', got {side!r}.")
    if method not in ("scan", "scan_unrolled", "compare_all", "sort"):
        raise ValueError(
            "searchsorted: method must be 'scan', 'scan_unrolled', 'sort' or 'compare_all', got "
            f"{method!r}."
        )
    if np.ndim(a) != 1:
        raise ValueError(f"searchsorted: a must be a vector, got shape {np.shape(a)}.")
    a, v = promote_dtypes(a, v)
    if sorter is not None:
        (sorter,) = operands("searchsorted", sorter)
    return _searchsorted(a, v, sorter, side=side, method=method)


@ir.composite("searchsorted")
def _searchsorted(a: Array, v: Array, sorter: Array | None, *, side: str, method: str) -> Array:
    if sorter is not None:
        a = _looked_up(a, sorter)
    size = np.shape(a)[0]
    if size == 0:
        return lax.full(np.shape(v), 0, INT32)
    if method == "sort":
        return _search_by_sorting(a, v, side)
    keys, values = _integer_keys(a), _integer_keys(v)
    if method != "compare_all":
        unrolled = method == "scan_unrolled" or ir.surely_at_most(size, _UNROLLED_LENGTH)
        return _search_by_halving(keys, values, side, unrolled)
    # The position is the number of elements before the value: all are compared at once.
    wide = [lax.expand_dims(key, range(1, np.ndim(v) + 1)) for key in keys]
    is_before = _before(wide, [lax.expand_dims(value, (0,)) for value in values], side)
    return lax.reduce_sum(lax.convert_element_type(is_before, INT32), (0,))


def _integer_keys(x: Array) -> list[Array]:
    """Integers in NumPy's order of the elements: -0 equals 0, all NaNs are equal and come last."""
    dtype = ir.get_aval(x).dtype
    if dtype in COMPLEX_DTYPES:
        return [*_integer_keys(lax.real(x)), *_integer_keys(lax.imag(x))]
    if dtype not in FLOAT_DTYPES:
        return [x]
    dtype = np.dtype(np.float64 if dtype == np.float64 else np.float32)
    x = convert(x, dtype)
    zero, nan = (lax.full(x.shape, strong_constant(dtype, value)) for value in (0, np.nan))
    x = lax.select_n(lax.eq(x, zero), x, zero)
    x = lax.select_n(lax.ne(x, x), x, nan)
    integer = np.dtype(f"int{8 * dtype.itemsize}")
    bits = lax.bitcast_convert_type(x, integer)
    # The bits of a float are a sign and a magnitude. Those of the magnitude are inverted where the
    # sign is set, since among negative numbers the larger magnitude is the smaller number.
    sign = lax.shift_right_arithmetic(bits, strong_constant(integer, 8 * integer.itemsize - 1))
    return [
        lax.bitwise_xor(
            bits, lax.bitwise_and(sign, strong_constant(integer, np.iinfo(integer).max))
        )
    ]


def _before(keys: list[Array], values: list[Array], side: str) -> Array:
    """Whether elements of the sorted vector come before the values' insertion points."""
    *earlier, (key, value) = zip(keys, values, strict=True)
    is_before = lax.lt(key, value) if side == "left" else lax.le(key, value)
    for key, value in reversed(earlier):
        tie = lax.bitwise_and(lax.eq(key, value), is_before)
        is_before = lax.bitwise_or(lax.lt(key, value), tie)
    return is_before


def _search_by_halving(keys: list[Array], values: list[Array], side: str, unrolled: bool) -> Array:
    """The number of elements before each value, computed bit by bit from the highest."""
    size = np.shape(keys[0])[0]
    last, one = strong_constant(_UINT32, size), np.uint32(1)

    def add_bit(count: Array, bit: ArrayLike) -> tuple[Array, None]:
        larger = lax.add(count, bit)
        elements = [_looked_up(key, lax.sub(larger, one)) for key in keys]
        # The larger count is right if its last element is before the value: the array is sorted.
        fits = lax.bitwise_and(lax.le(larger, last), _before(elements, values, side))
        return lax.select_n(fits, count, larger), None

    count = lax.full(np.shape(values[0]), np.uint32(0))
    bits = [np.uint32(1 << place) for place in reversed(range(_bit_length(size)))]
    if unrolled:
        for bit in bits:
            count, _ = add_bit(count, bit)
    else:
        count, _ = lax.scan(add_bit, count, np.asarray(bits))
    return lax.convert_element_type(count, INT32)


def _bit_length(size: int) -> int:
    """The number of bits of a number up to ``size``."""
    most = ir.symbolic_dim_bounds(size)[1]
    return int(most).bit_length() if most < 1 << 32 else 32


def _looked_up(a: Array, positions: ArrayLike) -> Array:
    rank = np.ndim(positions)
    dims = lax.GatherDimensionNumbers(
        offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,)
    )
    return lax.gather(
        a, lax.expand_dims(positions, (rank,)), dims, (1,), mode=lax.GatherScatterMode.CLIP
    )


def _search_by_sorting(a: Array, v: Array, side: str) -> Array:
    # A value's rank among the elements and values, less its rank among the values alone, is the
    # number of elements before it. Sorts are stable, so the order of concatenation breaks ties.
    flat = ravel(v)
    count, size = np.shape(flat)[0], np.shape(a)[0]
    both = [flat, a] if side == "left" else [a, flat]
    places = _ranks(lax.concatenate(both, 0))
    start = 0 if side == "left" else size
    among_both = lax.slice(places, (start,), (start + count,))
    return lax.reshape(lax.sub(among_both, _ranks(flat)), np.shape(v))


def _ranks(x: Array) -> Array:
    """The position of each element in the sorted order."""
    size = np.shape(x)[0]
    turn = lax.iota(INT32, size)
    _, order = lax.sort((x, turn), 0, num_keys=1)
    # The inverse of the permutation that sorts.
    return at(lax.full((size,), 0, INT32))[order].set(turn)


@ir.dispatched("right", "method")
def digitize(
    x: ArrayLike, bins: ArrayLike, right: bool = False, *, method: str | None = None
) -> Array:
    """The number of the bin that each element falls into.

    Args:
      x: an array.
      bins: the edges, a vector that increases or decreases.
      right: whether a bin includes its right edge instead of the left one.
      method: see ``searchsorted``.

    Returns:
      An integer array of the shape of ``x``: 0 before the first edge.

    Raises:
      ValueError: if ``bins`` is not a vector.
      TypeError: if an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.digitize(jnp.array([0.5, 2.5]), jnp.array([0.0, 1.0, 2.0])).tolist()
      [1, 3]

    Source: numpy.digitize.
    """
    x, bins = operands("digitize", x, bins)
    if np.ndim(bins) != 1:
        raise ValueError(f"digitize: bins has shape {np.shape(bins)}; give the edges in a vector.")
    return _digitize(x, bins, right=right, method=method or "scan")


@ir.composite("digitize")
def _digitize(x: Array, bins: Array, *, right: bool, method: str) -> Array:
    size = np.shape(bins)[0]
    if size == 0:
        return lax.full(np.shape(x), 0, INT32)
    ends = [lax.index_in_dim(bins, place, keepdims=False) for place in (0, -1)]
    # Decreasing edges are searched in reverse, and the elements counted from the other end.
    rises = lax.ge(ends[1], ends[0])
    bins = where_step(rises, bins, lax.rev(bins, (0,)))
    numbers = searchsorted(bins, x, side="left" if right else "right", method=method)
    return where_step(rises, numbers, lax.sub(strong_constant(INT32, size), numbers))
