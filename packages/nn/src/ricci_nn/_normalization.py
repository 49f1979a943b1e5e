"""Functions that reduce over axes: softmax and its kin, standardization, one-hot codes."""

from operator import index
from typing import Any

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import explicit_dtype, softmax_custom_jvp
from ricci_lax._custom_jvp import custom_jvp
from ricci_lax._structural import placement
from ricci_numpy._composite import composite

from ._activations import to_inexact


def _maximum(x: Any, axis: Any, where: Any, keepdims: bool = True) -> Any:
    return jnp.max(x, axis, where=where, initial=-np.inf, keepdims=keepdims)


def _softmax(x: Any, axis: Any, where: Any) -> Any:
    peak = _maximum(x, axis, where)
    x = x if where is None else jnp.where(where, x, -np.inf)
    powers = jnp.exp(jnp.subtract(x, lax.stop_gradient(peak)))
    result = jnp.divide(powers, jnp.sum(powers, axis, where=where, keepdims=True))
    return result if where is None else jnp.where(where, result, 0)


def _softmax_rule(axis, primals, tangents):
    x, where = primals
    y = _softmax_with_rule(axis, x, where)
    weighted = jnp.multiply(y, tangents[0])
    total = jnp.sum(weighted, axis, where=where, keepdims=True)
    return y, jnp.subtract(weighted, jnp.multiply(y, total))


def _softmax_with_axis(axis, x, where):
    return _softmax(x, axis, where)


_softmax_with_rule = custom_jvp(_softmax_with_axis, nondiff_argnums=(0,))
_softmax_with_rule.defjvp(_softmax_rule)


def _as_axis(axis: Any) -> Any:
    return tuple(map(index, axis)) if isinstance(axis, tuple | list) else axis


def softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """exp(x), scaled to sum up to 1 along axes.

    Args:
      x: an array of real numbers.
      axis: an axis, a sequence of axes, or ``None`` for all.
      where: a boolean array; elements where it is false count for nothing and become 0.

    Returns:
      An array of the shape of ``x``.

    Example:
      >>> softmax(np.float32([0.0, 0.0]))
      Array([0.5, 0.5], dtype=float32)

    Source: Bridle, "Probabilistic interpretation of feedforward classification network outputs",
    1990.
    """
    x, axis = to_inexact(x), _as_axis(axis)
    if softmax_custom_jvp.value:
        return _softmax_with_rule(axis, x, where)
    return _softmax(x, axis, where)


@composite("log_softmax")
def _log_softmax(x, where=None, *, axis):
    peak = _maximum(x, axis, where)
    safe = x if where is None else jnp.where(where, x, -np.inf)
    shifted = jnp.subtract(safe, lax.stop_gradient(peak))
    total = jnp.sum(jnp.exp(shifted), axis, where=where, keepdims=True)
    result = jnp.subtract(shifted, jnp.log(total))
    return result if where is None else jnp.where(where, result, -np.inf)


def log_softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """The logarithm of ``softmax``, computed without overflow.

    Args:
      x, axis, where: as for ``softmax``; elements where ``where`` is false become -inf.

    Example:
      >>> log_softmax(np.float32([0.0, 0.0]))
      Array([-0.6931472, -0.6931472], dtype=float32)
    """
    masks = () if where is None else (where,)
    return _log_softmax(to_inexact(x), *masks, axis=_as_axis(axis))


