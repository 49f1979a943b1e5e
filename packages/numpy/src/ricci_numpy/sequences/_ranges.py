"""Ranges of numbers with a step, and the coordinates of grids."""

from collections.abc import Sequence
from math import ceil, isfinite
from operator import index
from typing import Any, Literal, SupportsIndex, overload

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_numpy._promotion import (
    FLOAT_DTYPES,
    INEXACT_DTYPES,
    NUMERIC_DTYPES,
    common_dtype,
    convert,
    operands,
    strong_constant,
)
from ricci_numpy.arrays import _creation as creation
from ricci_numpy.arrays._filling import filled

__all__ = ["arange", "indices", "meshgrid"]

_FLOAT32 = np.dtype(np.float32)
# Up to this length, ranges of integers come from the host: no executable for every length.
_COUNTED_ON_HOST = 1 << 14


def _concrete(name: str, x: ir.ArrayLike) -> Any:
    """The value of an end of a range as a Python or NumPy scalar."""
    if ir.is_symbolic_dim(x):
        return x
    if isinstance(x, ir.Tracer):
        # The number of steps is constant around a value that is being differentiated.
        traced, x = x, x.concrete()
        if x is None:
            raise ir.ConcretizationTypeError(
                traced, f"The argument {name!r} of arange decides the shape of the result."
            )
    value = np.asarray(x)[()] if hasattr(type(x), "aval") else x
    if np.shape(value):
        raise ValueError(
            f"arange: {name} must be a scalar, got an array of shape {np.shape(value)}."
        )
    if isinstance(value, complex | np.complexfloating):
        raise ValueError(f"arange: {name} must be real, got {value}.")
    return value


def arange(
    start: ir.ArrayLike,
    stop: ir.ArrayLike | None = None,
    step: ir.ArrayLike | None = None,
    dtype: ir.DTypeLike | None = None,
    *,
    device: object = None,
    out_sharding: object = None,
) -> ir.Array:
    """The numbers from ``start`` to ``stop``, which is excluded, with a distance of ``step``.

    Args:
      start, stop, step: real scalars, concrete while tracing. One alone is
        ``stop``, and the numbers start at 0; the distance is 1 without ``step``.
      dtype: the dtype, by default what the scalars promote to.
      device, out_sharding: where the array goes.

    Returns:
      A vector of ``ceil((stop - start) / step)`` elements. It has derivatives with respect to
      ``start`` and ``step``; the number of elements is constant.

    Raises:
      TypeError: if an argument is not a real number, or is traced.
      ZeroDivisionError: if ``step`` is 0.

    With a step that is not an integer, rounding decides whether the last number is included:
    ``linspace`` takes their count. The size must be static while tracing: under ``jit``, ``arange``
    of a fixed size and a mask replace ``arange(n)``.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> jnp.arange(1, 7, 2).tolist(), jnp.arange(3.0).dtype
      ([1, 3, 5], dtype('float32'))
      >>> jnp.arange(1, 1.3, 0.1).size  # three steps, four numbers
      4
      >>> first = ricci.jit(lambda n: jnp.where(jnp.arange(5) < n, 1, 0))
      >>> first(3).tolist()
      [1, 1, 1, 0, 0]

    See also:
      ``linspace``.

    Source: numpy.arange.
    """
    dtype = creation.chosen_dtype(dtype, "arange")
    arguments = {"start": start, "stop": stop, "step": step}
    if start is None:
        raise TypeError(
            "arange: start is None; give the number to count from, or the one to count up to."
        )
    if stop is None:
        arguments = {"stop": start, "step": step}
    scalars = {
        name: x if ir.is_symbolic_dim(x) else operands("arange", x)[0]
        for name, x in arguments.items()
        if x is not None
    }
    values = {name: _concrete(name, x) for name, x in scalars.items()}
    if dtype is None:
        dtype = _range_dtype(tuple(values.values()))
    values: dict[str, Any] = {n: x[()] if type(x) is np.ndarray else x for n, x in values.items()}
    differentiated = {n: x for n, x in scalars.items() if isinstance(x, ir.Tracer)}
    result = _count(values, values | differentiated, dtype)
    return creation.constrained(result, device, out_sharding)


