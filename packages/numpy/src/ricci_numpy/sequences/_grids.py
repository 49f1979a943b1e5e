"""Positions in several dimensions and in the flattened array; grids and joined arrays.

``mgrid``, ``ogrid``, ``r_`` and ``c_`` are written as indices.
"""

import builtins
from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import Any, final, overload

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_numpy import _promotion as promotion
from ricci_numpy.arrays._broadcasting import as_shape, concrete_values, select_where
from ricci_numpy.arrays._creation import array, asarray
from ricci_numpy.arrays._filling import zeros
from ricci_numpy.indexing._gather_form import widened, wrapped
from ricci_numpy.indexing._take import check_integers
from ricci_numpy.indexing._where import nonzero
from ricci_numpy.shapes._joining import concatenate
from ricci_numpy.shapes._reshaping import atleast_1d
from ricci_numpy.ufuncs._division import remainder
from ricci_numpy.ufuncs._rounding import clip

from ._ranges import arange
from ._spaced import linspace

__all__ = ["c_", "ix_", "mgrid", "ogrid", "r_", "ravel_multi_index", "unravel_index"]


def unravel_index(indices: ir.ArrayLike, shape: ir.ShapeLike) -> tuple[ir.Array, ...]:
    """Positions in a flattened array as an index array for each dimension.

    Args:
      indices: integers.
      shape: the array's shape; its sizes may be traced.

    Returns:
      A tuple of integer arrays of the shape of ``indices``, one for each dimension.

    Raises:
      TypeError: if the indices are not integers.

    Positions out of bounds are moved to the first or to the last element.

    Example:
      >>> import ricci.numpy as jnp
      >>> [i.tolist() for i in jnp.unravel_index(jnp.array([1, 5]), (2, 3))]
      [[0, 1], [1, 2]]

    Source: numpy.unravel_index.
    """
    (indices,) = promotion.operands("unravel_index", indices)
    if promotion.dtype_of(indices) == ir.BOOL:
        indices = promotion.convert(indices, ir.python_scalar_dtype(int), weak_type=True)
    check_integers("unravel_index", indices)
    if hasattr(type(shape), "aval"):
        sizes: Any = shape
        return _unravel_traced(indices, *(sizes if sizes.ndim else (sizes,)))
    if isinstance(shape, list | tuple) and any(isinstance(n, ir.Tracer) for n in shape):
        return _unravel_traced(indices, *shape)
    coordinates = _unravel_index(indices, sizes=as_shape(shape))
    is_several = isinstance(shape, list | tuple) or (isinstance(shape, np.ndarray) and shape.ndim)
    sizes = shape if is_several else (shape,)
    if any(isinstance(n, np.generic | np.ndarray) for n in sizes):
        return _promoted(indices, coordinates, sizes)
    return coordinates


def _promoted(
    indices: ir.Array, coordinates: Sequence[ir.Array], sizes: Sequence[ir.ArrayLike]
) -> tuple[ir.Array, ...]:
    """The positions in the dtypes that repeated division by the sizes promotes to, last first."""
    promoted: list[ir.Array] = []
    left = indices
    for position, n in zip(reversed(coordinates), reversed(sizes), strict=True):
        left = promotion.convert(position, *promotion.common_dtype(left, n))
        promoted.insert(0, left)
    return tuple(promoted)


@ir.composite("unravel_index")
def _unravel_traced(indices: ir.Array, *sizes: ir.ArrayLike) -> tuple[ir.Array, ...]:
    """``unravel_index`` for traced sizes."""
    dtype, weak = promotion.common_dtype(indices, *sizes)
    indices, *shape = (promotion.convert(x, dtype, weak) for x in (indices, *sizes))
    total = reduce(lax.mul, shape)
    if dtype.kind == "i":
        negative = lax.lt(indices, promotion.constant(indices, 0))
        indices = select_where(
            negative, lax.add(*promotion.promote_shapes("unravel_index", indices, total)), indices
        )
    last = lax.sub(total, promotion.constant(total, 1))
    indices = clip(indices, 0, last)
    coordinates = []
    for n in reversed(shape):
        # The last digit in the mixed base of the sizes, then the remaining ones.
        indices, n = promotion.promote_shapes("unravel_index", indices, n)
        coordinates.insert(0, lax.rem(indices, n))
        indices = lax.div(indices, n)
    return tuple(coordinates)