def logsumexp(
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """log(sum(b · exp(a))) along axes, computed without overflow.

    Args:
      a: an array.
      axis: an axis, a sequence of axes, or ``None`` for all.
      b: factors, of a shape that broadcasts with that of ``a``.
      keepdims: whether reduced axes stay, with size 1.
      return_sign: whether to return the sum's sign as well, the result then being the logarithm
        of its magnitude; without it a negative sum gives NaN.
      where: a boolean array; elements where it is false are left out.

    Returns:
      An array, or a pair of arrays with ``return_sign``.

    Example:
      >>> logsumexp(np.float32([1000.0, 1000.0]))
      Array(1000.6932, dtype=float32)

    Source: scipy.special.logsumexp.
    """
    a, axis = to_inexact(a), _as_axis(axis)
    if b is not None:
        b = to_inexact(b)
        a = jnp.where(jnp.not_equal(b, 0), a, -np.inf)
        shape = np.broadcast_shapes(a.shape, b.shape)
        a = jnp.broadcast_to(a, shape)
    if where is not None:
        a = jnp.where(where, a, 0)
    peak = _maximum(jnp.real(a) if jnp.iscomplexobj(a) else a, axis, where, keepdims)
    peak = lax.select(lax.is_finite(peak), peak, lax.full_like(peak, 0))
    peak = lax.stop_gradient(peak)
    shift = peak if keepdims else jnp.expand_dims(peak, _reduced(axis, a.ndim))
    powers = jnp.exp(jnp.subtract(a, shift))
    if b is not None:
        powers = jnp.multiply(powers, b)
    total = jnp.sum(powers, axis, keepdims=keepdims, where=where)
    sign = lax.sign(total)
    if return_sign or not jnp.iscomplexobj(total):
        total = lax.abs(total)
    result = jnp.add(jnp.log(total), peak)
    if return_sign:
        return result, sign
    if b is not None and not jnp.iscomplexobj(result):
        result = jnp.where(jnp.less(sign, 0), np.nan, result)
    return result


def _reduced(axis: Any, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    return tuple(a % ndim for a in (axis if isinstance(axis, tuple) else (axis,)))


@composite("logmeanexp")
def _logmeanexp(x, where=None, *, axis, keepdims):
    result = logsumexp(x, axis, keepdims=keepdims, where=where)
    return jnp.subtract(result, jnp.log(_count(x, axis, where, keepdims)))


def _count(x: Any, axis: Any, where: Any, keepdims: bool) -> Any:
    """How many elements a reduction takes in, as a number of the dtype of ``x``."""
    if where is None:
        axes = _reduced(axis, x.ndim)
        return np.array(np.prod([x.shape[a] for a in axes]), x.dtype)[()]
    mask = lax.convert_element_type(jnp.broadcast_to(where, x.shape), np.int32)
    return jnp.sum(lax.convert_element_type(mask, x.dtype), axis, keepdims=keepdims)


def logmeanexp(x: Any, axis: Any = None, where: Any = None, keepdims: bool = False) -> Any:
    """log(mean(exp(x))) along axes, computed without overflow.

    Args:
      x, axis, where, keepdims: as for ``logsumexp``.

    Example:
      >>> logmeanexp(np.float32([1000.0, 1000.0]))
      Array(1000., dtype=float32)
    """
    masks = () if where is None else (where,)
    return _logmeanexp(to_inexact(x), *masks, axis=_as_axis(axis), keepdims=keepdims)


def standardize(
    x: Any,
    axis: Any = -1,
    mean: Any = None,
    variance: Any = None,
    epsilon: Any = 1e-5,
    where: Any = None,
    *,
    algorithm: str = "fast",
) -> Any:
    """``x`` moved and scaled to mean 0 and variance 1 along axes.

    Args:
      x: an array of real numbers.
      axis: an axis, a sequence of axes, or ``None`` for all.
      mean, variance: those to use, by default those of ``x``.
      epsilon: added to the variance.
      where: a boolean array; elements where it is false do not count for mean and variance.
      algorithm: how the variance is computed: ``"fast"``, from the mean of squares, in one pass,
        or ``"stable"``, from the squares of differences from the mean.

    Raises:
      ValueError: for another algorithm.

    Example:
      >>> standardize(np.float32([1.0, 3.0]))
      Array([-0.999995,  0.999995], dtype=float32)

    Source: the normalization of Ioffe and Szegedy, "Batch normalization", 2015.
    """
    if algorithm not in ("fast", "stable"):
        raise ValueError(
            f"standardize: algorithm={algorithm!r} is unknown; it is 'fast' or 'stable'."
        )
    given = {"mean": mean, "variance": variance, "where": where}
    settings = {"axis": _as_axis(axis), "algorithm": algorithm}
    if isinstance(epsilon, int | float):
        settings["epsilon"] = epsilon
    else:
        given["epsilon"] = epsilon
    names = tuple(name for name, value in given.items() if value is not None)
    values = [given[name] for name in names]
    return _standardize(to_inexact(x), *values, names=names, **settings)


@composite("standardize")
def _standardize(x, *values, names, axis, algorithm, epsilon=None):
    given = dict(zip(names, values, strict=True))
    mean, variance, where = (given.get(name) for name in ("mean", "variance", "where"))
    epsilon = given.get("epsilon", epsilon)
    if mean is None:
        mean = jnp.mean(x, axis, keepdims=True, where=where)
    if variance is None:
        if algorithm == "fast":
            squares = jnp.mean(jnp.square(x), axis, keepdims=True, where=where)
            # Rounding may make the difference negative.
            variance = jnp.clip(jnp.subtract(squares, jnp.square(mean)), 0)
        else:
            differences = jnp.square(jnp.subtract(x, mean))
            variance = jnp.mean(differences, axis, keepdims=True, where=where)
    return jnp.multiply(jnp.subtract(x, mean), lax.rsqrt(jnp.add(variance, epsilon)))


@composite("_one_hot")
def _one_hot(x, *, num_classes, dtype, axis):
    position = axis if axis >= 0 else axis + x.ndim + 1
    if not 0 <= position <= x.ndim:
        raise ValueError(
            f"one_hot: axis={axis} is no place for one more axis in an array of rank {x.ndim}."
        )
    lhs = lax.expand_dims(x, (position,))
    shape = tuple(num_classes if d == position else 1 for d in range(x.ndim + 1))
    classes = lax.broadcasted_iota(x.dtype, shape, position)
    return lax.convert_element_type(jnp.equal(lhs, classes), dtype)


def one_hot(
    x: Any,
    num_classes: int,
    *,
    dtype: Any = None,
    axis: int = -1,
    out_sharding: Any = None,
) -> Any:
    """Integers as vectors that are 1 at their place and 0 elsewhere.

    Args:
      x: an array of integers; those outside [0, num_classes) give vectors of zeros.
      num_classes: the length of the vectors.
      dtype: the result's dtype, by default the default float one.
      axis: where in the result's shape the vectors' dimension is.
      out_sharding: the result's sharding.

    Raises:
      TypeError: if ``num_classes`` is no concrete integer.
      ValueError: if the result has no such axis.
      NotImplementedError: if ``axis`` names an axis of ``vmap`` or of a mesh.

    Example:
      >>> one_hot(np.array([1, 5]), 3)
      Array([[0., 1., 0.],
             [0., 0., 0.]], dtype=float32)
    """
    num_classes = index(num_classes)
    found = explicit_dtype(dtype, "one_hot")
    x = jnp.asarray(x)
    if isinstance(axis, str):
        raise NotImplementedError(
            f"one_hot along the named axis {axis!r} is not available. Compare with axis_index: "
            f"(x == axis_index({axis!r})).astype(dtype)."
        )
    result = _one_hot(x, num_classes=num_classes, dtype=found, axis=index(axis))
    return result if out_sharding is None else placement.constrain(result, out_sharding)
