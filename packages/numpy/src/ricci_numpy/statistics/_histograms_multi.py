"""Histograms over several dimensions."""

import builtins
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

import ricci_lax as lax
from ricci_ir import Array, ArrayLike, composite, python_scalar_dtype
from ricci_numpy._promotion import convert, operands, promote_dtypes_inexact, strong_constant
from ricci_numpy.calculus._differences import diff
from ricci_numpy.reductions._axis_reductions import sum
from ricci_numpy.shapes._joining import concatenate
from ricci_numpy.shapes._reshaping import atleast_2d
from ricci_numpy.shapes._transposing import transpose
from ricci_numpy.ufuncs._binary import divide

from ._histograms import bin_numbers, checked_bins, checked_ends, counted, edges_of

__all__ = ["histogram2d", "histogramdd"]


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


@composite("histogramdd")
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
    places = lax.full((sample.shape[0],), 0, np.int32)
    for column, each, size in zip(columns, edges, shape, strict=True):
        places = lax.add(lax.mul(places, np.int32(size)), bin_numbers(column, each))
    one = strong_constant(python_scalar_dtype(int), 1)
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