@ir.composite("unravel_index")
def _unravel_index(indices: ir.Array, *, sizes: tuple[int, ...]) -> tuple[ir.Array, ...]:
    total = prod(sizes)
    if ir.surely_at_most(total, 0):
        return (lax.full_like(indices, 0),) * len(sizes)
    dtype, weak = promotion.dtype_of(indices), ir.get_aval(indices).weak_type
    indices = widened(indices, total)
    if promotion.dtype_of(indices).kind == "i":
        indices = wrapped(indices, total)
    # Indices out of bounds are clipped. Then the coordinates are the digits in the mixed base of
    # the sizes, the last one first.
    last = total - 1
    if not ir.is_symbolic_dim(last):
        last = min(last, int(ir.iinfo(promotion.dtype_of(indices)).max))
    indices = clip(indices, 0, last)
    indices = promotion.convert(indices, promotion.dtype_of(indices), weak)
    coordinates = []
    for n in reversed(sizes):
        coordinates.insert(
            0, promotion.convert(lax.rem(indices, promotion.constant_like(indices, n)), dtype, weak)
        )
        indices = lax.div(indices, promotion.constant_like(indices, n))
    return tuple(coordinates)


def ravel_multi_index(
    multi_index: Sequence[ir.ArrayLike],
    dims: Sequence[int],
    mode: str = "raise",
    order: str = "C",
    *,
    dtype: ir.DTypeLike | None = None,
) -> ir.Array:
    """An index array for each dimension as positions in the flattened array.

    Args:
      multi_index: integer arrays.
      dims: the array's shape.
      mode: ``"clip"`` or ``"wrap"`` for positions out of bounds; with ``"raise"`` they must be
        concrete.
      order: ``"C"``, or ``"F"`` for the first dimension changing fastest.
      dtype: the result's dtype.

    Returns:
      An integer array of the broadcast shape of the index arrays.

    Raises:
      ValueError: if a position is out of bounds, the numbers differ, or an index holds floats.
      TypeError: if an index holds booleans, or a size is not an int.
      ConcretizationTypeError: if an index is traced and the mode is ``"raise"``.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.ravel_multi_index((jnp.array([0, 1]), jnp.array([1, 2])), (2, 3)).tolist()
      [1, 5]

    Source: numpy.ravel_multi_index.
    """
    if len(multi_index) != len(dims):
        raise ValueError(
            f"ravel_multi_index: {len(multi_index)} index arrays for {len(dims)} dimensions; give "
            "one each."
        )
    if order not in ("C", "F"):
        raise ValueError(f"ravel_multi_index: order must be 'C' or 'F', got {order!r}.")
    dims = as_shape(dims)
    indices = promotion.operands("ravel_multi_index", *multi_index)
    for i in indices:
        is_mask = promotion.dtype_of(i) == ir.BOOL
        check_integers("ravel_multi_index", i, TypeError if is_mask else ValueError)
    bounded = []
    for i, n in zip(indices, dims, strict=True):
        if mode == "raise":
            values = concrete_values(i, "With mode='clip' or mode='wrap' indices can be traced.")
            if values.size and not (0 <= values.min() and values.max() < n):
                raise ValueError(
                    f"ravel_multi_index: an index is out of bounds for a dimension of size {n}. "
                    "Use mode='clip' or mode='wrap' to allow that."
                )
        elif mode == "clip":
            i = clip(i, 0, n - 1)
        elif mode == "wrap":
            i = remainder(i, n)
        elif mode != "ignore":
            raise ValueError(
                f"ravel_multi_index: mode must be 'raise', 'wrap', 'clip' or 'ignore', got {mode!r}"
            )
        bounded.append(i)
    if dtype is not None:
        common = np.dtype(dtype)
    else:
        common = promotion.common_dtype(*indices)[0] if indices else ir.python_scalar_dtype(int)
    # Python's integers do not overflow.
    total = int(np.prod(dims, dtype=object))
    if total - 1 > ir.iinfo(common).max:
        raise ValueError(
            f"ravel_multi_index: {common} cannot hold the positions in an array of shape "
            f"{tuple(dims)}. Give a wider one as dtype."
        )
    result: Any = np.zeros((), common)[()]
    bounded = [promotion.convert(i, common) for i in bounded]
    below = 1
    pairs = list(zip(bounded, dims, strict=True))
    strides = []
    for _, n in reversed(pairs) if order == "C" else pairs:
        strides.append(below)
        below *= n
    if order == "C":
        strides.reverse()
    for (i, _), stride in zip(pairs, strides, strict=True):
        result = result + asarray(i) * stride
    return asarray(result)


