"""Counts of integers, and of elements or points in bins."""

import builtins
from collections.abc import Sequence
from math import prod
from operator import index
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_ir import Array, ArrayLike
from ricci_lax.authoring import lower_bincount, resolved_by
from ricci_numpy._promotion import INT32, convert, operands, promote_dtypes_inexact, strong_constant
from ricci_numpy.arrays._broadcasting import concrete_values
from ricci_numpy.arrays._creation import asarray
from ricci_numpy.calculus._samples import diff
from ricci_numpy.indexing._where import counted, where_step
from ricci_numpy.reductions._axis_reductions import max as _max
from ricci_numpy.reductions._axis_reductions import min as _min
from ricci_numpy.reductions._axis_reductions import sum
from ricci_numpy.sequences._spaced import linspace
from ricci_numpy.shapes._joining import concatenate
from ricci_numpy.shapes._reshaping import atleast_2d, ravel
from ricci_numpy.shapes._transposing import transpose
from ricci_numpy.sorting._searching import searchsorted
from ricci_numpy.ufuncs._binary import divide

__all__ = ["bincount", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]


def bincount(
    x: ArrayLike,
    weights: ArrayLike | None = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    out_sharding: object = None,
) -> Array:
    """Count each number from 0 up in a vector of integers.

    Args:
      x: a vector of integers; negative ones count as 0.
      weights: what each element adds to the count, an array of the same shape; 1 by default.
      minlength: the least size of the result.
      length: the size of the result, needed if ``x`` is traced; larger numbers are left out. By
        default one more than the largest number.
      out_sharding: where the result goes.

    Returns:
      A vector of integers, or of the dtype of ``weights``.

    Raises:
      TypeError: if ``x`` is not an array of integers or booleans.
      ValueError: if ``x`` is not a vector, or ``weights`` has another shape.
      ConcretizationTypeError: if ``x`` is traced and there is no ``length``.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> jnp.bincount(jnp.array([1, 1, 3])).tolist()
      [0, 2, 0, 1]
      >>> count = ricci.jit(lambda x: jnp.bincount(x, length=3))
      >>> count(jnp.array([1, 1, 3])).tolist()  # 3 is left out
      [0, 2, 0]

    See also:
      ``histogram``; ``ops.segment_sum``, for sums by group.

    Source: numpy.bincount.
    """
    x, *optional = operands("bincount", x, *([] if weights is None else [weights]))
    dtype = ir.get_aval(x).dtype
    if dtype != ir.BOOL and not ir.issubdtype(dtype, np.integer):
        raise TypeError(f"bincount: only integers can be counted, got dtype {dtype}.")
    if np.ndim(x) != 1:
        raise ValueError(f"bincount: x must be a vector, got shape {np.shape(x)}.")
    if optional and np.shape(optional[0]) != np.shape(x):
        raise ValueError(
            f"bincount: each element needs a weight; x has shape {np.shape(x)} and weights "
            f"{np.shape(optional[0])}."
        )
    minlength = index(minlength)
    if length is None:
        largest = np.shape(x)[0] and int(concrete_values(_max(x), _SIZE_ADVICE)) + 1
        length = max(minlength, largest)
    return resolved_by(out_sharding, lambda: _bincount(x, *optional, length=ir.as_size(length)))


_SIZE_ADVICE = "How long the result of bincount is depends on values. Give bincount length=..."


@ir.composite("bincount", lower=lower_bincount)
def _bincount(x: Array, weights: Array | None = None, *, length: int) -> Array:
    x = convert(x, INT32) if x.dtype == ir.BOOL else x
    # Negative numbers count as 0.
    places = lax.max(x, strong_constant(x.dtype, 0)) if x.dtype.kind == "i" else x
    if weights is None:
        weights = lax.full(x.shape, 1, ir.python_scalar_dtype(int))
    return counted(places, weights, length)


def checked_bins(name: str, bins: ArrayLike | str) -> int | Array:
    """The number of bins, or the vector of their edges."""
    if isinstance(bins, str):
        raise NotImplementedError(
            f"{name}: bins={bins!r} is not supported; give the number of bins, or their edges."
        )
    (value,) = operands(name, bins)
    if np.ndim(value) == 1:
        return value
    if np.ndim(value):
        raise TypeError(
            f"{name}: bins must be a number or a vector of edges, got shape {np.shape(value)}."
        )
    count = index(value)
    if count < 0:
        raise IndexError(f"{name}: there cannot be {count} bins.")
    return count