def _range_dtype(values: tuple[Any, ...]) -> np.dtype:
    # The size of an int does not matter.
    small = [0 if type(x) is int or ir.is_symbolic_dim(x) else x for x in values]
    return common_dtype(*small)[0]


def _count(values: dict[str, Any], scalars: dict[str, Any], dtype: np.dtype) -> ir.Array:
    """The range of a dtype.

    Args:
      values: the concrete values of those arguments ``start``, ``stop`` and ``step`` that are used.
      scalars: the same, with tracers of those that are being differentiated.
      dtype: the dtype.
    """
    start, stop, step = values.get("start", 0), values["stop"], values.get("step", 1)
    if dtype not in NUMERIC_DTYPES:
        raise TypeError(f"arange cannot count in dtype {dtype}.")
    if step == 0:
        raise ZeroDivisionError("arange: step must not be 0.")
    size = ir.max_dim(_steps(start, stop, step), 0)
    small = (
        not ir.is_symbolic_dim(size) and size <= _COUNTED_ON_HOST and dtype not in INEXACT_DTYPES
    )
    # The copy to the device would be refused by a guard of transfers that the user has set.
    on_host = small and ir.has_backend() and not creation.uploads_are_guarded()
    if on_host and ir.context.trace is ir.eval_trace:
        first, distance = (int(np.asarray(strong_constant(dtype, x))) for x in (start, step))
        return creation.from_host((first + distance * np.arange(size)).astype(dtype), dtype=dtype)
    # A step is rounded once, not with each element that it leads to.
    has_step = "step" in scalars
    wide = _FLOAT32 if has_step and dtype in FLOAT_DTYPES and dtype.itemsize < 4 else dtype
    result = lax.iota(wide, size)
    if has_step:
        result = lax.mul(_end(wide, scalars["step"]), result)
    if "start" in scalars:
        result = lax.add(_end(wide, scalars["start"]), result)
    return result if wide is dtype else lax.convert_element_type(result, dtype)


def _end(dtype: np.dtype, x: ir.ArrayLike) -> ir.ArrayLike:
    if ir.is_symbolic_dim(x) or isinstance(x, ir.Tracer):
        return convert(x, dtype)
    return strong_constant(dtype, x)