def ix_(*args: ir.ArrayLike) -> tuple[ir.Array, ...]:
    """Index arrays for the parts of an array at all combinations of positions.

    Args:
      args: vectors: integers, or masks.

    Returns:
      A tuple of integer arrays, one for each vector, that broadcast against each other.

    Raises:
      ValueError: if one is not a vector.
      TypeError: if one is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> x = jnp.arange(12).reshape(3, 4)
      >>> x[jnp.ix_(jnp.array([0, 2]), jnp.array([1, 3]))].tolist()
      [[1, 3], [9, 11]]

    Source: numpy.ix_.
    """
    count = len(args)
    grids = []
    for d, x in enumerate(promotion.operands("ix_", *args)):
        if np.ndim(x) != 1:
            raise ValueError(f"ix_: arguments must be vectors, got shape {np.shape(x)}.")
        if promotion.dtype_of(x) == ir.BOOL:
            (x,) = nonzero(x)
        x = asarray(x)
        if not x.size:  # as in NumPy, which takes an empty list for indices
            x = promotion.convert(x, ir.canonicalize_dtype(np.int64))
        grids.append(lax.expand_dims(x, [i for i in range(count) if i != d]))
    return tuple(grids)


def _points(entry: slice) -> ir.Array:
    """The numbers of a slice; an imaginary step is their count, the end then included."""
    start, step = entry.start or 0, entry.step or 1
    if isinstance(step, complex):
        return linspace(start, entry.stop, int(builtins.abs(step)))
    return arange(start, entry.stop, step)


@ir.composite("mgrid")
def _dense(*vectors: ir.Array) -> ir.Array:
    shape = (1, *(x.shape[0] for x in vectors))
    # Vector i varies along dimension i, behind the dimension that numbers the coordinates.
    parts = [lax.broadcast_in_dim(x, shape, (axis,)) for axis, x in enumerate(vectors, 1)]
    return lax.concatenate(parts, 0)


@ir.composite("ogrid")
def _open(*vectors: ir.Array) -> tuple[ir.Array, ...]:
    ones = (1,) * len(vectors)
    return tuple(
        lax.reshape(x, (*ones[:axis], x.shape[0], *ones[axis + 1 :]))
        for axis, x in enumerate(vectors)
    )


def _vectors(name: str, key: tuple[slice, ...]) -> list[ir.Array]:
    for entry in key if isinstance(key, tuple) else (key,):
        if not isinstance(entry, slice):
            raise TypeError(f"{name} takes slices such as {name}[0:3, 0:1:5j], got {entry!r}.")
    # The numbers of a slice are the library's own arrays, so that they are promoted in every mode.
    with ir.numpy_dtype_promotion("standard"):
        return promotion.promote_dtypes(*map(_points, key)) if key else []


@final
class MGrid:
    """Dense grids: the coordinates of all points, from a slice for each dimension.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.mgrid[0:2, 0:3].tolist()
      [[[0, 0, 0], [1, 1, 1]], [[0, 1, 2], [0, 1, 2]]]

    Source: numpy.mgrid.
    """

    def __repr__(self) -> str:
        return "mgrid"

    def __getitem__(self, key: slice | tuple[slice, ...]) -> ir.Array:
        if isinstance(key, slice):
            return _points(key)
        vectors = _vectors("mgrid", key)
        return _dense(*vectors) if vectors else zeros((0,), promotion.INT32)


