"""Standardization, the logarithm of a mean of exponentials, and one-hot vectors.

``softmax`` and ``logsumexp`` are in ``ricci_numpy``, whose functions use them.
"""

from operator import index
from typing import Any, Literal

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_lax.authoring import with_out_sharding
from ricci_numpy.authoring import (
    as_axis,
    axis_count,
    check_choice,
    constant,
    logsumexp,
    reduced_and_named_axes,
    to_inexact,
)

__all__ = ["logmeanexp", "one_hot", "standardize"]


@ir.composite("logmeanexp")
def _logmeanexp(
    x: ir.Array, where: ir.Array | None = None, *, axis: ir.Axis, keepdims: bool
) -> ir.Array:
    # log(Σ exp(x) / n) = logsumexp(x) − log(n).
    result = logsumexp(x, axis, keepdims=keepdims, where=where)
    return jnp.subtract(result, jnp.log(_count(x, axis, where, keepdims)))


def _count(x: ir.Array, axis: ir.Axis, where: ir.Array | None, keepdims: bool) -> Any:
    """The number of elements that a reduction counts, as a number of the dtype of ``x``."""
    if where is None:
        axes = reduced_and_named_axes("logmeanexp", axis, x.ndim)
        return constant(x, axis_count(x.shape, axes))
    mask = lax.convert_element_type(jnp.broadcast_to(where, x.shape), np.int32)
    return jnp.sum(lax.convert_element_type(mask, x.dtype), axis, keepdims=keepdims)


@ir.dispatched("axis", "keepdims")
def logmeanexp(
    x: ir.ArrayLike, axis: ir.Axis = None, where: ir.ArrayLike | None = None, keepdims: bool = False
) -> ir.Array:
    """log(mean(exp(x))) along axes, computed without overflow.

    Args:
      x, axis, where, keepdims: as for ``logsumexp``.

    Returns:
      An array of the shape of ``x`` without the axes, of a float dtype.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.logmeanexp(np.float32([1000.0, 1000.0]))
      Array(1000., dtype=float32)
    """
    masks = () if where is None else (where,)
    return _logmeanexp(to_inexact(x, "logmeanexp"), *masks, axis=as_axis(axis), keepdims=keepdims)


@ir.dispatched("axis", "algorithm")
def standardize(
    x: ir.ArrayLike,
    axis: ir.Axis = -1,
    mean: ir.ArrayLike | None = None,
    variance: ir.ArrayLike | None = None,
    epsilon: ir.ArrayLike = 1e-5,
    where: ir.ArrayLike | None = None,
    *,
    algorithm: Literal["fast", "stable"] = "fast",
) -> ir.Array:
    """Shift and scale an array to mean 0 and variance 1 along axes.

    Args:
      x: an array of real numbers.
      axis: an axis, a sequence of axes, or ``None`` for all.
      mean, variance: the mean and the variance to use, by default those of ``x``.
      epsilon: a number that is added to the variance, to avoid division by 0.
      where: a boolean mask of the elements from which mean and variance are computed.
      algorithm: the variance is computed ``"fast"``, from the mean of squares, in one pass, or
        ``"stable"``, from the squares of differences from the mean.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Raises:
      ValueError: for another algorithm.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> ricci.nn.standardize(np.float32([1.0, 3.0]))
      Array([-0.99999..., 0.99999...], dtype=float32)

    Source: the normalization of Ioffe and Szegedy, "Batch normalization", 2015.
    """
    check_choice("standardize", "algorithm", algorithm, ("fast", "stable"))
    # Arrays are operands of the composite, whose names are one of its settings. A
    # number for epsilon is a setting as well.
    arrays: dict[str, ir.ArrayLike | None] = {"mean": mean, "variance": variance, "where": where}
    settings: dict[str, Any] = {"axis": as_axis(axis), "algorithm": algorithm}
    if isinstance(epsilon, int | float):
        settings["epsilon"] = epsilon
    else:
        arrays["epsilon"] = epsilon
    names = tuple(name for name, value in arrays.items() if value is not None)
    values = [arrays[name] for name in names]
    return _standardize(to_inexact(x, "standardize"), *values, names=names, **settings)