def checked_ends(name: str, range_: Sequence[ArrayLike] | None) -> tuple[Any, ...]:
    """The lower and the upper end of the range, if there is one."""
    if range_ is None:
        return ()
    ends = tuple(operands(name, *range_))
    if len(ends) != 2 or any(np.ndim(end) for end in ends):
        raise ValueError(f"{name}: range must be two numbers, got {range_}.")
    if any(map(np.iscomplexobj, ends)):
        raise TypeError(f"{name}: range must be two real numbers, got {range_}.")
    return ends


def edges_of(a: Array, bins: int | Array, ends: Sequence[Array]) -> Array:
    """The edges of bins in the dtype of ``a``."""
    if not isinstance(bins, int):
        return convert(bins, a.dtype)
    if ends:
        low, high = (convert(end, a.dtype) for end in ends)
    elif a.size:
        low, high = _min(a), _max(a)
    else:
        low, high = (lax.full((), strong_constant(a.dtype, end)) for end in (0, 1))
    # A range of no width becomes one of width 1 around its value, as in NumPy.
    half, flat = strong_constant(a.dtype, 0.5), lax.eq(low, high)
    low = lax.select_n(flat, low, lax.sub(low, half))
    high = lax.select_n(flat, high, lax.add(high, half))
    return linspace(low, high, bins + 1, dtype=a.dtype)