@final
class OGrid:
    """Open grids: an array for each dimension, from a slice; they broadcast against each other.

    Example:
      >>> import ricci.numpy as jnp
      >>> [x.tolist() for x in jnp.ogrid[0:2, 0:3]]
      [[[0], [1]], [[0, 1, 2]]]

    Source: numpy.ogrid.
    """

    def __repr__(self) -> str:
        return "ogrid"

    @overload
    def __getitem__(self, key: slice) -> ir.Array: ...
    @overload
    def __getitem__(self, key: tuple[slice, ...]) -> list[ir.Array]: ...
    def __getitem__(self, key: slice | tuple[slice, ...]) -> ir.Array | list[ir.Array]:
        if isinstance(key, slice):
            return _points(key)
        vectors = _vectors("ogrid", key)
        return list(_open(*vectors)) if vectors else []


class _Directive:
    """Options of a join: axis, least rank, and place of an array's dimensions.

    Args:
      text: ``"axis"``, ``"axis,rank"`` or ``"axis,rank,place"``; ``"r"`` or ``"c"`` for a matrix
        of one row or column.
      place: which dimension of the result the last dimension of an array of lower rank becomes; its
        other dimensions are rotated with it.
    """

    def __init__(self, text: str | None, axis: int, rank: int, place: int):
        self.axis, self.rank, self.place = axis, rank, place
        self.matrix = text if text in ("r", "c") else None
        if text is None or self.matrix:
            return
        try:
            numbers = [int(part) for part in text.split(",")]
        except ValueError:
            raise ValueError(
                f"r_ and c_ do not understand the directive {text!r}; write 'axis', 'axis,rank' or "
                "'axis,rank,place' with numbers, or 'r' or 'c'."
            ) from None
        self.axis, self.rank, self.place = (*numbers, *(axis, rank, place)[len(numbers) :])[:3]

    def shaped(self, x: ir.ArrayLike) -> ir.Array:
        """An array with at least ``rank`` dimensions."""
        x = atleast_1d(x)
        missing = self.rank - x.ndim
        if missing <= 0:
            return x
        x = lax.expand_dims(x, tuple(range(missing)))
        # New dimensions are in front, the array's last at the end; a rotation takes it to its
        # place.
        turn = (self.rank - 1 - self.place) % self.rank
        return lax.transpose(x, (*range(turn, self.rank), *range(turn))) if turn else x

    def joined(self, parts: list[ir.ArrayLike]) -> ir.Array:
        """The concatenated arrays."""
        result = concatenate([self.shaped(part) for part in parts], self.axis)
        if self.matrix is None or result.ndim != 1:
            return result
        return lax.expand_dims(result, (0,) if self.matrix == "r" else (1,))


class _Joiner:
    """The base class of ``r_`` and ``c_``, which differ in how they join by default."""

    _defaults: tuple[int, int, int]  # axis, rank and place of a directive

    def __getitem__(self, key: Any) -> ir.Array:
        entries = list(key) if isinstance(key, tuple) else [key]
        if not entries:
            raise IndexError("r_ and c_ join arrays; give at least one.")
        text = entries.pop(0) if isinstance(entries[0], str) else None
        if any(isinstance(entry, str) for entry in entries):
            raise ValueError("r_ and c_: the directive, a string, comes first.")
        directive = _Directive(text, *self._defaults)
        return directive.joined([_part(entry) for entry in entries])


class RClass(_Joiner):
    """The class of ``r_``, which joins along the first axis."""

    _defaults = (0, 1, -1)

    def __repr__(self) -> str:
        return "r_"


class CClass(_Joiner):
    """The class of ``c_``, which joins vectors as columns."""

    _defaults = (-1, 2, 0)

    def __repr__(self) -> str:
        return "c_"


def _part(entry: object) -> Any:
    if isinstance(entry, slice):
        return _points(entry)
    return entry if np.isscalar(entry) else array(entry)


mgrid: MGrid = MGrid()
ogrid: OGrid = OGrid()
r_: RClass = RClass()
c_: CClass = CClass()
