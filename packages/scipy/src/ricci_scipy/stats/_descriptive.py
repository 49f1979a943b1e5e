"""Statistics of samples: ranks, the mode, the standard error."""

from math import prod
from typing import NamedTuple

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, dispatched, inlined, is_symbolic_dim
from ricci_numpy.authoring import check_arraylike

__all__ = ["ModeResult", "mode", "rankdata", "sem"]


class ModeResult(NamedTuple):
    """The most frequent values and their counts."""

    mode: Array
    count: Array  # type: ignore[assignment]  # SciPy's name, which a tuple's method has


def _check_policy(name: str, nan_policy: str, offered: tuple[str, ...]) -> None:
    if nan_policy not in ("propagate", "omit", "raise"):
        raise ValueError(
            f"{name}: nan_policy must be 'propagate', 'omit' or 'raise', got {nan_policy!r}."
        )
    if nan_policy not in offered:
        raise NotImplementedError(
            f"{name}: nan_policy={nan_policy!r} is not available, only {' and '.join(offered)}."
        )


def _sorted_mode(values: Array) -> tuple[Array, Array]:
    """Return the smallest of the most frequent values of a vector, and its count."""
    ordered = jnp.sort(values)
    new = ordered[1:] != ordered[:-1]
    if jnp.issubdtype(values.dtype, np.inexact):
        new = new & ~(jnp.isnan(ordered)[1:] & jnp.isnan(ordered)[:-1])
    # Equal values are adjacent. The start of each place's run is the running maximum of the places
    # where a run starts, and the first place of the largest count is in the run of the least value.
    places = jnp.arange(ordered.shape[0])
    starts = jnp.zeros_like(places).at[1:].set(jnp.where(new, places[1:], 0))
    counts = places + 1 - lax.cummax(starts)  # of the equal values up to each place
    place = jnp.argmax(counts)
    return ordered[place], counts[place]


