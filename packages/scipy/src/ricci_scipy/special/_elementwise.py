"""Formulas for floats as functions of arrays and scalars of any dtype, and approximations."""

import inspect
from collections.abc import Callable, Sequence
from functools import cache, wraps
from typing import Any

import numpy as np

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_ir import Array, ArrayLike, Inlined, as_result, dispatched, get_aval
from ricci_numpy import authoring
from ricci_numpy.authoring import COMPLEX_DTYPES, convert, operands, promote_args_inexact

__all__ = ["log_softmax", "softmax"]

_SMALL = ("float16", "bfloat16")
_FULL = ("float32", "float64")


def elementwise[**P, R](
    *,
    complexes: bool = False,
    weak: bool = False,
    vectors: bool = True,
    strict: bool = False,
    widen: bool = True,
    scalars: bool = True,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a formula: its operands are promoted to one floating dtype.

    The formula's operands are arrays; outside of jit a call is one dispatch.

    Args:
      complexes: whether it holds for complex numbers.
      weak: whether results are weakly typed if the promoted dtype is.
      vectors: whether results with axes are, too.
      strict: whether only operands of dtype float32 and float64 are accepted, without promotion.
      widen: whether 16-bit floats are computed as float32.
      scalars: whether the formula takes scalars beside arrays, so that functions of a parameter
        alone are computed once; else they are broadcast.
    """

    def decorate(formula: Callable[P, R]) -> Callable[P, R]:
        name = formula.__name__
        signature = inspect.signature(formula)
        total = len(signature.parameters)
        all_by_position = all(p.kind is not p.KEYWORD_ONLY for p in signature.parameters.values())
        parameters = {name: p.default for name, p in signature.parameters.items()}
        numbers = list(parameters.values())
        # The parameters that are numbers by default, which are constants of the jaxpr where they
        # are left out: each operand would be copied to the device.
        constant = [type(x) is int or type(x) is float for x in numbers]
        only_operands = all_by_position and not strict
        compute: Callable[..., Any] = formula

        def step(*args: Any, **settings: object) -> Any:
            args = tuple([numbers[i] if x is None else x for i, x in enumerate(args)])
            # While tracing, operands may be Python numbers, with which Python would compute.
            xs: Sequence[Any] = [as_result(x) for x in promote_args_inexact(name, *args)]
            aval: Any = get_aval(xs[0])
            dtype = aval.dtype
            _check_dtype(name, dtype, complexes)
            if widen and dtype.name in _SMALL:
                xs = [convert(x, np.dtype(np.float32)) for x in xs]
            elif not weak or (not vectors and any(map(jnp.ndim, args))):
                xs = [convert(x, dtype) for x in xs]
            arrays = iter(jnp.broadcast_arrays(*(x for x in xs if np.ndim(x) or not scalars)))
            xs = [next(arrays) if np.ndim(x) or not scalars else x for x in xs]
            shape = next((np.shape(x) for x in xs if np.ndim(x)), ())

            def finished(y: Array) -> Array:
                y = convert(y, dtype) if widen and dtype.name in _SMALL else y
                return jnp.broadcast_to(y, shape) if shape and not np.ndim(y) else y

            out = compute(*xs, **settings)
            return tuple(map(finished, out)) if isinstance(out, tuple) else finished(out)

        run = Inlined(step, name)

        @wraps(formula)
        def function(*args: Any, **keywords: Any) -> Any:
            count = len(args)
            if not keywords and count < total and only_operands and all(constant[count:]):
                return run(*operands(name, *args), *[None] * (total - count))
            left_out: Sequence[int] = ()
            if keywords or count != total:
                complete = _by_position(parameters, args, keywords) if all_by_position else None
                if complete is None:
                    bound = signature.bind(*args, **keywords)
                    bound.apply_defaults()
                    args, keywords = bound.args, bound.kwargs
                else:
                    left_out = [
                        i
                        for i, parameter in enumerate(parameters)
                        if i >= count and constant[i] and parameter not in keywords
                    ]
                    args, keywords = complete, {}
            if strict:
                args = tuple(_floats(name, x) for x in args)
            values: list[Any] = [*operands(name, *args)]
            for i in left_out:
                values[i] = None
            return run(*values, **keywords)

        return function

    return decorate


def _by_position(
    defaults: dict[str, Any], args: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[Any, ...] | None:
    """All arguments of a call by position, which takes a tenth of the time of ``Signature.bind``.

    Args:
      defaults: the defaults by parameter, ``Parameter.empty`` for none.
      args, keywords: the arguments of the call.

    Returns:
      ``None`` where the call does not fit.
    """
    unfilled = list(defaults)[len(args) :]
    if len(args) > len(defaults) or not all(name in unfilled for name in keywords):
        return None
    values = [keywords.get(name, defaults[name]) for name in unfilled]
    if any(x is inspect.Parameter.empty for x in values):
        return None
    return (*args, *values)


def _check_dtype(name: str, dtype: np.dtype, complexes: bool) -> None:
    if dtype in COMPLEX_DTYPES and not complexes:
        raise ValueError(
            f"{name} is defined for real numbers, got an array of dtype {dtype.name}. "
            "Pass its real part."
        )


def _floats(name: str, x: ArrayLike) -> Array:
    x = jnp.asarray(x)
    if x.dtype.name not in _FULL:
        raise TypeError(
            f"{name} takes arrays of float32 or float64, got dtype {x.dtype.name}. "
            f"Convert first: x.astype('float32')."
        )
    return x


def pieces(x: ArrayLike, *rows: tuple[float, Callable[[Array], Array]]) -> Array:
    """A function defined piecewise, each piece below its limit.

    Args:
      x: where to evaluate it.
      rows: ascending limits, and the functions below them. Each function gets points of its own
        range only, so that it gives no NaN to the derivative elsewhere. NaN goes to the last.
    """
    result: Any = None
    low: float | None = None
    for limit, function in rows:
        last = limit == np.inf
        if low is None:
            inside = jnp.less(x, limit)
            safe = limit - 0.5
        else:
            inside = jnp.logical_not(jnp.less(x, low)) if last else jnp.less(x, limit)
            safe = low if last else (low + limit) / 2
        usable = inside if low is None or last else jnp.logical_and(inside, jnp.less_equal(low, x))
        value = function(jnp.where(usable, x, safe))
        result = value if result is None else jnp.where(usable, value, result)
        low = limit
    return result


def polynomial(x: ArrayLike, coefficients: Sequence[float]) -> Array:
    """The polynomial with these coefficients, the highest power's first (Horner)."""
    result = jnp.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        result = result * x + c
    return result


type _Rows = tuple[tuple[float, float, tuple[float, ...]], ...]


def chebyshev(x: ArrayLike, table: _Rows, *, slope: bool = True) -> Array:
    """A function approximated by Chebyshev series on adjacent intervals.

    Args:
      x: points between the first interval's begin and the last one's end.
      table: rows of begin, end, and coefficients of rising order.
      slope: whether the derivative is used, which needs more terms.
    """
    limits = tuple(end for _, end, _ in table[:-1])
    inside = [jnp.less(x, limit) for limit in limits]

    def select(values: Sequence[float]) -> ArrayLike:
        """The entry of each point's interval; of equal entries, one number."""
        chosen: ArrayLike = values[-1]
        for flag, value in zip(reversed(inside), reversed(values[:-1]), strict=True):
            chosen = value if value is chosen else jnp.where(flag, value, chosen)
        return chosen

    # One polynomial whose coefficients depend on the interval, instead of one for each interval.
    dtype = np.dtype(get_aval(x).dtype)
    middles, scales, columns = _monomials(table, float(np.finfo(dtype).eps), slope)
    at: Any = jnp.multiply(jnp.subtract(x, select(middles)), select(scales))
    result: Any = select(columns[0])
    for column in columns[1:]:
        result = result * at + select(column)
    return result


@cache
def _monomials(
    table: _Rows, eps: float, slope: bool
) -> tuple[tuple[float, ...], tuple[float, ...], list[tuple[float, ...]]]:
    """Middles and scales of the intervals, and coefficients by falling powers of (-1, 1).

    Trailing coefficients are dropped that the function, and its derivative, do not need in a format
    of spacing ``eps`` at 1. Series that fall by more than a half from term to term lose no
    digits as polynomials.
    """
    lengths = []
    for _, _, series in table:
        # On [-1, 1] the polynomial T[n] is at most 1 and its slope at most n², so the sum of the
        # weighted coefficients that are dropped bounds the error of the function or of its
        # derivative.
        weights = np.abs(series) * (np.maximum(1, np.arange(len(series))) ** 2 if slope else 1)
        tails = np.cumsum(weights[::-1])[::-1]
        lengths.append(int(np.count_nonzero(tails > 0.25 * eps * np.max(np.abs(series)))))
    columns = np.zeros((max(lengths), len(table)))
    for i, (length, (_, _, series)) in enumerate(zip(lengths, table, strict=True)):
        columns[:length, i] = np.polynomial.chebyshev.cheb2poly(series[:length])
    middles = tuple((begin + end) / 2 for begin, end, _ in table)
    scales = tuple(2 / (end - begin) for begin, end, _ in table)
    return middles, scales, [tuple(map(float, column)) for column in columns[::-1]]


def halves(x: Array) -> tuple[Array, Array]:
    """Two floats of half the digits of ``x``, whose sum it is and whose products are exact."""
    # The head has half of the significant bits, rounded down, so that its square is exact. The tail
    # is the exact difference. ``reduce_precision`` takes the numbers of exponent and mantissa bits.
    limits = np.finfo(x.dtype)
    head = lax.reduce_precision(x, limits.bits - limits.nmant - 1, (limits.nmant - 1) // 2)
    return head, x - head


@lax.custom_jvp
def exp_square(x: Array) -> Array:
    """exp(x²), to a few units of the last place also where it is large."""
    # An error of x² is as great a relative error of its exponential, and rounding makes one that
    # grows with x². The square is split instead: x² = head² + tail (x + head), whose first term is
    # exact.
    head, tail = halves(x)
    square = head * head
    return jnp.exp(square) * jnp.exp(jnp.where(jnp.isinf(square), 0.0, tail * (x + head)))


@exp_square.defjvp
def _exp_square_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    value = exp_square(x)
    return value, 2 * x * value * t


@dispatched("axis")
def softmax(x: ArrayLike, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """exp(x), scaled to sum up to 1.

    Args:
      x: an array of real numbers.
      axis: an axis or several; ``None`` for all.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> import numpy as np
      >>> special.softmax(np.float32([0.0, 0.0]))
      Array([0.5, 0.5], dtype=float32)
    """
    return authoring.softmax(x, axis)


@dispatched("axis")
def log_softmax(x: ArrayLike, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """The logarithm of ``softmax``, without overflow.

    Args:
      x: an array of real numbers.
      axis: an axis or several; ``None`` for all.

    Returns:
      An array of the shape of ``x``, of a float dtype.

    Example:
      >>> from ricci.scipy import special
      >>> import numpy as np
      >>> special.log_softmax(np.float32([0.0, 0.0]))
      Array([-0.6931..., -0.6931...], dtype=float32)
    """
    return authoring.log_softmax(x, axis)