def _steps(start: float, stop: float, step: float) -> int:
    if any(map(ir.is_symbolic_dim, (start, stop, step))):
        return _symbolic_steps(start, stop, step)
    if all(isinstance(x, int | np.integer | np.bool_) for x in (start, stop, step)):
        # The ceiling of the quotient, exact for integers of any size.
        return -((int(start) - int(stop)) // int(step))
    quotient = (float(stop) - float(start)) / float(step)
    if not isfinite(quotient):
        raise ValueError(
            f"arange: from {start} to {stop} by {step} the number of steps is not finite."
        )
    return ceil(quotient)


def _symbolic_steps(start: Any, stop: Any, step: Any) -> int:
    constants = [x for x in (start, stop, step) if not ir.is_symbolic_dim(x)]
    if not all(isinstance(x, int | np.integer) or x == int(x) for x in constants):
        raise ValueError(
            f"arange: from {start} to {stop} by {step}: with symbolic dimensions, all of them must "
            "be whole numbers."
        )
    start, stop, step = (x if ir.is_symbolic_dim(x) else int(x) for x in (start, stop, step))
    return -((start - stop) // step)


def _whole(name: str, num: SupportsIndex) -> int:
    if isinstance(num, ir.Tracer) and num.concrete() is None:
        raise ir.ConcretizationTypeError(num, f"The argument 'num' of {name} decides its shape.")
    num = ir.as_size(num)
    if num < 0:
        raise ValueError(f"{name}: num must not be negative, got {num}.")
    return num


def meshgrid(
    *xi: ir.ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[ir.Array, ...]:
    """The coordinates of the points of a grid.

    Args:
      xi: the coordinates along each direction, arrays of at most one dimension.
      copy: not supported unless true; the arrays are always new.
      sparse: give each array size 1 along the directions in which it does not change.
      indexing: ``"xy"`` lets the first direction run along the second axis, ``"ij"`` along the
        first.

    Returns:
      A list of arrays, one for each direction.

    Raises:
      ValueError: if an array has more than one dimension, or ``indexing`` is unknown.

    The default ``"xy"`` exchanges the first two axes: the arrays have shape ``(len(y), len(x))``.
    Arrays indexed as ``[i, j]`` need ``"ij"``.

    Example:
      >>> import ricci.numpy as jnp
      >>> x, y = jnp.meshgrid(jnp.arange(2), jnp.arange(3), indexing="ij")
      >>> x.tolist(), y.tolist()
      ([[0, 0, 0], [1, 1, 1]], [[0, 1, 2], [0, 1, 2]])
      >>> jnp.meshgrid(jnp.arange(2), jnp.arange(3))[0].shape
      (3, 2)

    See also:
      ``ix_``; ``x[:, None] + y``, which needs no grid.

    Source: numpy.meshgrid.
    """
    arrays = [creation.asarray(x) for x in operands("meshgrid", *xi)]
    if not copy:
        raise ValueError("meshgrid: copy=False is not supported; the results are new arrays.")
    if indexing not in ("xy", "ij"):
        raise ValueError(
            f"meshgrid: indexing={indexing!r} is unknown: 'ij' puts the first vector along the "
            "first axis, 'xy' along the second."
        )
    if any(x.ndim > 1 for x in arrays):
        shapes = ", ".join(str(x.shape) for x in arrays)
        raise ValueError(f"meshgrid takes arrays of one dimension, got shapes {shapes}.")
    arrays = [lax.reshape(x, (1,)) if x.ndim == 0 else x for x in arrays]
    places = list(range(len(arrays)))
    # The first array is along columns, the second along rows, as coordinates are drawn.
    if indexing == "xy" and len(arrays) > 1:
        places[:2] = 1, 0
    sizes = [0] * len(arrays)
    for x, place in zip(arrays, places, strict=True):
        sizes[place] = x.shape[0]
    results = {}
    for place in range(len(sizes)):
        x = arrays[places.index(place)]
        shape = [1] * len(sizes) if sparse else sizes
        shape = tuple(x.shape[0] if i == place else n for i, n in enumerate(shape))
        results[place] = lax.broadcast_in_dim(x, shape, (place,))
    return tuple(results[place] for place in places)


@overload
def indices(
    dimensions: Sequence[int], dtype: ir.DTypeLike | None = None, sparse: Literal[False] = False
) -> ir.Array: ...
@overload
def indices(
    dimensions: Sequence[int], dtype: ir.DTypeLike | None = None, *, sparse: Literal[True]
) -> tuple[ir.Array, ...]: ...
def indices(
    dimensions: Sequence[int], dtype: ir.DTypeLike | None = None, sparse: bool = False
) -> ir.Array | tuple[ir.Array, ...]:
    """The indices of the elements of an array of a given shape.

    Args:
      dimensions: the shape.
      dtype: the dtype, the default int without it.
      sparse: give a tuple of arrays that broadcast, instead of one array.

    Returns:
      An integer array of shape ``(number of dimensions, *dimensions)``, or with ``sparse`` a tuple.

    Example:
      >>> import ricci.numpy as jnp
      >>> jnp.indices((2, 2))[1].tolist()
      [[0, 1], [0, 1]]

    Source: numpy.indices.
    """
    requested = (
        ir.python_scalar_dtype(int) if dtype is None else ir.explicit_dtype(dtype, "indices")
    )
    result_dtype = creation.checked_dtype(requested, "indices")
    shape = tuple(index(n) for n in dimensions)
    rank = len(shape)
    results = []
    for i, n in enumerate(shape):
        full = shape if not sparse else tuple(n if j == i else 1 for j in range(rank))
        results.append(lax.broadcast_in_dim(lax.iota(result_dtype, n), full, (i,)))
    if sparse:
        return tuple(results)
    if not results:
        return filled((0,), 0, result_dtype, False, "indices")
    return lax.concatenate([lax.expand_dims(x, (0,)) for x in results], 0)
