"""The law that derivatives are exact at all representable points, beside wide floats."""

from collections.abc import Callable
from typing import Any

import numpy as np

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_testing.examples._slopes import Slope

# Numbers beside which formulas are switched, or round.
_ORDINARY = (0.0, 1.5, -1.5, -40.0, 88.0, -88.0, 700.0)


def slope_points(dtype: np.dtype, count: int = 200) -> np.ndarray:
    """Points of the whole range of a dtype: of all sizes, on a grid, and around 1.

    Numbers below twice the least normal one are left out: processors may treat as 0 what is below
    it, half of them for example.
    """
    info = ir.finfo(dtype)
    smallest, largest, step = (float(x) for x in (info.tiny, info.max, info.eps))
    exponents = np.linspace(np.log2(smallest) + 1, np.log2(largest), count * 3 // 10)
    grid = np.linspace(-20, 20, count * 3 // 10 + 1)
    near_one = np.multiply.outer((1, -1), (1 - step, 1 + step)).ravel()
    with np.errstate(over="ignore"):
        sizes = np.exp2(exponents)
        points = np.concatenate([sizes, -sizes, grid, _ORDINARY, near_one]).astype(dtype)
    return np.unique(points[np.isfinite(points.astype(np.float64))])


def check_slope(
    fun: Callable[[ir.Array], ir.Array],
    slope: Slope,
    dtype: ir.DTypeLike,
    *,
    count: int = 200,
    jit: Callable[[Callable[..., object]], Callable[..., Any]] = lambda fun: fun,
) -> None:
    """Check that the derivative of an elementwise function is that of wide floats, rounded.

    Both modes are checked, at points where the function itself is representable.

    Args:
      fun: a function of one array.
      slope: its derivative, and the accepted error.
      dtype: the dtype of the points.
      count: the number of points, about.
      jit: what compiles the derivative; compilers merge operations.

    Raises:
      AssertionError: if it is not; the message has the worst points.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci_testing import SLOPES, check_slope
      >>> check_slope(jnp.tanh, SLOPES["tanh"], "float32", jit=ricci.jit)
    """
    dtype = np.dtype(dtype)
    points = slope_points(dtype, count)
    points = points[slope.domain(points.astype(np.longdouble))]
    ones = np.ones(points.shape, dtype)
    wide = points.astype(np.longdouble)
    with np.errstate(all="ignore"):
        exact = np.broadcast_to(slope.derivative(wide), wide.shape).astype(np.longdouble)
    values, forward = jit(lambda x, t: ad.jvp(fun, (x,), (t,)))(points, ones)
    backward = jit(lambda x, t: ad.vjp(fun, x)[1](t)[0])(points, ones)
    defined = np.isfinite(np.asarray(values).astype(np.float64))
    for mode, result in (("jvp", forward), ("vjp", backward)):
        actual = np.asarray(result)
        errors = np.where(defined, _errors(actual, exact, dtype, wide, slope), 0)
        if (errors > slope.ulps).any():
            worst = np.argsort(-errors)[:3]
            lines = [f"at {points[i]}: {actual[i]} instead of {float(exact[i])!r}" for i in worst]
            wrong = int(np.sum(errors > slope.ulps))
            raise AssertionError(
                f"{mode} in {dtype}: {wrong} of {len(points)} points are wrong, " + "; ".join(lines)
            )


def _errors(
    actual: np.ndarray, exact: np.ndarray, dtype: np.dtype, points: np.ndarray, slope: Slope
) -> np.ndarray:
    """Errors in units of the last place; infinite for NaN."""
    info = ir.finfo(dtype)
    smallest, largest, step = (np.longdouble(float(x)) for x in (info.tiny, info.max, info.eps))
    actual = actual.astype(np.longdouble)
    unit = np.exp2(np.floor(np.log2(np.maximum(abs(exact), smallest)))) * step
    with np.errstate(invalid="ignore"):
        error = abs(actual - exact)
    # A product of a factor below the least normal number may be 0; float16 is computed in float32.
    flushed = 128 * smallest if dtype != np.float16 else 2 * smallest * step
    overflown = np.isinf(actual) & (abs(exact) > largest * (1 - 4 * step))
    near_root = (abs(points) < 4) & (error < slope.root * step)
    small = error <= slope.absolute * step
    accepted = (
        small | (error <= flushed) | (overflown & (np.sign(actual) == np.sign(exact))) | near_root
    )
    return np.where(accepted, 0, np.where(np.isnan(actual), np.inf, error / unit)).astype(float)
