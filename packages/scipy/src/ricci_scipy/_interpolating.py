"""Interpolation: values between the elements of arrays, and between the points of grids."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, cast

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, Tracer, dispatched, inlined, static_number
from ricci_numpy.authoring import check_arraylike, check_choice, operands


def _mirror(i: Array, size: int) -> Array:
    """The index in an array that is mirrored about its outermost elements."""
    period = max(2 * (size - 1), 1)
    return jnp.abs((i + (size - 1)) % period - (size - 1))


# By mode, the index of the element to read for an index out of bounds.
_INDICES: dict[str, Callable[[Array, int], Array]] = {
    "constant": lambda i, size: i,
    "nearest": lambda i, size: jnp.clip(i, 0, size - 1),
    "wrap": lambda i, size: i % size,
    "mirror": _mirror,
    "reflect": lambda i, size: jnp.floor_divide(_mirror(2 * i + 1, 2 * size + 1), 2),
}


@dispatched("order", "mode")
def map_coordinates(
    input: ArrayLike,
    coordinates: Sequence[ArrayLike],
    order: int,
    mode: str = "constant",
    cval: ArrayLike = 0.0,
) -> Array:
    """The values of an array at coordinates between its elements.

    Args:
      input: an array of rank n.
      coordinates: n arrays of one shape: the coordinates along each dimension.
      order: 0 for the nearest element's value, 1 for linear interpolation.
      mode: what lies outside of the array: ``"constant"`` for the value ``cval``, ``"nearest"`` for
        the nearest element, ``"wrap"`` for the array repeated, ``"mirror"`` for the array mirrored
        about its outermost elements, ``"reflect"`` for the array mirrored about its outer edges.
      cval: the value outside of the array in mode ``"constant"``.

    Returns:
      An array of the shape of the coordinates and the dtype of ``input``.

    Raises:
      ValueError: if there are not n arrays of coordinates.
      NotImplementedError: for another order or mode.
      TypeError: if an operand is not an array.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.scipy import ndimage
      >>> line = jnp.array([0.0, 10.0, 20.0])
      >>> ndimage.map_coordinates(line, [jnp.array([0.5, 1.5])], order=1).tolist()
      [5.0, 15.0]

    Source: scipy.ndimage.map_coordinates.
    """
    x = jnp.asarray(input)
    places = [jnp.asarray(c) for c in coordinates]
    check_arraylike("map_coordinates", cval)
    if len(places) != x.ndim:
        raise ValueError(
            f"map_coordinates: an array of rank {x.ndim} needs as many arrays of coordinates, got "
            f"{len(places)}."
        )
    if mode not in _INDICES:
        raise NotImplementedError(
            f"map_coordinates: mode={mode!r} is not available; the modes are "
            f"{', '.join(map(repr, _INDICES))}."
        )
    if order not in (0, 1):
        raise NotImplementedError(
            f"map_coordinates: order={order!r} is not available; it must be 0 or 1."
        )
    is_constant = isinstance(cval, int | float | complex)  # the step holds it
    constant = static_number(cval) if is_constant else None
    outside = None if is_constant else cval
    return _mapped(x, outside, *places, order=int(order), mode=mode, constant=constant)


@inlined("map_coordinates")
def _mapped(
    x: Array,
    cval: ArrayLike | None,
    *places: Array,
    order: int,
    mode: str,
    constant: complex | None,
) -> Array:
    """Interpolate; the value outside is an array or a constant."""
    cval = jnp.asarray(cast(ArrayLike, constant if cval is None else cval), x.dtype)
    # For each dimension, the neighbours of the coordinates: index, whether it is inside, weight.
    neighbours = []
    for place, size in zip(places, x.shape, strict=True):
        around = []
        for i, weight in _around(place, order):
            inside = jnp.logical_and(i >= 0, i < size) if mode == "constant" else None
            around.append((_INDICES[mode](i, size), inside, weight))
        neighbours.append(around)
    total: Any = None
    for corner in product(*neighbours):
        value = x[tuple([i for i, _, _ in corner])]
        for _, inside, _ in corner:
            if inside is not None:
                value = jnp.where(inside, value, cval)
        for _, _, weight in corner:
            if weight is not None:
                value = value * weight
        total = value if total is None else total + value
    if jnp.issubdtype(x.dtype, np.integer) and jnp.issubdtype(total.dtype, np.inexact):
        total = lax.round(total)
    return total.astype(x.dtype)


def _around(place: Array, order: int) -> list[tuple[Array, Array | None]]:
    """The indices next to coordinates along one dimension, with their weights (``None`` for 1)."""
    if order == 0:
        is_integer = jnp.issubdtype(place.dtype, np.integer)
        nearest = place if is_integer else lax.round(place)
        return [(nearest.astype(np.int32), None)]
    lower = jnp.floor(place)
    above = place - lower
    i = lower.astype(np.int32)
    return [(i, 1 - above), (i + 1, above)]


class RegularGridInterpolator:
    """Interpolation of a function with values on a grid.

    Args:
      points: for each dimension of the grid, a vector of ascending coordinates.
      values: the function's values, an array whose leading dimensions are those of the grid.
      method: ``"linear"`` or ``"nearest"``.
      bounds_error: must be false, since a traced point cannot be checked.
      fill_value: the value at points outside of the grid; ``None`` to extrapolate.

    Raises:
      ValueError: if the method is unknown, sizes do not fit, or the fill value is complex.
      NotImplementedError: if ``bounds_error`` is true.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.scipy import interpolate
      >>> grid, values = (jnp.array([0.0, 1.0]),), jnp.array([0.0, 10.0])
      >>> f = interpolate.RegularGridInterpolator(grid, values)
      >>> f(jnp.array([[0.25], [0.5]])).tolist()
      [2.5, 5.0]

    Source: scipy.interpolate.RegularGridInterpolator.
    """

    def __init__(
        self,
        points: Sequence[ArrayLike],
        values: ArrayLike,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: ArrayLike | None = np.nan,
    ):
        _check_method(method)
        if bounds_error:
            raise NotImplementedError(
                "RegularGridInterpolator: bounds_error=True is not available, since values are "
                "traced. Check the points before, or use fill_value."
            )
        self.method = method
        self.bounds_error = bounds_error
        self.fill_value = fill_value
        (values,) = operands("RegularGridInterpolator", values)
        values = jnp.asarray(values)
        if jnp.issubdtype(values.dtype, np.integer):
            values = values.astype(jnp.result_type(float))
        is_complex = fill_value is not None and np.iscomplexobj(fill_value)
        if is_complex and not np.iscomplexobj(values):
            raise ValueError(
                f"RegularGridInterpolator: fill_value={fill_value!r} is complex, but values are "
                "real."
            )
        self.values = values
        self.grid = tuple([jnp.asarray(p) for p in points])
        sizes = tuple([p.shape[0] if p.ndim == 1 else -1 for p in self.grid])
        if sizes != values.shape[: len(sizes)]:
            raise ValueError(
                "RegularGridInterpolator: points must be vectors whose lengths are the sizes of "
                f"values, of shape {values.shape}; got shapes {[p.shape for p in self.grid]}."
            )
        for i, p in enumerate(self.grid):
            concrete = p.concrete() if isinstance(p, Tracer) else p
            if concrete is not None and not np.all(np.diff(np.asarray(concrete)) > 0):
                raise ValueError(
                    f"RegularGridInterpolator: the points of dimension {i} must ascend strictly."
                )

    def __call__(self, xi: ArrayLike | tuple[ArrayLike, ...], method: str | None = None) -> Array:
        """The values at points.

        Args:
          xi: points of shape ``(..., n)`` for n dimensions, or a tuple of n arrays that broadcast.
          method: a method in place of the interpolator's.

        Raises:
          ValueError: if the points have another number of coordinates, or the method is unknown.
        """
        method = self.method if method is None else method
        _check_method(method)
        ndim = len(self.grid)
        if isinstance(xi, tuple):
            xi = jnp.stack(jnp.broadcast_arrays(*xi), axis=-1)
        xi = jnp.asarray(xi)
        if xi.ndim == 1:
            xi = xi[:, None] if ndim == 1 else xi[None]
        if xi.shape[-1:] != (ndim,):
            raise ValueError(
                f"RegularGridInterpolator: points need {ndim} coordinates, got shape {xi.shape}."
            )
        result = _interpolated(self.values, xi.reshape(-1, ndim), *self.grid, method=method)
        if self.fill_value is not None:
            result = _outside(result, xi.reshape(-1, ndim), self.grid, self.fill_value)
        return result.reshape(*xi.shape[:-1], *self.values.shape[ndim:])


def _check_method(method: str) -> None:
    check_choice("RegularGridInterpolator", "method", method, ("linear", "nearest"))


def _outside(values: Array, xi: Array, grid: Sequence[Array], fill: ArrayLike) -> Array:
    """``values``, with ``fill`` at the points outside of the grid."""
    ends = jnp.stack([p[0] for p in grid]), jnp.stack([p[-1] for p in grid])
    low, high = (jnp.broadcast_to(end, xi.shape) for end in ends)
    is_out = jnp.any(jnp.logical_or(xi < low, xi > high), axis=-1)
    return jnp.where(is_out.reshape(-1, *[1] * (values.ndim - 1)), fill, values)


@inlined("interpolate")
def _interpolated(values: Array, xi: Array, *grid: Array, method: str) -> Array:
    """The values at the points ``xi``: of the nearest corner of the cell, or multilinear."""
    # ``cells`` are the lower corners of the cells that hold the points, ``shares`` the positions in
    # them from 0 to 1. Points outside belong to the cells at the edge, which extrapolates.
    cells, shares = [], []
    for d, points in enumerate(grid):
        i = jnp.clip(jnp.searchsorted(points, xi[:, d]) - 1, 0, points.shape[0] - 2)
        width = points[i + 1] - points[i]
        cells.append(i)
        shares.append(jnp.where(width == 0, 0, (xi[:, d] - points[i]) / width))
    if method == "nearest":
        nearest = [jnp.where(s <= 0.5, i, i + 1) for i, s in zip(cells, shares, strict=True)]
        return values[tuple(nearest)]
    extra = [1] * (values.ndim - len(grid))
    # A corner's weight is the volume of the box between the point and the opposite corner.
    total: Any = 0
    for corner in product((0, 1), repeat=len(grid)):
        weight: Any = 1
        for side, share in zip(corner, shares, strict=True):
            weight = weight * (share if side else 1 - share)
        places = tuple([i + side for i, side in zip(cells, corner, strict=True)])
        total = total + values[places] * jnp.reshape(weight, (-1, *extra))
    return total