@dispatched("axis", "nan_policy", "keepdims")
def mode(
    a: ArrayLike, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> ModeResult:
    """Return the most frequent values along an axis; of several, the smallest.

    Args:
      a: an array of real numbers.
      axis: the axis, or ``None`` for the flattened array.
      nan_policy: must be ``"propagate"``: NaN counts as a value.
      keepdims: whether the axis stays, with size 1.

    Returns:
      A named tuple of two arrays, ``mode`` and ``count``.

    Raises:
      NotImplementedError: for ``nan_policy`` ``"omit"`` or ``"raise"``.
      ValueError: for an unknown ``nan_policy``.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import stats
      >>> found = stats.mode(np.array([3, 1, 3, 2, 1]))
      >>> int(found.mode), int(found.count)
      (1, 2)

    Source: scipy.stats.mode.
    """
    check_arraylike("mode", a)
    _check_policy("mode", nan_policy, ("propagate",))
    return ModeResult(*_mode(jnp.asarray(a), axis=axis, keepdims=bool(keepdims)))


@inlined("mode")
def _mode(a: Array, *, axis: int | None, keepdims: bool) -> tuple[Array, Array]:
    rank = a.ndim
    if axis is None:
        a, place = a.reshape(-1), 0
    else:
        a, place = jnp.atleast_1d(a), axis
    moved = jnp.moveaxis(a, place, -1)
    rows = moved.reshape(prod(moved.shape[:-1]), moved.shape[-1])
    if not rows.shape[1]:
        values = jnp.full(rows.shape[:1], np.nan)
        counts = jnp.zeros(rows.shape[:1], float)
    else:
        values, counts = jnp.vectorize(_sorted_mode, signature="(n)->(),()")(rows)
    shape = moved.shape[:-1]
    values, counts = values.reshape(shape), counts.reshape(shape)
    if keepdims:
        if axis is None:
            return values.reshape((1,) * rank), counts.reshape((1,) * rank)
        return jnp.expand_dims(values, axis), jnp.expand_dims(counts, axis)
    return values, counts


def _ranks(a: Array, method: str) -> Array:
    """The ranks of a vector without NaN."""
    size = a.shape[0]
    if method == "ordinal":
        order = jnp.argsort(a)
        # The inverse of the permutation that sorts, by a scatter instead of another sort.
        return jnp.zeros(size, int).at[order].set(jnp.arange(1, size + 1))
    ordered = jnp.sort(a)
    # Equal values take the places from ``first`` to ``last`` - 1 in sorted order: their rank is the
    # least, the largest or the mean of these; dense ranks count the different values before.
    first = jnp.searchsorted(ordered, a, side="left")
    if method == "dense":
        new = jnp.concatenate([jnp.ones(1, bool), ordered[1:] != ordered[:-1]])
        return jnp.cumsum(new)[first]
    if method == "min":
        return first + 1
    last = jnp.searchsorted(ordered, a, side="right")
    return last if method == "max" else jnp.mean(jnp.stack([first + 1, last]), axis=0)


_METHODS = ("average", "min", "max", "dense", "ordinal")


@dispatched("method", "axis", "nan_policy")
def rankdata(
    a: ArrayLike, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate"
) -> Array:
    """The ranks of numbers, from 1.

    Args:
      a: an array of real numbers.
      method: what equal numbers get: their ``"average"``, ``"min"`` or ``"max"`` rank, ranks
        without gaps with ``"dense"``, or ranks in order with ``"ordinal"``.
      axis: along which numbers are ranked; ``None`` ranks the flattened array.
      nan_policy: must be ``"propagate"``: a NaN makes all ranks along the axis NaN.

    Returns:
      An array of floats of the shape of ``a``, or of its size if ``axis`` is ``None``.

    Raises:
      NotImplementedError: for ``nan_policy`` ``"omit"`` or ``"raise"``.
      ValueError: for an unknown ``nan_policy`` or method, or an axis that ``a`` does not have.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import stats
      >>> stats.rankdata(np.float32([20.0, 10.0, 20.0]))
      Array([2.5, 1. , 2.5], dtype=float32)

    Source: scipy.stats.rankdata.
    """
    check_arraylike("rankdata", a)
    _check_policy("rankdata", nan_policy, ("propagate",))
    if method not in _METHODS:
        raise ValueError(f"rankdata: method must be one of {_METHODS}, got {method!r}.")
    return _rankdata(jnp.asarray(a), method=method, axis=axis)


@inlined("rankdata")
def _rankdata(a: Array, *, method: str, axis: int | None) -> Array:
    if axis is None:
        return _ranked(a.reshape(-1), method)
    moved = jnp.moveaxis(a, axis, -1)
    ranked = jnp.vectorize(lambda v: _ranked(v, method), signature="(n)->(n)")(moved)
    return jnp.moveaxis(ranked, -1, axis)


def _ranked(a: Array, method: str) -> Array:
    """The ranks of a vector, all NaN if it has one."""
    ranks = _ranks(a, method).astype(float)
    if not jnp.issubdtype(a.dtype, np.inexact):
        return ranks
    return jnp.where(jnp.any(jnp.isnan(a)), ranks.dtype.type(np.nan), ranks)


@dispatched("axis", "ddof", "nan_policy", "keepdims")
def sem(
    a: ArrayLike,
    axis: int | None = 0,
    ddof: int = 1,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Array:
    """The standard error of the mean, along an axis.

    Args:
      a: an array of real numbers.
      axis: the axis, or ``None`` for all elements.
      ddof: the number subtracted from the size in the variance.
      nan_policy: ``"propagate"``, or ``"omit"`` to leave out NaN.
      keepdims: whether the axis stays, with size 1.

    Returns:
      An array of the shape of ``a`` without the axis.

    Raises:
      NotImplementedError: for ``nan_policy`` ``"raise"``.
      ValueError: for an unknown ``nan_policy``.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy import stats
      >>> round(float(stats.sem(np.float32([1.0, 2.0, 3.0]))), 4)
      0.5774

    Source: scipy.stats.sem.
    """
    check_arraylike("sem", a)
    _check_policy("sem", nan_policy, ("propagate", "omit"))
    a = jnp.asarray(a)
    if axis is None:
        axes = tuple(range(a.ndim))
    else:
        a, axes = jnp.atleast_1d(a), (axis,)
    omits = nan_policy == "omit"
    if not isinstance(ddof, int):  # an array, which cannot be a step's setting
        return _sem.fun(a, axes=axes, ddof=ddof, omits=omits, keepdims=keepdims)
    return _sem(a, axes=axes, ddof=ddof, omits=omits, keepdims=bool(keepdims))


@inlined("sem")
def _sem(a: Array, *, axes: tuple[int, ...], ddof: int, omits: bool, keepdims: bool) -> Array:
    if omits:
        count = jnp.sum(~jnp.isnan(a), axis=axes, keepdims=keepdims)
        return jnp.nanstd(a, axes, ddof=ddof, keepdims=keepdims) / jnp.sqrt(count)
    size = prod(a.shape[i] for i in axes)
    root = jnp.sqrt(size) if is_symbolic_dim(size) else float(np.sqrt(float(size)))
    return jnp.std(a, axes, ddof=ddof, keepdims=keepdims) / root