@ir.composite("standardize")
def _standardize(
    x: ir.Array,
    *values: ir.Array,
    names: tuple[str, ...],
    axis: ir.Axis,
    algorithm: str,
    epsilon: float | None = None,
) -> ir.Array:
    arrays = dict(zip(names, values, strict=True))
    mean, variance, mask = (arrays.get(name) for name in ("mean", "variance", "where"))
    added: Any = arrays.get("epsilon", epsilon)  # one of them is given
    if variance is None and x.dtype.itemsize < 4:
        # Squares of float16 beyond 255 are infinite.
        settings: Any = {"names": names, "axis": axis, "algorithm": algorithm, "epsilon": epsilon}
        wide = _standardize.fun(lax.convert_element_type(x, np.float32), *values, **settings)
        promoted = [value for name, value in arrays.items() if name != "where"]
        return lax.convert_element_type(wide, jnp.result_type(x, *promoted))
    if mean is None:
        mean = jnp.mean(x, axis, keepdims=True, where=mask)
    if variance is None:
        if algorithm == "fast":
            squares = jnp.mean(jnp.square(x), axis, keepdims=True, where=mask)
            # E[x²] - E[x]² may be negative by rounding.
            variance = jnp.clip(jnp.subtract(squares, jnp.square(mean)), 0)
        else:
            differences = jnp.square(jnp.subtract(x, mean))
            variance = jnp.mean(differences, axis, keepdims=True, where=mask)
    return jnp.multiply(jnp.subtract(x, mean), lax.rsqrt(jnp.add(variance, added)))


@ir.composite("_one_hot")
def _one_hot(x: ir.Array, *, num_classes: int, dtype: np.dtype, axis: int) -> ir.Array:
    position = axis if axis >= 0 else axis + x.ndim + 1
    if not 0 <= position <= x.ndim:
        raise ValueError(
            f"one_hot: axis={axis} is out of bounds for a result of rank {x.ndim + 1}."
        )
    lhs = lax.expand_dims(x, (position,))
    shape = tuple(num_classes if d == position else 1 for d in range(x.ndim + 1))
    # Compared with all classes: an index out of range equals none, and gives a vector of zeros.
    classes = lax.broadcasted_iota(x.dtype, shape, position)
    return lax.convert_element_type(jnp.equal(lhs, classes), dtype)


def one_hot(
    x: ir.ArrayLike,
    num_classes: int,
    *,
    dtype: ir.DTypeLike | None = None,
    axis: int = -1,
    out_sharding: object = None,
) -> ir.Array:
    """Encode integers as one-hot vectors: 1 at the index, 0 elsewhere.

    Args:
      x: an array of integers; those outside [0, num_classes) give vectors of zeros.
      num_classes: the length of the vectors.
      dtype: the result's dtype, by default the default float one.
      axis: the position of the vectors' axis in the result's shape.
      out_sharding: the result's sharding.

    Returns:
      An array of the shape of ``x`` with one more dimension, of size ``num_classes``.

    Raises:
      TypeError: if ``num_classes`` is not an integer.
      ConcretizationTypeError: if it is traced.
      ValueError: if the result has no such axis.
      NotImplementedError: if ``axis`` names an axis of ``vmap`` or of a mesh.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> labels = jnp.array([1, 5])  # 5 is not a class
      >>> ricci.nn.one_hot(labels, 3)
      Array([[0., 1., 0.],
             [0., 0., 0.]], dtype=float32)
      >>> ricci.nn.one_hot(jnp.array([[0, 1]]), 2, dtype=int, axis=1).tolist()
      [[[1, 0], [0, 1]]]

    See also:
      ``numpy.take_along_axis``, which selects the class's logit without the vectors.
    """
    if isinstance(num_classes, ir.Tracer) and num_classes.concrete() is None:
        raise ir.ConcretizationTypeError(
            num_classes, "one_hot: num_classes is a size of the result, so it must be static."
        )
    num_classes = ir.as_size(num_classes)
    result_dtype = ir.explicit_dtype(dtype, "one_hot")
    integers: ir.Array = jnp.asarray(x)
    if isinstance(axis, str):
        raise NotImplementedError(
            f"one_hot along the named axis {axis!r} is not available. Compare with axis_index: "
            f"(x == axis_index({axis!r})).astype(dtype)."
        )
    result = _one_hot(integers, num_classes=num_classes, dtype=result_dtype, axis=index(axis))
    return with_out_sharding(result, out_sharding)