def _with_edges(bins: int | Array, *arguments: object) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The operands and settings of a step: edges are an operand, a number of bins is a setting."""
    if isinstance(bins, int):
        return (None, *arguments), {"bins": bins}
    return (bins, *arguments), {"bins": None}


def histogram_bin_edges(
    a: ArrayLike,
    bins: ArrayLike = 10,
    range: Sequence[ArrayLike] | None = None,
    weights: ArrayLike | None = None,
) -> Array:
    """The edges of the bins that ``histogram`` counts in.

    Args:
      a, bins, range: see ``histogram``.
      weights: has no effect.

    Returns:
      A vector of edges, one more than bins.

    Raises:
      TypeError: if an operand is not an array, or ``bins`` neither number nor vector.
      ValueError: if ``range`` is not two numbers.
      NotImplementedError: if ``bins`` is a string.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.histogram_bin_edges(jnp.array([0.0, 1.0, 4.0]), bins=2).tolist()
      [0.0, 2.0, 4.0]

    Source: numpy.histogram_bin_edges.
    """
    (a,) = operands("histogram_bin_edges", a)
    ends = checked_ends("histogram_bin_edges", range)
    args, settings = _with_edges(checked_bins("histogram_bin_edges", bins), a, *ends)
    return _histogram_bin_edges(*args, **settings)


@ir.composite("histogram_bin_edges")
def _histogram_bin_edges(edges: Any, a: Array, *ends: Array, bins: int | None) -> Array:
    (a,) = promote_dtypes_inexact(a)
    return edges_of(asarray(a), edges if bins is None else bins, ends)


def histogram(
    a: ArrayLike,
    bins: ArrayLike = 10,
    range: Sequence[ArrayLike] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
    out_sharding: object = None,
) -> tuple[Array, Array]:
    """Count the elements in each of several bins.

    Args:
      a: an array; integers become floats.
      bins: the number of bins of equal width, or the vector of their edges, which increase. A bin
        includes its lower edge, the last one also its upper edge.
      range: the lower and the upper end of the bins, if ``bins`` is a number; by default the
        smallest and the largest element.
      weights: what each element adds to the count, an array of the shape of ``a``; 1 by default.
      density: whether to divide the counts, so that their integral is 1.
      out_sharding: where the counts go.

    Returns:
      The counts, and the edges of the bins, which are one more.

    Raises:
      TypeError: if an operand is not an array, or ``bins`` neither number nor vector.
      ValueError: if ``range`` is not two numbers, or ``weights`` has another shape.
      IndexError: if ``range`` is not a pair.

    Example:
      >>> import ricci.numpy as jnp
      >>> counts, edges = jnp.histogram(jnp.array([0.0, 1.0, 3.0, 4.0, 4.0]), bins=2)
      >>> counts.tolist(), edges.tolist()
      ([2.0, 3.0], [0.0, 2.0, 4.0])

    Source: numpy.histogram.
    """
    a, *optional = operands("histogram", a, *([] if weights is None else [weights]))
    if isinstance(bins, str):
        raise TypeError(f"histogram: bins={bins!r} must be the number of bins or their edges.")
    bins = checked_bins("histogram", bins)
    if optional and np.shape(optional[0]) != np.shape(a):
        raise ValueError(
            f"histogram: each element needs a weight; a has shape {np.shape(a)} and weights "
            f"{np.shape(optional[0])}."
        )
    if not isinstance(bins, int) and not np.shape(bins)[0]:
        raise IndexError("histogram: bins is an empty vector of edges.")
    weight = optional[0] if optional else None
    args, settings = _with_edges(bins, a, weight, *checked_ends("histogram", range))
    edges: Any = None

    def counts() -> Array:
        nonlocal edges
        numbers, edges = _histogram(*args, **settings, density=bool(density))
        return numbers

    return resolved_by(out_sharding, counts), edges


@ir.composite("histogram")
def _histogram(
    edges: Any, a: Array, weights: Array | None, *ends: Array, bins: int | None, density: bool
) -> tuple[Array, Array]:
    if weights is None:
        (a,) = promote_dtypes_inexact(a)
    else:
        a, weights = promote_dtypes_inexact(a, weights)
        weights = ravel(weights)
    a = ravel(a)
    edges = edges_of(a, edges if bins is None else bins, ends)
    weight: Array = lax.full(a.shape, strong_constant(a.dtype, 1)) if weights is None else weights
    count = edges.shape[0]
    # Elements below the first edge have number 0, which is dropped; above the last edge the number
    # is out of bounds, and not counted.
    counts = lax.slice_in_dim(counted(bin_numbers(a, edges), weight, count), 1, count)
    if density:
        counts = divide(divide(counts, diff(edges)), sum(counts))
    return counts, edges


def bin_numbers(a: Array, edges: Array) -> Array:
    """The number of each element's bin, counted from 1.

    Elements below the first edge get 0, elements above the last one the number of edges.
    """
    count = edges.shape[0]
    numbers = searchsorted(edges, a, side="right")
    # The last bin includes its upper edge, as in NumPy.
    is_last = lax.eq(a, lax.index_in_dim(edges, count - 1, keepdims=False))
    return where_step(is_last, np.int32(count - 1), numbers)


def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: ArrayLike | Sequence[Any] = 10,
    range: Sequence[Sequence[ArrayLike] | None] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array, Array]:
    """Count the points of a plane in each of several rectangles.

    Args:
      x, y: the coordinates, vectors of one size.
      bins: as in ``histogramdd``; also the edges for both directions, a vector.
      range, weights, density: see ``histogramdd``.

    Returns:
      The counts, and the edges in either direction.

    Raises:
      TypeError: if an operand is not an array, or the sizes differ.
      ValueError: if the coordinates are not vectors, or another argument does not fit.

    Example:
      >>> import ricci.numpy as jnp
      >>> x = jnp.array([0.0, 1.0, 2.0])
      >>> jnp.histogram2d(x, x, bins=2)[0].tolist()
      [[1, 0], [0, 2]]

    Source: numpy.histogram2d.
    """
    x, y = operands("histogram2d", x, y)
    if np.ndim(x) != 1 or np.ndim(y) != 1:
        raise ValueError(
            f"histogram2d: x and y must be vectors, got shapes {np.shape(x)} and {np.shape(y)}."
        )
    if not isinstance(bins, list | tuple) and np.ndim(bins) == 1 and np.size(bins) != 2:
        bins = [bins, bins]
    sample = transpose(concatenate([atleast_2d(x), atleast_2d(y)], 0))
    counts, edges = histogramdd(sample, bins, range, weights, density)
    return counts, edges[0], edges[1]


def histogramdd(
    sample: ArrayLike,
    bins: ArrayLike | Sequence[Any] = 10,
    range: Sequence[Sequence[ArrayLike] | None] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, list[Array]]:
    """Count the points of a space in each of several boxes.

    Args:
      sample: a matrix with the coordinates of a point in each row; integers become floats.
      bins: the number of bins in each direction; or for each one the number, or the vector of
        edges.
      range: for each direction the lower and the upper end, or ``None`` for those of the points.
      weights: what each point adds to the count, a vector; 1 by default.
      density: whether to divide the counts, so that their integral is 1.

    Returns:
      The counts, of as many dimensions as the space, and the list of the edges in each direction.

    Raises:
      TypeError: if an operand is not an array.
      ValueError: if ``sample`` is not a matrix, or another argument does not fit it.

    Example:
      >>> import ricci.numpy as jnp
      >>> counts, edges = jnp.histogramdd(jnp.array([[0.0, 1.0], [2.0, 3.0]]), bins=2)
      >>> counts.tolist(), [e.tolist() for e in edges]
      ([[1, 0], [0, 1]], [[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]])

    Source: numpy.histogramdd.
    """
    optional = () if weights is None else (weights,)
    sample, *optional = operands("histogramdd", sample, *optional)
    if np.ndim(sample) != 2:
        raise ValueError(
            f"histogramdd: a matrix with a point in each row is needed, got {np.shape(sample)}."
        )
    size, rank = np.shape(sample)
    if optional and np.shape(optional[0]) != (size,):
        raise ValueError(
            f"histogramdd: {size} points need as many weights, got {np.shape(optional[0])}."
        )
    several: Any = bins
    if isinstance(several, list | tuple) or np.ndim(several):
        listed_bins = list(several)
        if len(listed_bins) != rank:
            raise ValueError(
                f"histogramdd: there are {rank} directions; give bins for each, not "
                f"{len(listed_bins)}."
            )
    else:
        listed_bins = [several] * rank
    all_bins = [checked_bins("histogramdd", each) for each in listed_bins]
    if range is not None and len(range) != rank:
        raise ValueError(
            f"histogramdd: range must have two ends or None for each of {rank} directions, got "
            f"{range}."
        )
    ends = [checked_ends("histogramdd", each) for each in range or [None] * rank]
    counts, *edges = _histogramdd(
        sample,
        *(optional or [None]),
        *(each for each in all_bins if not isinstance(each, int)),
        *(end for each in ends for end in each),
        bins=tuple(each if isinstance(each, int) else None for each in all_bins),
        ranged=tuple(bool(each) for each in ends),
        density=bool(density),
    )
    return counts, edges


@ir.composite("histogramdd")
def _histogramdd(
    sample: Array,
    weights: Array | None,
    *optional: Array,
    bins: tuple[int | None, ...],
    ranged: tuple[bool, ...],
    density: bool,
) -> list[Array]:
    """The counts, then the edges in each direction.

    Args:
      sample, weights: the points, and what each adds to the count.
      optional: the edges for each direction that has ``None`` in ``bins``, then the two ends for
        each direction that has true in ``ranged``.
      bins, ranged, density: the numbers of bins, and more; see ``optional`` and ``histogramdd``.
    """
    remaining = iter(optional)
    all_bins = [next(remaining) if each is None else each for each in bins]
    ends = [(next(remaining), next(remaining)) if each else () for each in ranged]
    if weights is None:
        (sample,) = promote_dtypes_inexact(sample)
    else:
        sample, weights = promote_dtypes_inexact(sample, weights)
    columns = [lax.index_in_dim(sample, i, 1, keepdims=False) for i in builtins.range(len(bins))]
    edges = [edges_of(*each) for each in zip(columns, all_bins, ends, strict=True)]
    shape = tuple(each.shape[0] + 1 for each in edges)
    # The number of a point's box in row-major order, one direction after the other (Horner's
    # scheme).
    places = lax.full((sample.shape[0],), 0, np.int32)
    for column, each, size in zip(columns, edges, shape, strict=True):
        places = lax.add(lax.mul(places, np.int32(size)), bin_numbers(column, each))
    one = strong_constant(ir.python_scalar_dtype(int), 1)
    weight: Array = lax.full(places.shape, one) if weights is None else weights
    counts = lax.reshape(counted(places, weight, prod(shape)), shape)
    # The first and the last place in each direction count the points outside of the bins.
    counts = lax.slice(counts, (1,) * len(shape), tuple(size - 1 for size in shape))
    if density:
        counts = convert(counts, sample.dtype)
        counts = divide(counts, sum(counts))
        directions = builtins.range(len(edges))
        for i, each in enumerate(edges):
            widths = lax.expand_dims(diff(each), [other for other in directions if other != i])
            counts = divide(counts, widths)
    return [counts, *edges]
